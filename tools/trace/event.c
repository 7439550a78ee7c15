/* SPDX-License-Identifier: MIT */
/* The fields of a row as RMM writes them, older and newer versions alike, and clpool's own. */
#include "trace/event.h"

#include <string.h>

/* --- numbers and times --- */

/* The value of a digit; what is none is as large as no base. */
static unsigned digit_value(char digit)
{
  if (digit >= '0' && digit <= '9')
    return (unsigned)(digit - '0');
  if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
    return (unsigned)((digit | 0x20) - 'a') + 10;
  return 16;
}

bool trace_read_number(const char *text, size_t length, unsigned base, uint64_t *number)
{
  uint64_t value = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned digit = digit_value(text[i]);
    if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
        __builtin_add_overflow(value, digit, &value))
      return false;
  }
  *number = value;
  return length > 0;
}

static bool read_decimal(const char *text, uint64_t *number)
{
  return trace_read_number(text, strlen(text), 10, number);
}

/* With the prefix 0x. */
static bool read_hexadecimal(const char *text, uint64_t *number)
{
  return text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
         trace_read_number(text + 2, strlen(text + 2), 16, number);
}

static bool read_either(const char *text, uint64_t *number)
{
  return read_hexadecimal(text, number) || read_decimal(text, number);
}

/* Newer versions of RMM write a null pointer as glibc's printf does. */
static bool read_pointer(const char *text, uint64_t *pointer)
{
  *pointer = 0;
  return strcmp(text, "(nil)") == 0 || read_hexadecimal(text, pointer);
}

/* HH:MM:SS, then a point (newer versions: a colon) and up to nine digits of the second. */
static bool read_time(const char *text, uint64_t *nanoseconds)
{
  enum { FRACTION = sizeof("HH:MM:SS.") - 1, MOST_DIGITS = 9 };
  uint64_t hours, minutes, seconds, fraction;
  size_t digits = strnlen(text, FRACTION) == FRACTION ? strlen(text + FRACTION) : 0;
  if (digits == 0 || digits > MOST_DIGITS || text[2] != ':' || text[5] != ':' ||
      (text[8] != '.' && text[8] != ':') || !trace_read_number(text, 2, 10, &hours) ||
      !trace_read_number(text + 3, 2, 10, &minutes) ||
      !trace_read_number(text + 6, 2, 10, &seconds) || !read_decimal(text + FRACTION, &fraction) ||
      hours > 23 || minutes > 59 || seconds > 60)
    return false;
  for (; digits < MOST_DIGITS; digits++)
    fraction *= 10;
  *nanoseconds = ((hours * 60 + minutes) * 60 + seconds) * 1000000000u + fraction;
  return true;
}

/* --- words --- */

static bool read_action(const char *text, trace_action *action)
{
  static const char *const names[] = {[TRACE_ALLOCATE] = "allocate",
                                      [TRACE_ALLOCATE_FAILURE] = "allocate failure",
                                      [TRACE_FREE] = "free"};
  for (*action = 0; *action < sizeof(names) / sizeof(names[0]); ++*action)
    if (strcmp(text, names[*action]) == 0)
      return true;
  return false;
}

const char *trace_kind_name(trace_kind kind)
{
  static const char *const names[TRACE_KINDS] = {"", "buffer", "image", "svm", "other"};
  return names[kind];
}

static trace_kind find_kind(const char *text)
{
  trace_kind kind = 0;
  while (kind < TRACE_OTHER_KIND && strcmp(text, trace_kind_name(kind)) != 0)
    kind++;
  return kind;
}

/* --- fields --- */

static const struct {
  const char *name, *expected;
} fields[TRACE_FIELDS] = {
    [TRACE_THREAD] = {"Thread", "a thread, a decimal number of at most 64 bits"},
    [TRACE_TIME] = {"Time", "a time such as 13:05:59.000042"},
    [TRACE_ACTION] = {"Action", "the action allocate, allocate failure or free"},
    [TRACE_POINTER] = {"Pointer", "a pointer of at most 64 bits, such as 0x7f00a0000000"},
    [TRACE_SIZE] = {"Size", "a size in bytes, a decimal number of at most 64 bits"},
    [TRACE_STREAM] = {"Stream", "a stream of at most 64 bits, such as 0 or 0x2"},
    [TRACE_CONTEXT] = {"Context", "a context of at most 64 bits, such as 1 or 0x2"},
    [TRACE_POOL] = {"Pool", NULL},
    [TRACE_KIND] = {"Kind", NULL},
    [TRACE_FLAGS] = {"Flags", "flags of at most 64 bits, such as 0x1"},
    [TRACE_STACK] = {"Stack", "the number of a frame, or 0"},
};

const char *trace_field_name(trace_field field)
{
  return fields[field].name;
}

trace_field trace_field_find(const char *name)
{
  trace_field field = 0;
  while (field < TRACE_FIELDS && strcmp(name, fields[field].name) != 0)
    field++;
  return field;
}

static bool parse(trace_field field, const char *text, trace_event *event)
{
  switch (field) {
  case TRACE_THREAD:
    return read_decimal(text, &event->thread);
  case TRACE_TIME:
    return read_time(text, &event->nanoseconds);
  case TRACE_ACTION:
    return read_action(text, &event->action);
  case TRACE_POINTER:
    return read_pointer(text, &event->pointer);
  case TRACE_SIZE:
    return read_decimal(text, &event->size);
  case TRACE_STREAM:
    return read_either(text, &event->stream);
  case TRACE_CONTEXT:
    return read_either(text, &event->context);
  case TRACE_FLAGS:
    return read_either(text, &event->flags);
  case TRACE_STACK:
    return read_decimal(text, &event->stack);
  case TRACE_KIND:
    event->kind = find_kind(text);
    return true;
  case TRACE_POOL:
  case TRACE_FIELDS:
    break;
  }
  return false;
}

const char *trace_field_parse(trace_field field, const char *text, trace_event *event)
{
  return parse(field, text, event) ? NULL : fields[field].expected;
}
