/* SPDX-License-Identifier: MIT */
/* Sizes as people write them. Not by strtod and its like, which take blanks, signs, exponents and
 * names, and for which the point is the locale's. */
#include "core/base/bytes.h"

#include "core/base/error.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct decimal {
  uint64_t whole;
  double fraction; /* below 1 */
  bool fits;       /* `whole` does */
} decimal;

static const char *read_whole(const char *text, decimal *number)
{
  number->fits = true;
  for (; isdigit((unsigned char)*text); text++)
    number->fits = number->fits &&
                   !__builtin_mul_overflow(number->whole, UINT64_C(10), &number->whole) &&
                   !__builtin_add_overflow(number->whole, (unsigned)(*text - '0'), &number->whole);
  return text;
}

/* Leaves out digits that a double does not have. */
static const char *read_fraction(const char *text, decimal *number)
{
  double digits = 0.0, scale = 1.0;
  for (; isdigit((unsigned char)*text); text++)
    if (scale < 1e15) {
      digits = 10.0 * digits + (*text - '0');
      scale *= 10.0;
    }
  number->fraction = digits / scale;
  return text;
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

size_t clpi_part_of_bytes(size_t whole, double part)
{
  size_t bytes = part < 1.0 ? (size_t)(part * (double)whole) : whole;
  return bytes || part <= 0.0 ? bytes : 1;
}

static clp_status refuse(const char *text)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0,
                    "expected bytes, such as 1073741824, 512M or 1.5GiB, found \"%s\"", text);
}

static clp_status percent_of(size_t whole, const decimal *number, const char *text, size_t *bytes)
{
  double percent = (double)number->whole + number->fraction;
  if (!number->fits || percent > 100.0)
    return refuse(text);
  if (!whole)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "expected bytes, for what it is a part of is unknown here, found \"%s\"",
                      text);
  *bytes = clpi_part_of_bytes(whole, percent / 100.0);
  return CLP_SUCCESS;
}

static clp_status units_of(unsigned shift, const decimal *number, const char *text, size_t *bytes)
{
  bool fits = number->fits && number->whole <= UINT64_MAX >> shift;
  uint64_t of_fraction = (uint64_t)(number->fraction * (double)(UINT64_C(1) << shift));
  uint64_t size = fits ? (number->whole << shift) + of_fraction : 0;
  if (!fits || size > SIZE_MAX)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "expected at most %zu bytes, found \"%s\"", SIZE_MAX,
                      text);
  bool is_nothing = number->whole == 0 && number->fraction <= 0.0;
  *bytes = size || is_nothing ? (size_t)size : 1;
  return CLP_SUCCESS;
}

clp_status clp_bytes_parse(const char *text, size_t whole, size_t *bytes)
{
  if (!text || !bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_bytes_parse: text or bytes is NULL");
  decimal number = {0};
  const char *end = read_whole(text, &number);
  if (end == text)
    return refuse(text);
  if (*end == '.')
    end = read_fraction(end + 1, &number);
  if (strcmp(end, "%") == 0)
    return percent_of(whole, &number, text, bytes);
  unsigned shift;
  end = read_unit(end, &shift);
  return *end ? refuse(text) : units_of(shift, &number, text, bytes);
}

bool clpi_part_parse(const char *text, double *part)
{
  decimal number = {0};
  const char *end = read_whole(text, &number);
  if (end == text)
    return false;
  if (*end == '.')
    end = read_fraction(end + 1, &number);
  double found = (double)number.whole + number.fraction;
  if (*end || !number.fits || found > 1.0)
    return false;
  *part = found;
  return true;
}

/* --- the environment --- */

clp_status clpi_environment_number(const char *variable, unsigned most, unsigned *number)
{
  const char *text = secure_getenv(variable);
  if (!text)
    return CLP_SUCCESS;
  unsigned found = 0;
  const char *end = text;
  for (; isdigit((unsigned char)*end) && found <= most; end++)
    found = 10 * found + (unsigned)(*end - '0');
  if (end == text || *end || found > most)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s is \"%s\"; expected a number from 0 to %u",
                      variable, text, most);
  *number = found;
  return CLP_SUCCESS;
}

clp_status clpi_environment_part(const char *variable, double *part)
{
  const char *text = secure_getenv(variable);
  if (text && !clpi_part_parse(text, part))
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s is \"%s\"; expected a part from 0 to 1, such as 0.016", variable, text);
  return CLP_SUCCESS;
}

clp_status clpi_environment_bytes(const char *variable, const char *whose, size_t device_bytes,
                                  size_t *bytes)
{
  const char *text = secure_getenv(variable);
  clp_status status = text ? clp_bytes_parse(text, device_bytes, bytes) : CLP_SUCCESS;
  if (status == CLP_NOT_SUPPORTED)
    return clpi_error(status, 0, "%s is \"%s\", but %s does not know its device's memory", variable,
                      text, whose);
  if (status)
    return clpi_error(status, 0,
                      "%s is \"%s\"; expected bytes (1073741824, 512M, 1.5G) or a part of the "
                      "device's memory (40%%)",
                      variable, text);
  return CLP_SUCCESS;
}
