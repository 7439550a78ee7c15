/* SPDX-License-Identifier: MIT */
/* The tokens of a JSON file, each with its place, in constant memory whatever the file's length. */
#ifndef CLPOOL_TRACE_JSON_H
#define CLPOOL_TRACE_JSON_H

#include "trace/input.h"

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  CLPI_JSON_PIECE_MAX = 16 * 1024,  /* bytes that are read at a time */
  CLPI_JSON_TOKEN_MAX = 256 * 1024, /* the longest key, string or number, in bytes of the file */
  CLPI_JSON_DEPTH_MAX = 64          /* of lists and objects inside of each other */
};

typedef enum clpi_json_kind {
  CLPI_JSON_OBJECT, /* begins */
  CLPI_JSON_LIST,   /* begins */
  CLPI_JSON_END,    /* of an object or a list */
  CLPI_JSON_KEY,
  CLPI_JSON_STRING,
  CLPI_JSON_NUMBER,
  CLPI_JSON_BOOLEAN,
  CLPI_JSON_NULL
} clpi_json_kind;

typedef struct clpi_json_token {
  clpi_json_kind kind;
  unsigned depth;   /* how many objects and lists are around it; an end has that of its begin */
  const char *text; /* of a key or string: what it stands for; of a number: its digits. Borrowed */
  size_t length;
  uint64_t line; /* where it begins, both from 1 */
  size_t column;
} clpi_json_token;

/* Told each token. What it returns, if not CLP_SUCCESS, ends the reading. */
typedef clp_status (*clpi_json_callback)(const clpi_json_token *token, void *user_data);

/* A file that is being read. */
typedef struct clpi_json clpi_json;

/* Reads `input`, which belongs to the object on success, in pieces of that many bytes.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_json_open(clpi_input *input, size_t piece_bytes, clpi_json_callback on_token,
                          void *user_data, clpi_json **out);
void clpi_json_close(clpi_json *json);

/* Reads a piece and tells its tokens; `*at_end` says whether the file ended, with a whole value.
 * After a failure only rewind and close make sense.
 * CLP_INVALID_ARGUMENT: the file is no JSON, or passes one of the limits above.
 * Otherwise as the callback, or as clpi_input_read. */
clp_status clpi_json_read(clpi_json *json, bool *at_end);

/* Goes back to the begin. CLP_IO_ERROR where the input cannot be read twice. */
clp_status clpi_json_rewind(clpi_json *json);

/* What messages call the file. */
const char *clpi_json_name(const clpi_json *json);

#endif
