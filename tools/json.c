/* SPDX-License-Identifier: MIT */
/* JSON: commas and line ends between values, and strings that are valid whatever they hold. */
#include "json.h"

#include "core/base/printable.h"

#include <inttypes.h>
#include <math.h>

/* Writes a string; bytes that are no UTF-8 (in file names) become U+FFFD. */
static void write_string(FILE *file, const char *text)
{
  putc('"', file);
  while (*text) {
    size_t length = clpi_utf8_length(text);
    if (*text == '"' || *text == '\\')
      fprintf(file, "\\%c", *text);
    else if (length > 0 && clpi_printable_length(text) == 0)
      fprintf(file, "\\u%04x", (unsigned char)text[1]); /* 0xc2 and its number */
    else if (length > 0)
      fwrite(text, 1, length, file);
    else if ((unsigned char)*text < 0x80)
      fprintf(file, "\\u%04x", *text);
    else
      fputs("\\ufffd", file);
    text += length > 0 ? length : 1;
  }
  putc('"', file);
}

static void new_line(const clpi_json *json)
{
  fprintf(json->file, "\n%*s", (int)(2 * json->depth), "");
}

/* What stands before a value: a comma, a new line, the key. */
static void begin_value(clpi_json *json, const char *key)
{
  if (json->has_sibling)
    putc(',', json->file);
  if (json->depth > 0)
    new_line(json);
  if (key) {
    write_string(json->file, key);
    fputs(": ", json->file);
  }
  json->has_sibling = true;
}

void clpi_json_begin(clpi_json *json, const char *key, char bracket)
{
  begin_value(json, key);
  putc(bracket, json->file);
  json->depth++;
  json->has_sibling = false;
}

void clpi_json_end(clpi_json *json, char bracket)
{
  json->depth--;
  if (json->has_sibling)
    new_line(json);
  putc(bracket, json->file);
  if (json->depth == 0)
    putc('\n', json->file);
  json->has_sibling = true;
}

void clpi_json_string(clpi_json *json, const char *key, const char *value)
{
  begin_value(json, key);
  if (value)
    write_string(json->file, value);
  else
    fputs("null", json->file);
}

void clpi_json_unsigned(clpi_json *json, const char *key, uint64_t value)
{
  begin_value(json, key);
  fprintf(json->file, "%" PRIu64, value);
}

void clpi_json_number(clpi_json *json, const char *key, double value)
{
  begin_value(json, key);
  if (isfinite(value))
    fprintf(json->file, "%.10g", value);
  else
    fputs("null", json->file);
}

void clpi_json_bool(clpi_json *json, const char *key, bool value)
{
  begin_value(json, key);
  fputs(value ? "true" : "false", json->file);
}
