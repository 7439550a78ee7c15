/* SPDX-License-Identifier: MIT */
/* yajl finds the tokens, piece by piece. Where they begin it does not tell, but how far it is: a
 * token begins behind the one before, and the blanks, commas and colons between the two. One that
 * ends in a later piece yajl keeps, so its length is looked after. */
#include "trace/json.h"

#include "core/error.h"
#include "trace/json_memory.h"
#include "trace/place.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

/* yajl has two buffers for tokens, which double up to twice the longest token and a piece; what
 * they have outgrown is as much again. The rest is for its own structures, of which the largest is
 * a byte for each object and list around a token. */
enum { MEMORY_BYTES = 2 * 4 * CLPI_JSON_TOKEN_MAX + 64 * 1024 };

static_assert(CLPI_JSON_PIECE_MAX <= CLPI_JSON_TOKEN_MAX, "a token and a piece are two tokens");

struct clpi_json {
  clpi_input *input;
  clpi_json_callback on_token;
  void *user_data;
  clp_status told; /* what the callback returned last */
  clpi_json_memory memory;
  yajl_handle parser;
  unsigned depth;
  bool began;        /* there was a byte */
  size_t passed;     /* of the piece, as far as this place: */
  uint64_t line;     /* from 1 */
  size_t column;     /* from 1 */
  bool in_token;     /* one that began in a piece before, at: */
  uint64_t its_line; /* from 1 */
  size_t its_column; /* from 1 */
  size_t its_bytes;  /* in the pieces before */
  size_t piece_bytes;
  size_t length; /* of the piece */
  char piece[CLPI_JSON_PIECE_MAX];
};

/* --- places --- */

/* Passes what is before `to`. */
static void pass(clpi_json *json, size_t to)
{
  const char *line_end;
  while ((line_end = memchr(json->piece + json->passed, '\n', to - json->passed))) {
    json->passed = (size_t)(line_end - json->piece) + 1;
    json->line++;
    json->column = 1;
  }
  json->column += to - json->passed;
  json->passed = to;
}

/* Passes what may be between two tokens, as far as `to`. */
static void pass_gap(clpi_json *json, size_t to)
{
  size_t at = json->passed;
  while (at < to && json->piece[at] && strchr(" \t\r\n\v\f,:", json->piece[at]))
    at++;
  pass(json, at);
}

/* How far yajl is in the piece. */
static size_t consumed(const clpi_json *json)
{
  size_t bytes = yajl_get_bytes_consumed(json->parser);
  return bytes < json->length ? bytes : json->length;
}

/* Passes the token that yajl has just seen; sets where it began. */
static void pass_token(clpi_json *json, clpi_json_token *token)
{
  if (!json->in_token)
    pass_gap(json, consumed(json));
  token->line = json->in_token ? json->its_line : json->line;
  token->column = json->in_token ? json->its_column : json->column;
  json->in_token = false;
  pass(json, consumed(json));
}

/* Passes the rest of a piece, in which a token may have begun that goes on in the next. */
static clp_status pass_rest(clpi_json *json)
{
  if (!json->in_token) {
    pass_gap(json, json->length);
    json->in_token = json->passed < json->length;
    json->its_line = json->line;
    json->its_column = json->column;
    json->its_bytes = 0;
  }
  json->its_bytes += json->length - json->passed;
  pass(json, json->length);
  if (!json->in_token || json->its_bytes <= CLPI_JSON_TOKEN_MAX)
    return CLP_SUCCESS;
  return clpi_reject_place(clpi_json_name(json), json->its_line, json->its_column,
                           "expected a string or number of at most %d bytes, found a longer one",
                           CLPI_JSON_TOKEN_MAX);
}

/* --- tokens --- */

/* Tells a token; what yajl wants back: whether it shall go on. */
static int tell(clpi_json *json, clpi_json_kind kind, const void *text, size_t length)
{
  clpi_json_token token = {.kind = kind, .depth = json->depth, .text = text, .length = length};
  pass_token(json, &token);
  json->told = json->on_token(&token, json->user_data);
  return json->told == CLP_SUCCESS;
}

static int tell_begin(clpi_json *json, clpi_json_kind kind)
{
  if (!tell(json, kind, NULL, 0))
    return false;
  if (++json->depth <= CLPI_JSON_DEPTH_MAX)
    return true;
  json->told = clpi_reject_place(clpi_json_name(json), json->line, json->column - 1,
                                 "expected at most %d lists and objects inside of each other, "
                                 "found another",
                                 CLPI_JSON_DEPTH_MAX);
  return false;
}

static int tell_end(void *json)
{
  ((clpi_json *)json)->depth--;
  return tell(json, CLPI_JSON_END, NULL, 0);
}

static int tell_null(void *json)
{
  return tell(json, CLPI_JSON_NULL, NULL, 0);
}

static int tell_boolean(void *json, int value)
{
  (void)value;
  return tell(json, CLPI_JSON_BOOLEAN, NULL, 0);
}

