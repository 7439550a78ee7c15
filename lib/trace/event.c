/* SPDX-License-Identifier: MIT */
/* The fields of a row as RMM writes them, older and newer versions alike. */
#include "trace/event.h"

#include <stdbool.h>
#include <string.h>

enum { DECIMAL = 10, HEXADECIMAL = 16 };

typedef enum number_result { NUMBER_READ, NO_NUMBER, NUMBER_TOO_LARGE } number_result;

/* The value of a digit, at least `base` for what is none. */
static unsigned digit_value(char digit)
{
  if (digit >= '0' && digit <= '9')
    return (unsigned)(digit - '0');
  if (digit >= 'a' && digit <= 'f')
    return (unsigned)(digit - 'a') + DECIMAL;
  if (digit >= 'A' && digit <= 'F')
    return (unsigned)(digit - 'A') + DECIMAL;
  return HEXADECIMAL;
}

static number_result read_number(const char *text, size_t length, unsigned base, uint64_t *number)
{
  uint64_t value = 0;
  bool fits = true;
  if (length == 0)
    return NO_NUMBER;
  for (size_t i = 0; i < length; i++) {
    unsigned digit = digit_value(text[i]);
    if (digit >= base)
      return NO_NUMBER;
    fits = fits && value <= (UINT64_MAX - digit) / base;
    value = value * base + digit;
  }
  *number = value;
  return fits ? NUMBER_READ : NUMBER_TOO_LARGE;
}

static bool has_hexadecimal_prefix(const char *text, size_t length)
{
  return length >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

static number_result read_hexadecimal(const char *text, size_t length, uint64_t *number)
{
  if (!has_hexadecimal_prefix(text, length))
    return NO_NUMBER;
  return read_number(text + 2, length - 2, HEXADECIMAL, number);
}

static bool is_word(const char *text, size_t length, const char *word)
{
  return length == strlen(word) && memcmp(text, word, length) == 0;
}

static const char *parse_thread(const char *text, size_t length, clpi_trace_event *event)
{
  switch (read_number(text, length, DECIMAL, &event->thread)) {
  case NUMBER_READ:
    return NULL;
  case NO_NUMBER:
    return "a thread, a decimal number";
  case NUMBER_TOO_LARGE:
    break;
  }
  return "a thread of at most 18446744073709551615";
}

/* Reads two digits, `*text` moves behind them. */
static bool read_clock_part(const char **text, unsigned below, uint64_t *part)
{
  if (read_number(*text, 2, DECIMAL, part) != NUMBER_READ || *part >= below)
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
  if (read_number(text, digits, DECIMAL, &fraction) != NUMBER_READ)
    return false;
  for (; digits < 9; digits++)
    fraction *= 10;
  *nanoseconds = ((hours * 60 + minutes) * 60 + seconds) * 1000000000u + fraction;
  return true;
}

static const char *parse_time(const char *text, size_t length, clpi_trace_event *event)
{
  return read_time(text, length, &event->nanoseconds) ? NULL : "a time such as 13:05:59.000042";
}

static const char *parse_action(const char *text, size_t length, clpi_trace_event *event)
{
  if (is_word(text, length, "allocate"))
    event->action = CLPI_TRACE_ALLOCATE;
  else if (is_word(text, length, "free"))
    event->action = CLPI_TRACE_FREE;
  else if (is_word(text, length, "allocate failure"))
    event->action = CLPI_TRACE_ALLOCATE_FAILURE;
  else
    return "the action allocate, allocate failure or free";
  return NULL;
}

/* Newer versions write a null pointer as glibc's printf does. */
static const char *parse_pointer(const char *text, size_t length, clpi_trace_event *event)
{
  if (is_word(text, length, "(nil)")) {
    event->pointer = 0;
    return NULL;
  }
  switch (read_hexadecimal(text, length, &event->pointer)) {
  case NUMBER_READ:
    return NULL;
  case NO_NUMBER:
    return "a pointer such as 0x7f00a0000000";
  case NUMBER_TOO_LARGE:
    break;
  }
  return "a pointer of at most 0xffffffffffffffff";
}

static const char *parse_size(const char *text, size_t length, clpi_trace_event *event)
{
  switch (read_number(text, length, DECIMAL, &event->size)) {
  case NUMBER_READ:
    return NULL;
  case NO_NUMBER:
    return "a size in bytes, a decimal number";
  case NUMBER_TOO_LARGE:
    break;
  }
  return "a size of at most 18446744073709551615 bytes";
}

static const char *parse_stream(const char *text, size_t length, clpi_trace_event *event)
{
  number_result result = has_hexadecimal_prefix(text, length)
                             ? read_hexadecimal(text, length, &event->stream)
                             : read_number(text, length, DECIMAL, &event->stream);
  switch (result) {
  case NUMBER_READ:
    return NULL;
  case NO_NUMBER:
    return "a stream, such as 0 or 0x2";
  case NUMBER_TOO_LARGE:
    break;
  }
  return "a stream of at most 0xffffffffffffffff";
}

static const struct {
  const char *name;
  const char *(*parse)(const char *text, size_t length, clpi_trace_event *event);
} fields[CLPI_TRACE_FIELDS] = {
    [CLPI_TRACE_THREAD] = {"Thread", parse_thread},
    [CLPI_TRACE_TIME] = {"Time", parse_time},
    [CLPI_TRACE_ACTION] = {"Action", parse_action},
    [CLPI_TRACE_POINTER] = {"Pointer", parse_pointer},
    [CLPI_TRACE_SIZE] = {"Size", parse_size},
    [CLPI_TRACE_STREAM] = {"Stream", parse_stream},
};

const char *clpi_trace_field_name(clpi_trace_field field)
{
  return fields[field].name;
}

const char *clpi_trace_field_parse(clpi_trace_field field, const char *text, size_t length,
                                   clpi_trace_event *event)
{
  return fields[field].parse(text, length, event);
}
