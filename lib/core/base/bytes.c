/* SPDX-License-Identifier: MIT */
/* Reading sizes. strtod and similar functions are not suitable: they accept spaces, signs,
 * exponents and names, and the locale changes their decimal point. */
#include "core/base/bytes.h"

#include "core/base/error.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct decimal {
  uint64_t whole;
  bool fits;            /* `whole` does */
  const char *fraction; /* the digits behind the point */
  size_t digits;        /* how many; 0: there is no point */
} decimal;

/* Returns the end of the number. NULL: `text` does not begin with one. */
static const char *read_decimal(const char *text, decimal *number)
{
  const char *end = text;
  *number = (decimal){.fits = true};
  for (; isdigit((unsigned char)*end); end++)
    number->fits = number->fits &&
                   !__builtin_mul_overflow(number->whole, UINT64_C(10), &number->whole) &&
                   !__builtin_add_overflow(number->whole, (unsigned)(*end - '0'), &number->whole);
  number->fraction = *end == '.' ? end + 1 : end;
  number->digits = strspn(number->fraction, "0123456789");
  bool is_number = end > text && (number->digits || *end != '.');
  return is_number ? number->fraction + number->digits : NULL;
}

static bool has_fraction(const decimal *number)
{
  return strspn(number->fraction, "0") < number->digits;
}

/* (digit * whole + rest) / 10, rounded down. `rest` is at most `whole`. */
static uint64_t shift_in(uint64_t whole, unsigned digit, uint64_t rest)
{
  return whole / 10 * digit + rest / 10 + (whole % 10 * digit + rest % 10) / 10;
}

/* Returns the number's fraction of `whole`, rounded down. It is exact, because rounding down after
 * each digit gives the same as rounding down once. */
static uint64_t fraction_of(uint64_t whole, const decimal *number)
{
  uint64_t part = 0;
  for (size_t i = number->digits; i-- > 0;)
    part = shift_in(whole, (unsigned)(number->fraction[i] - '0'), part);
  return part;
}

/* Skips a unit, if there is one, of 2^shift bytes. */
static const char *read_unit(const char *text, unsigned *shift)
{
  static const char units[] = "KMGT";
  const char *unit = *text ? strchr(units, *text) : NULL;
  *shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
  if (!unit)
    return text;
  return strncmp(text + 1, "iB", 2) == 0 ? text + 3 : text + 1;
}

static clp_status refuse(const char *text, const char *advice)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0,
                    "expected a size such as 1073741824, 512M or 1.5GiB, found \"%s\"%s", text,
                    advice);
}

static clp_status percent_of(size_t whole, const decimal *number, const char *text, uint64_t *size)
{
  if (!number->fits || number->whole > 100 || (number->whole == 100 && has_fraction(number)))
    return refuse(text, "");
  if (!whole)
    return clpi_error(
        CLP_NOT_SUPPORTED, 0,
        "expected a size in bytes, because the device's memory is unknown, found \"%s\"", text);
  unsigned percent = (unsigned)number->whole;
  *size = fraction_of(whole, number);
  *size = shift_in(whole, percent / 10, shift_in(whole, percent % 10, *size));
  return CLP_SUCCESS;
}

static clp_status units_of(unsigned shift, const decimal *number, const char *text, uint64_t *size)
{
  *size = (number->whole << shift) + fraction_of(UINT64_C(1) << shift, number);
  if (!number->fits || number->whole > UINT64_MAX >> shift || *size > SIZE_MAX)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "expected at most %zu bytes, found \"%s\"", SIZE_MAX,
                      text);
  return CLP_SUCCESS;
}

clp_status clp_bytes_parse(const char *text, size_t total, size_t *bytes)
{
  if (!text || !bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_bytes_parse: text or bytes is NULL");
  decimal number;
  unsigned shift;
  uint64_t size = 0;
  const char *end = read_decimal(text, &number);
  bool is_percent = end && strcmp(end, "%") == 0;
  if (!end || (!is_percent && *read_unit(end, &shift)))
    return refuse(text, "");
  if (number.digits && !*end)
    return refuse(text, "; write a fraction as a percentage, such as 50%");
  clp_status status =
      is_percent ? percent_of(total, &number, text, &size) : units_of(shift, &number, text, &size);
  if (!status)
    *bytes = size || (!number.whole && !has_fraction(&number)) ? (size_t)size : 1;
  return status;
}

/* Reads a number from 0 to 1. False: the text is another one, and `*part` does not change. */
static bool read_part(const char *text, double *part)
{
  decimal number;
  const char *end = read_decimal(text, &number);
  if (!end || *end || number.whole > 1 || !number.fits || (number.whole && has_fraction(&number)))
    return false;
  *part = (double)number.whole + (double)fraction_of(UINT64_C(1) << 63, &number) / 0x1p63;
  return true;
}

/* --- the environment --- */

static bool is_ignored;

void clpi_environment_ignore(void)
{
  is_ignored = true;
}

const char *clpi_environment_text(const char *variable)
{
  return is_ignored ? NULL : secure_getenv(variable);
}

clp_status clpi_environment_number(const char *variable, unsigned most, unsigned *number)
{
  const char *text = clpi_environment_text(variable);
  if (!text)
    return CLP_SUCCESS;
  decimal found;
  const char *end = read_decimal(text, &found);
  if (!end || *end || found.digits || !found.fits || found.whole > most)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s is \"%s\"; expected a number from 0 to %u",
                      variable, text, most);
  *number = (unsigned)found.whole;
  return CLP_SUCCESS;
}

clp_status clpi_environment_part(const char *variable, double *part)
{
  const char *text = clpi_environment_text(variable);
  if (text && !read_part(text, part))
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s is \"%s\"; expected a number from 0 to 1, such as 0.016", variable, text);
  return CLP_SUCCESS;
}

clp_status clpi_environment_bytes(const char *variable, const char *whose, size_t device_bytes,
                                  size_t *bytes)
{
  const char *text = clpi_environment_text(variable);
  clp_status status = text ? clp_bytes_parse(text, device_bytes, bytes) : CLP_SUCCESS;
  if (status == CLP_NOT_SUPPORTED)
    return clpi_error(status, 0,
                      "%s is \"%s\", but the device's memory is unknown to %s; set it in bytes",
                      variable, text, whose);
  if (status)
    return clpi_error(status, 0,
                      "%s is \"%s\"; expected a size (1073741824, 512M, 1.5G) or a percentage of "
                      "the device's memory (50%%)",
                      variable, text);
  return CLP_SUCCESS;
}
