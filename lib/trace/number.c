/* SPDX-License-Identifier: MIT */
#include "trace/number.h"

#include <stdbool.h>

/* The value of a digit, at least `base` for what is none. */
static unsigned digit_value(char digit)
{
  if (digit >= '0' && digit <= '9')
    return (unsigned)(digit - '0');
  if (digit >= 'a' && digit <= 'f')
    return (unsigned)(digit - 'a') + CLPI_DECIMAL;
  if (digit >= 'A' && digit <= 'F')
    return (unsigned)(digit - 'A') + CLPI_DECIMAL;
  return CLPI_HEXADECIMAL;
}

clpi_number_result clpi_read_number(const char *text, size_t length, unsigned base,
                                    uint64_t *number)
{
  uint64_t value = 0;
  bool fits = true;
  if (length == 0)
    return CLPI_NO_NUMBER;
  for (size_t i = 0; i < length; i++) {
    unsigned digit = digit_value(text[i]);
    if (digit >= base)
      return CLPI_NO_NUMBER;
    fits = fits && value <= (UINT64_MAX - digit) / base;
    value = value * base + digit;
  }
  *number = value;
  return fits ? CLPI_NUMBER_READ : CLPI_NUMBER_TOO_LARGE;
}
