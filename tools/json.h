/* SPDX-License-Identifier: MIT */
/* Writes indented JSON, one member or element on each line. */
#ifndef CLPOOL_TOOLS_JSON_H
#define CLPOOL_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Begins as {.file = FILE}, for one object, after which it ends the line. */
typedef struct clpi_json {
  FILE *file;
  unsigned depth;
  bool has_sibling; /* a value precedes the next one in the same object or array */
} clpi_json;

/* Each writes one value: a member `key` of the current object, or with a NULL key, an element of an
 * array or the document itself. */
void clpi_json_begin(clpi_json *json, const char *key, char bracket); /* an object's or array's */
void clpi_json_end(clpi_json *json, char bracket);
void clpi_json_string(clpi_json *json, const char *key, const char *value); /* NULL: null */
void clpi_json_unsigned(clpi_json *json, const char *key, uint64_t value);
void clpi_json_number(clpi_json *json, const char *key, double value); /* not finite: null */
void clpi_json_bool(clpi_json *json, const char *key, bool value);

#endif
