/* SPDX-License-Identifier: MIT */
/* The fields of a row as RMM writes them, older and newer versions alike, and clpool's own. */
#include "trace/event.h"

#include <string.h>

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

/* Each of these reads all of a text into what `to` points to. */

static bool read_decimal(const char *text, void *to)
{
  return trace_read_number(text, strlen(text), 10, to);
}

/* With the prefix 0x. */
static bool read_hexadecimal(const char *text, void *to)
{
  return text[0] == '0' && (text[1] | 0x20) == 'x' &&
         trace_read_number(text + 2, strlen(text + 2), 16, to);
}

static bool read_either(const char *text, void *to)
{
  return read_hexadecimal(text, to) || read_decimal(text, to);
}

/* Newer versions of RMM write a null pointer as glibc's printf does. */
static bool read_pointer(const char *text, void *to)
{
  *(uint64_t *)to = 0;
  return strcmp(text, "(nil)") == 0 || read_hexadecimal(text, to);
}

/* HH:MM:SS, then a point (newer versions: a colon) and up to nine digits of the second. */
static bool read_time(const char *text, void *to)
{
  enum { FRACTION = sizeof("HH:MM:SS.") - 1, MOST_DIGITS = 9 };
  const size_t length = strlen(text);
  uint64_t hours, minutes, seconds, fraction;
  if (length <= FRACTION || length > FRACTION + MOST_DIGITS || text[2] != ':' || text[5] != ':' ||
      (text[8] != '.' && text[8] != ':') || !trace_read_number(text, 2, 10, &hours) ||
      !trace_read_number(text + 3, 2, 10, &minutes) ||
      !trace_read_number(text + 6, 2, 10, &seconds) || !read_decimal(text + FRACTION, &fraction) ||
      hours > 23 || minutes > 59 || seconds > 60)
    return false;
  for (size_t digits = length - FRACTION; digits < MOST_DIGITS; digits++)
    fraction *= 10;
  *(uint64_t *)to = ((hours * 60 + minutes) * 60 + seconds) * 1000000000u + fraction;
  return true;
}

unsigned trace_find_name(const char *text, const char *const names[], unsigned count)
{
  unsigned found = 0;
  while (found < count && strcmp(text, names[found]) != 0)
    found++;
  return found;
}

static bool read_action(const char *text, void *to)
{
  static const char *const names[] = {"allocate", "allocate failure", "free"};
  *(trace_action *)to = trace_find_name(text, names, TRACE_FREE + 1);
  return *(trace_action *)to <= TRACE_FREE;
}

static const char *const kind_names[TRACE_KINDS] = {"", "buffer", "image", "svm", "other"};

const char *trace_kind_name(trace_kind kind)
{
  return kind_names[kind];
}

static bool read_kind(const char *text, void *to)
{
  *(trace_kind *)to = trace_find_name(text, kind_names, TRACE_OTHER_KIND);
  return true;
}

static bool borrow_text(const char *text, void *to)
{
  *(const char **)to = text;
  return true;
}

/* --- fields --- */

static const struct {
  const char *name, *expected;
  size_t offset;
  bool (*read)(const char *text, void *to);
} fields[TRACE_FIELDS] = {
#define FIELD(member, function) offsetof(trace_event, member), function
    [TRACE_THREAD] = {"Thread", "a thread, a decimal number of at most 64 bits",
                      FIELD(thread, read_decimal)},
    [TRACE_TIME] = {"Time", "a time such as 13:05:59.000042", FIELD(nanoseconds, read_time)},
    [TRACE_ACTION] = {"Action", "the action allocate, allocate failure or free",
                      FIELD(action, read_action)},
    [TRACE_POINTER] = {"Pointer", "a pointer of at most 64 bits, such as 0x7f00a0000000",
                       FIELD(pointer, read_pointer)},
    [TRACE_SIZE] = {"Size", "a size in bytes, a decimal number of at most 64 bits",
                    FIELD(size, read_decimal)},
    [TRACE_STREAM] = {"Stream", "a stream of at most 64 bits, such as 0 or 0x2",
                      FIELD(stream, read_either)},
    [TRACE_CONTEXT] = {"Context", "a context of at most 64 bits, such as 1 or 0x2",
                       FIELD(context, read_either)},
    [TRACE_POOL] = {"Pool", NULL, FIELD(pool, borrow_text)},
    [TRACE_KIND] = {"Kind", NULL, FIELD(kind, read_kind)},
    [TRACE_FLAGS] = {"Flags", "flags of at most 64 bits, such as 0x1", FIELD(flags, read_either)},
    [TRACE_STACK] = {"Stack", "the number of a frame, 0 for none", FIELD(stack, read_decimal)},
#undef FIELD
};

trace_field trace_field_find(const char *name)
{
  trace_field field = 0;
  while (field < TRACE_FIELDS && strcmp(name, fields[field].name) != 0)
    field++;
  return field;
}

const char *trace_field_parse(trace_field field, const char *text, trace_event *event)
{
  return field == TRACE_FIELDS || fields[field].read(text, (char *)event + fields[field].offset)
             ? NULL
             : fields[field].expected;
}