static int tell_number(void *json, const char *digits, size_t length)
{
  return tell(json, CLPI_JSON_NUMBER, digits, length);
}

static int tell_string(void *json, const unsigned char *text, size_t length)
{
  return tell(json, CLPI_JSON_STRING, text, length);
}

static int tell_key(void *json, const unsigned char *text, size_t length)
{
  return tell(json, CLPI_JSON_KEY, text, length);
}

static int tell_object(void *json)
{
  return tell_begin(json, CLPI_JSON_OBJECT);
}

static int tell_list(void *json)
{
  return tell_begin(json, CLPI_JSON_LIST);
}

static const yajl_callbacks callbacks = {
    .yajl_null = tell_null,
    .yajl_boolean = tell_boolean,
    .yajl_number = tell_number,
    .yajl_string = tell_string,
    .yajl_start_map = tell_object,
    .yajl_map_key = tell_key,
    .yajl_end_map = tell_end,
    .yajl_start_array = tell_list,
    .yajl_end_array = tell_end,
};

/* --- reading --- */

/* Begins anew. Strings are not looked at for valid UTF-8: those that matter are ASCII. */
static void start(clpi_json *json)
{
  clpi_json_memory_reset(&json->memory);
  yajl_alloc_funcs functions = clpi_json_memory_functions(&json->memory);
  json->parser = yajl_alloc(&callbacks, &functions, json);
  yajl_config(json->parser, yajl_dont_validate_strings, 1);
  json->told = CLP_SUCCESS;
  json->depth = 0;
  json->began = json->in_token = false;
  json->passed = json->length = 0;
  json->line = json->column = 1;
}

clp_status clpi_json_open(clpi_input *input, size_t piece_bytes, clpi_json_callback on_token,
                          void *user_data, clpi_json **out)
{
  *out = NULL;
  clpi_json *json = malloc(sizeof(*json));
  if (!json || !clpi_json_memory_init(&json->memory, MEMORY_BYTES)) {
    free(json);
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, ENOMEM, "no host memory to read JSON");
  }
  json->input = input;
  json->on_token = on_token;
  json->user_data = user_data;
  json->piece_bytes = piece_bytes;
  start(json);
  *out = json;
  return CLP_SUCCESS;
}

void clpi_json_close(clpi_json *json)
{
  if (!json)
    return;
  yajl_free(json->parser);
  clpi_json_memory_end(&json->memory);
  clpi_input_close(json->input);
  free(json);
}

/* What yajl says behind "lexical error: ", without a full stop and the line's end. */
static const char *reason_of(char *said)
{
  size_t length = strlen(said);
  while (length > 0 && strchr(".\n", said[length - 1]))
    said[--length] = '\0';
  const char *colon = strstr(said, ": ");
  return colon ? colon + 2 : said;
}

/* What is wrong begins where a token would, or goes on in this piece. It may be a comma or a colon,
 * but only if that is a token by itself. */
static clp_status refuse(clpi_json *json)
{
  char *said = (char *)yajl_get_error(json->parser, false, NULL, 0);
  bool is_token = strncmp(said, "lexical", strlen("lexical")) != 0;
  size_t end = consumed(json);
  if (!json->in_token)
    pass_gap(json, is_token && end > 0 ? end - 1 : json->length);
  clp_status status = clpi_reject_place(
      clpi_json_name(json), json->line, json->column, "expected JSON, found %s: %s",
      clpi_show_found(json->piece + json->passed, json->length - json->passed, false).text,
      reason_of(said));
  yajl_free_error(json->parser, (unsigned char *)said);
  return status;
}

static clp_status parse_piece(clpi_json *json)
{
  switch (yajl_parse(json->parser, (const unsigned char *)json->piece, json->length)) {
  case yajl_status_ok:
    return pass_rest(json);
  case yajl_status_client_canceled:
    return json->told;
  default:
    return refuse(json);
  }
}

static clp_status parse_end(clpi_json *json)
{
  if (!json->began)
    return clpi_reject_place(clpi_json_name(json), 1, 1, "expected JSON, found an empty file");
  switch (yajl_complete_parse(json->parser)) {
  case yajl_status_ok:
    return CLP_SUCCESS;
  case yajl_status_client_canceled:
    return json->told;
  default:
    return clpi_reject_place(clpi_json_name(json), json->line, json->column,
                             "expected more JSON, found the end of the file");
  }
}

clp_status clpi_json_read(clpi_json *json, bool *at_end)
{
  json->passed = json->length = 0;
  clp_status status = clpi_input_read(json->input, json->piece, json->piece_bytes, json->line,
                                      json->column, &json->length);
  if (status)
    return status;
  *at_end = json->length == 0;
  json->began = json->began || !*at_end;
  return *at_end ? parse_end(json) : parse_piece(json);
}

clp_status clpi_json_rewind(clpi_json *json)
{
  yajl_free(json->parser);
  start(json);
  return clpi_input_rewind(json->input);
}

const char *clpi_json_name(const clpi_json *json)
{
  return clpi_input_name(json->input);
}
