/* SPDX-License-Identifier: MIT */
/* The fields of a row as RMM writes them, older and newer versions alike. */
#include "trace/event.h"

#include "trace/number.h"

#include <stdbool.h>
#include <string.h>

static bool has_hexadecimal_prefix(const char *text, size_t length)
{
  return length >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static trace_number_result read_hexadecimal(const char *text, size_t length, uint64_t *number)
{
  if (!has_hexadecimal_prefix(text, length))
    return TRACE_NO_NUMBER;
  return trace_read_number(text + 2, length - 2, TRACE_HEXADECIMAL, number);
}

static bool is_word(const char *text, size_t length, const char *word)
{
  return length == strlen(word) && memcmp(text, word, length) == 0;
}

static const char *parse_thread(const char *text, size_t length, trace_event *event)
{
  switch (trace_read_number(text, length, TRACE_DECIMAL, &event->thread)) {
  case TRACE_NUMBER_READ:
    return NULL;
  case TRACE_NO_NUMBER:
    return "a thread, a decimal number";
  case TRACE_NUMBER_TOO_LARGE:
    break;
  }
  return "a thread of at most 18446744073709551615";
}

/* Reads two digits, `*text` moves behind them. */
static bool read_clock_part(const char **text, unsigned below, uint64_t *part)
{
  if (trace_read_number(*text, 2, TRACE_DECIMAL, part) != TRACE_NUMBER_READ || *part >= below)
    return false;
  *text += 2;
  return true;
}

/* HH:MM:SS, then a point (newer versions: a colon) and up to nine digits of the second. */
static bool read_time(const char *text, size_t length, uint64_t *nanoseconds)
{
  enum { LEAST = sizeof("HH:MM:SS.m") - 1, MOST = sizeof("HH:MM:SS.nnnnnnnnn") - 1 };
  const char *end = text + length;
  uint64_t hours, minutes, seconds, fraction;
  if (length < LEAST || length > MOST)
    return false;
  if (!read_clock_part(&text, 24, &hours) || *text++ != ':' ||
      !read_clock_part(&text, 60, &minutes) || *text++ != ':' ||
      !read_clock_part(&text, 61, &seconds) || (*text != '.' && *text != ':'))
    return false;
  text++;
  size_t digits = (size_t)(end - text);
  if (trace_read_number(text, digits, TRACE_DECIMAL, &fraction) != TRACE_NUMBER_READ)
    return false;
  for (; digits < 9; digits++)
    fraction *= 10;
  *nanoseconds = ((hours * 60 + minutes) * 60 + seconds) * 1000000000u + fraction;
  return true;
}

static const char *parse_time(const char *text, size_t length, trace_event *event)
{
  return read_time(text, length, &event->nanoseconds) ? NULL : "a time such as 13:05:59.000042";
}

static const char *parse_action(const char *text, size_t length, trace_event *event)
{
  if (is_word(text, length, "allocate"))
    event->action = TRACE_ALLOCATE;
  else if (is_word(text, length, "free"))
    event->action = TRACE_FREE;
  else if (is_word(text, length, "allocate failure"))
    event->action = TRACE_ALLOCATE_FAILURE;
  else
    return "the action allocate, allocate failure or free";
  return NULL;
}

/* Newer versions write a null pointer as glibc's printf does. */
static const char *parse_pointer(const char *text, size_t length, trace_event *event)
{
  if (is_word(text, length, "(nil)")) {
    event->pointer = 0;
    return NULL;
  }
  switch (read_hexadecimal(text, length, &event->pointer)) {
  case TRACE_NUMBER_READ:
    return NULL;
  case TRACE_NO_NUMBER:
    return "a pointer such as 0x7f00a0000000";
  case TRACE_NUMBER_TOO_LARGE:
    break;
  }
  return "a pointer of at most 0xffffffffffffffff";
}

static const char *parse_size(const char *text, size_t length, trace_event *event)
{
  switch (trace_read_number(text, length, TRACE_DECIMAL, &event->size)) {
  case TRACE_NUMBER_READ:
    return NULL;
  case TRACE_NO_NUMBER:
    return "a size in bytes, a decimal number";
  case TRACE_NUMBER_TOO_LARGE:
    break;
  }
  return "a size of at most 18446744073709551615 bytes";
}

/* A decimal number, or 0x and hexadecimal digits. */
static trace_number_result read_any(const char *text, size_t length, uint64_t *number)
{
  return has_hexadecimal_prefix(text, length)
             ? read_hexadecimal(text, length, number)
             : trace_read_number(text, length, TRACE_DECIMAL, number);
}

static const char *parse_stream(const char *text, size_t length, trace_event *event)
{
  switch (read_any(text, length, &event->stream)) {
  case TRACE_NUMBER_READ:
    return NULL;
  case TRACE_NO_NUMBER:
    return "a stream, such as 0 or 0x2";
  case TRACE_NUMBER_TOO_LARGE:
    break;
  }
  return "a stream of at most 0xffffffffffffffff";
}

static const char *parse_context(const char *text, size_t length, trace_event *event)
{
  switch (read_any(text, length, &event->context)) {
  case TRACE_NUMBER_READ:
    return NULL;
  case TRACE_NO_NUMBER:
    return "a context, such as 1 or 0x2";
  case TRACE_NUMBER_TOO_LARGE:
    break;
  }
  return "a context of at most 0xffffffffffffffff";
}

static const struct {
  const char *name;
  const char *(*parse)(const char *text, size_t length, trace_event *event);
} fields[TRACE_FIELDS] = {
    [TRACE_THREAD] = {"Thread", parse_thread},    [TRACE_TIME] = {"Time", parse_time},
    [TRACE_ACTION] = {"Action", parse_action},    [TRACE_POINTER] = {"Pointer", parse_pointer},
    [TRACE_SIZE] = {"Size", parse_size},          [TRACE_STREAM] = {"Stream", parse_stream},
    [TRACE_CONTEXT] = {"Context", parse_context}, [TRACE_POOL] = {"Pool", NULL},
};

const char *trace_field_name(trace_field field)
{
  return fields[field].name;
}

const char *trace_field_parse(trace_field field, const char *text, size_t length,
                              trace_event *event)
{
  return fields[field].parse(text, length, event);
}
