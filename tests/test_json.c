/* SPDX-License-Identifier: MIT */
/* JSON: tokens and their places, in pieces of every size; what is none; the limits. */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/json.h"

#include <stdarg.h>
#include <stdio.h>

enum { TOLD_BYTES = 4096 };

/* What was told, in text. */
typedef struct listener {
  char text[TOLD_BYTES];
  size_t length;
  unsigned long tokens;
  unsigned long fails_at; /* refuses this token; 0: none */
} listener;

/* Long texts are cut: they are not compared. */
static void note(listener *heard, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(listener *heard, const char *format, ...)
{
  size_t room = sizeof(heard->text) - heard->length;
  va_list arguments;
  va_start(arguments, format);
  size_t length = (size_t)vsnprintf(heard->text + heard->length, room, format, arguments);
  va_end(arguments);
  heard->length += length < room ? length : room - 1;
}

static clp_status hear(const clpi_json_token *token, void *user_data)
{
  static const char signs[] = {
      [CLPI_JSON_OBJECT] = '{',  [CLPI_JSON_LIST] = '[',   [CLPI_JSON_END] = 'e',
      [CLPI_JSON_KEY] = 'k',     [CLPI_JSON_STRING] = 's', [CLPI_JSON_NUMBER] = 'n',
      [CLPI_JSON_BOOLEAN] = 'b', [CLPI_JSON_NULL] = '0'};
  listener *heard = user_data;
  if (++heard->tokens == heard->fails_at)
    return CLP_BUSY;
  note(heard, "%c%u@%u:%zu", signs[token->kind], token->depth, (unsigned)token->line,
       token->column);
  if (token->kind == CLPI_JSON_KEY || token->kind == CLPI_JSON_STRING ||
      token->kind == CLPI_JSON_NUMBER)
    note(heard, "=%.*s", (int)token->length, token->text);
  return CLP_SUCCESS;
}

static clpi_json *json_of(const void *bytes, size_t length, size_t piece_bytes, listener *heard)
{
  clpi_input *input = NULL;
  clpi_json *json = NULL;
  memset(heard, 0, sizeof(*heard));
  clpt_ok(clpi_input_open_descriptor(clpt_file_of(bytes, length), "json", &input));
  clpt_ok(clpi_json_open(input, piece_bytes, hear, heard, &json));
  return json;
}

static clp_status read_all(clpi_json *json)
{
  bool at_end = false;
  clp_status status = CLP_SUCCESS;
  while (!status && !at_end)
    status = clpi_json_read(json, &at_end);
  return status;
}

static clp_status read_text(const char *text, size_t piece_bytes, listener *heard)
{
  clpi_json *json = json_of(text, strlen(text), piece_bytes, heard);
  clp_status status = read_all(json);
  clpi_json_close(json);
  return status;
}

static const char sample[] = "\n {\"a\\u0041\" : [1,-2.5e3 ,\"\\u00e9,:\\n\"],\r\n"
                             "\"\":{ \"t\": true,\"f\":false\n,\"n\": null}, \"l\" : [[],{}]}\n ";
static const char told[] =
    "{0@2:2k1@2:3=aA[1@2:15n2@2:16=1n2@2:18=-2.5e3s2@2:26=\xc3\xa9,:\ne1@2:38"
    "k1@3:1={1@3:4k2@3:6=tb2@3:11k2@3:16=fb2@3:20k2@4:2=n02@4:7e1@4:11k1@4:14=l[1@4:20[2@4:21"
    "e2@4:22{2@4:24e2@4:25e1@4:26e0@4:27";

START_TEST(tokens_and_places)
{
  listener heard;
  clpt_ok(read_text(sample, CLPI_JSON_PIECE_MAX, &heard));
  ck_assert_str_eq(heard.text, told);
}
END_TEST

START_TEST(pieces_of_any_size)
{
  for (size_t piece_bytes = 1; piece_bytes < sizeof(sample); piece_bytes++) {
    listener heard;
    clpt_ok(read_text(sample, piece_bytes, &heard));
    ck_assert_str_eq(heard.text, told);
  }
}
END_TEST

START_TEST(twice)
{
  listener heard;
  clpi_json *json = json_of(sample, strlen(sample), 7, &heard);
  bool at_end;
  ck_assert_str_eq(clpi_json_name(json), "json");
  clpt_ok(clpi_json_read(json, &at_end));
  clpt_ok(clpi_json_read(json, &at_end));
  memset(&heard, 0, sizeof(heard));
  clpt_ok(clpi_json_rewind(json));
  clpt_ok(read_all(json));
  ck_assert_str_eq(heard.text, told);
  clpi_json_close(json);
}
END_TEST

START_TEST(gzipped)
{
  listener heard;
  size_t length;
  unsigned char *bytes = clpt_gzip(sample, &length);
  clpi_json *json = json_of(bytes, length, 3, &heard);
  clpt_ok(read_all(json));
  ck_assert_str_eq(heard.text, told);
  clpi_json_close(json);
  json = json_of(bytes, length - 9, 3, &heard);
  clpt_fails(CLP_IO_ERROR, read_all(json));
  clpt_message_has("cannot decompress further: unexpected end of file");
  clpi_json_close(json);
  free(bytes);
}
END_TEST

START_TEST(a_value_alone)
{
  listener heard;
  clpt_ok(read_text("18446744073709551617", 4, &heard));
  ck_assert_str_eq(heard.text, "n0@1:1=18446744073709551617");
  clpt_ok(read_text(" \"x\"", 2, &heard));
  ck_assert_str_eq(heard.text, "s0@1:2=x");
}
END_TEST

START_TEST(the_callback_ends_it)
{
  for (unsigned long nth = 1; nth <= 21; nth++) {
    listener heard;
    clpi_json *json = json_of(sample, strlen(sample), 10, &heard);
    heard.fails_at = nth;
    ck_assert_int_eq(read_all(json), CLP_BUSY);
    ck_assert_uint_eq(heard.tokens, nth);
    clpi_json_close(json);
  }
}
END_TEST

/* What is no JSON: where, and what of the message. */
static const struct malformed {
  const char *text;
  const char *message;
} malformed[] = {
    {"", "json:1:1: expected JSON, found an empty file"},
    {" \n ", "json:2:2: expected more JSON, found the end of the file"},
    {"{\"a\":1", "json:1:7: expected more JSON, found the end of the file"},
    {"[1", "json:1:3: expected more JSON, found the end of the file"},
    {"[tru", "json:1:5: expected more JSON, found the end of the file"},
    {"[\"a", "json:1:4: expected more JSON, found the end of the file"},
    {"{\"a\":,}", "json:1:6: expected JSON, found \",}\""},
    {"[1,]", "json:1:4: expected JSON, found \"]\""},
    {"{\"a\" 1}", "json:1:6: expected JSON, found \"1}\""},
    {"{1:2}", "json:1:2: expected JSON, found \"1:2}\""},
    {"[1]\n]", "json:2:1: expected JSON, found \"]\": trailing garbage"},
    {"[1}", "json:1:3: expected JSON, found \"}\""},
    {"[NaN]", "json:1:2: expected JSON, found \"NaN]\": invalid char in json text"},
    {"[01]", "json:1:3: expected JSON, found \"1]\""},
    {"[1.]", "json:1:2: expected JSON, found \"1.]\""},
    {"['a']", "json:1:2: expected JSON, found \"'a']\""},
    {"[\"\\q\"]", "json:1:2: expected JSON, found \"\\\"\\\\q\\\"]\""},
    {"[\"\n\"]", "json:1:2: expected JSON, found \"\\\"\\x0a\\\"]\""},
    {"[ // no\n]", "json:1:3: expected JSON, found \"// no\\x0a]\""},
    {"\xef\xbb\xbf[]", "json:1:1: expected JSON, found \"\\xef\\xbb\\xbf[]\""},
    {"\x80\x04\x95", "json:1:1: expected JSON, found \"\\x80\\x04\\x95\""},
};

START_TEST(no_json)
{
  listener heard;
  clpt_fails(CLP_INVALID_ARGUMENT, read_text(malformed[_i].text, CLPI_JSON_PIECE_MAX, &heard));
  clpt_message_has(malformed[_i].message);
  /* In pieces of a byte the place may be further on in what is wrong, never in another line. */
  clpt_fails(CLP_INVALID_ARGUMENT, read_text(malformed[_i].text, 1, &heard));
  clpt_message_has("json:");
}
END_TEST

START_TEST(deep)
{
  char text[2 * CLPI_JSON_DEPTH_MAX + 3];
  listener heard;
  memset(text, '[', CLPI_JSON_DEPTH_MAX);
  memset(text + CLPI_JSON_DEPTH_MAX, ']', CLPI_JSON_DEPTH_MAX);
  text[2 * CLPI_JSON_DEPTH_MAX] = '\0';
  clpt_ok(read_text(text, CLPI_JSON_PIECE_MAX, &heard));
  text[CLPI_JSON_DEPTH_MAX] = '{';
  clpt_fails(CLP_INVALID_ARGUMENT, read_text(text, CLPI_JSON_PIECE_MAX, &heard));
  clpt_message_has("json:1:65: expected at most 64 lists and objects inside of each other");
}
END_TEST

/* The longest token goes through, escapes and all; one that never ends is refused early. */
START_TEST(long_tokens)
{
  enum { MORE = 2 * CLPI_JSON_PIECE_MAX };
  size_t length = CLPI_JSON_TOKEN_MAX + MORE;
  char *text = malloc(length + 1);
  listener heard;
  memset(text, 'x', length);
  memcpy(text, "[ \"\\u0041", 9);
  text[length] = '\0';
  text[2 + CLPI_JSON_TOKEN_MAX - 1] = '"';
  text[2 + CLPI_JSON_TOKEN_MAX] = ']';
  text[2 + CLPI_JSON_TOKEN_MAX + 1] = '\0';
  clpt_ok(read_text(text, CLPI_JSON_PIECE_MAX, &heard));
  ck_assert_uint_eq(heard.tokens, 3);

  memset(text + 9, '7', length - 9);
  clpt_fails(CLP_INVALID_ARGUMENT, read_text(text, CLPI_JSON_PIECE_MAX, &heard));
  ck_assert_str_eq(clp_last_error()->message,
                   "json:1:3: expected a string or number of at most 262144 bytes, found a longer "
                   "one");
  ck_assert_uint_eq(heard.tokens, 1);
  free(text);
}
END_TEST

/* Both of yajl's buffers at their largest, and again, need no more memory. */
START_TEST(long_tokens_one_after_the_other)
{
  enum { TOKENS = 5 };
  size_t length = (size_t)TOKENS * CLPI_JSON_TOKEN_MAX;
  char *text = malloc(length + 2);
  listener heard;
  memset(text, 'x', length);
  for (size_t i = 0; i < TOKENS; i++) {
    char *token = text + i * CLPI_JSON_TOKEN_MAX;
    memcpy(token, i == 0 ? "[\"\\n" : ",\"\\n", 4);
    token[CLPI_JSON_TOKEN_MAX - 1] = '"';
  }
  memcpy(text + length, "]", 2);
  clpt_ok(read_text(text, CLPI_JSON_PIECE_MAX, &heard));
  ck_assert_uint_eq(heard.tokens, TOKENS + 2);
  free(text);
}
END_TEST

START_TEST(without_host_memory)
{
  unsigned long nth = 0;
  clp_status status;
  do {
    clpi_input *input = NULL;
    clpi_json *json = (clpi_json *)1;
    listener heard = {.length = 0};
    clpt_ok(clpi_input_open_descriptor(clpt_text_file(sample), "json", &input));
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth++);
    status = clpi_json_open(input, 8, hear, &heard, &json);
    clpt_host_stop();
    if (status) {
      ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
      ck_assert_ptr_null(json);
      clpi_input_close(input);
    } else {
      clpt_ok(read_all(json));
      ck_assert_str_eq(heard.text, told);
      clpi_json_close(json);
    }
  } while (status);
  ck_assert_uint_eq(nth, 3);
}
END_TEST

START_TEST(close_of_nothing)
{
  clpi_json_close(NULL);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("json");
  TCase *tokens = clpt_case(suite, "tokens");
  tcase_add_test(tokens, tokens_and_places);
  tcase_add_test(tokens, pieces_of_any_size);
  tcase_add_test(tokens, twice);
  tcase_add_test(tokens, gzipped);
  tcase_add_test(tokens, a_value_alone);
  tcase_add_test(tokens, the_callback_ends_it);
  TCase *errors = clpt_case(suite, "errors");
  tcase_add_loop_test(errors, no_json, 0, sizeof(malformed) / sizeof(malformed[0]));
  tcase_add_test(errors, deep);
  tcase_add_test(errors, long_tokens);
  tcase_add_test(errors, long_tokens_one_after_the_other);
  tcase_add_test(errors, without_host_memory);
  tcase_add_test(errors, close_of_nothing);
  return clpt_run(suite);
}
