/* SPDX-License-Identifier: MIT */
#include "trace/number.h"

#include <stdbool.h>

/* The value of a digit, at least `base` for what is none. */
static unsigned digit_value(char digit)
{
  if (digit >= '0' && digit <= '9')
    return (unsigned)(digit - '0');
  if (digit >= 'a' && digit <= 'f')
    return (unsigned)(digit - 'a') + TRACE_DECIMAL;
  if (digit >= 'A' && digit <= 'F')
    return (unsigned)(digit - 'A') + TRACE_DECIMAL;
  return TRACE_HEXADECIMAL;
}

trace_number_result trace_read_number(const char *text, size_t length, unsigned base,
                                      uint64_t *number)
{
  uint64_t value = 0;
  bool fits = true;
  if (length == 0)
    return TRACE_NO_NUMBER;
  for (size_t i = 0; i < length; i++) {
    unsigned digit = digit_value(text[i]);
    if (digit >= base)
      return TRACE_NO_NUMBER;
    fits = fits && value <= (UINT64_MAX - digit) / base;
    value = value * base + digit;
  }
  *number = value;
  return fits ? TRACE_NUMBER_READ : TRACE_NUMBER_TOO_LARGE;
}
