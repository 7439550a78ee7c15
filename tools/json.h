/* SPDX-License-Identifier: MIT */
/* Writes JSON, indented, a member or element a line. */
#ifndef CLPOOL_TOOLS_JSON_H
#define CLPOOL_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Begins as {.file = FILE}, for one object, with which a line ends. */
typedef struct clpi_json {
  FILE *file;
  unsigned depth;
  bool has_sibling; /* something stands before the next value, in the same object or array */
} clpi_json;

/* Each writes one value: a member of the object it is in under the name `key`, or, with a NULL key,
 * an element of an array or the document itself. */
void clpi_json_begin(clpi_json *json, const char *key, char bracket); /* an object's or array's */
void clpi_json_end(clpi_json *json, char bracket);
void clpi_json_string(clpi_json *json, const char *key, const char *value); /* NULL: null */
void clpi_json_unsigned(clpi_json *json, const char *key, uint64_t value);
void clpi_json_number(clpi_json *json, const char *key, double value); /* not finite: null */
void clpi_json_bool(clpi_json *json, const char *key, bool value);

#endif
