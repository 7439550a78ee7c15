/* SPDX-License-Identifier: MIT */
/* Sizes, counts and times: read strictly, written with three digits or so that matter. */
#include "quantities.h"

#include "trace/number.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands behind a point, below 1; more digits than a double has are left out. `*text` moves
 * behind it. */
static double read_fraction(const char **text)
{
  double digits = 0.0, scale = 1.0;
  if (**text != '.')
    return 0.0;
  while (isdigit((unsigned char)*++*text)) {
    if (scale < 1e15) {
      digits = 10.0 * digits + (**text - '0');
      scale *= 10.0;
    }
  }
  return digits / scale;
}

/* A size that is not 0 never becomes 0 bytes, which would mean no limit. */
static size_t at_least_one(size_t bytes, bool is_nothing)
{
  return bytes || is_nothing ? bytes : 1;
}

static clpi_size_result read_percent(double percent, size_t device_bytes, size_t *bytes)
{
  if (percent > 100.0)
    return CLPI_NO_SIZE;
  if (!device_bytes)
    return CLPI_SIZE_OF_UNKNOWN;
  bool is_part = percent < 100.0;
  size_t part = is_part ? (size_t)(percent / 100.0 * (double)device_bytes) : device_bytes;
  *bytes = at_least_one(part, percent <= 0.0);
  return CLPI_SIZE_READ;
}

clpi_size_result clpi_read_size(const char *text, size_t device_bytes, size_t *bytes)
{
  static const char units[] = "KMGT";
  uint64_t whole;
  size_t digits = strspn(text, "0123456789");
  trace_number_result result = trace_read_number(text, digits, TRACE_DECIMAL, &whole);
  const char *end = text + digits;
  double fraction = read_fraction(&end);
  if (strcmp(end, "%") == 0 && result == TRACE_NUMBER_READ)
    return read_percent((double)whole + fraction, device_bytes, bytes);
  const char *unit = *end ? strchr(units, *end) : NULL;
  unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
  end += unit != NULL;
  if (unit && strcmp(end, "iB") == 0)
    end += 2;
  if (*end || result == TRACE_NO_NUMBER)
    return CLPI_NO_SIZE;
  if (result == TRACE_NUMBER_TOO_LARGE || whole > (UINT64_MAX >> shift))
    return CLPI_SIZE_TOO_LARGE;
  uint64_t size = (whole << shift) + (uint64_t)(fraction * (double)(UINT64_C(1) << shift));
  if (size > SIZE_MAX)
    return CLPI_SIZE_TOO_LARGE;
  *bytes = at_least_one((size_t)size, whole == 0 && fraction <= 0.0);
  return CLPI_SIZE_READ;
}

bool clpi_read_unsigned(const char *text, unsigned most, unsigned *number)
{
  uint64_t value;
  if (trace_read_number(text, strlen(text), TRACE_DECIMAL, &value) != TRACE_NUMBER_READ ||
      value > most)
    return false;
  *number = (unsigned)value;
  return true;
}

static bool read_number(const char *text, double *number)
{
  char *end;
  *number = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*number);
}

bool clpi_read_factor(const char *text, double *factor)
{
  double value;
  if (!read_number(text, &value) || value <= 0.0)
    return false;
  *factor = value;
  return true;
}

bool clpi_read_part(const char *text, double *part)
{
  double value;
  if (!read_number(text, &value) || value < 0.0 || value > 1.0)
    return false;
  *part = value;
  return true;
}

/* Rounded, no value is as much as one of the next unit. */
clpi_shown clpi_show_bytes(uint64_t bytes)
{
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  clpi_shown shown;
  if (bytes < 1024) {
    snprintf(shown.text, sizeof(shown.text), "%" PRIu64 " bytes", bytes);
    return shown;
  }
  double value = (double)bytes / 1024.0;
  size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1024.0;
    unit++;
  }
  snprintf(shown.text, sizeof(shown.text), "%.2f %s", value, units[unit]);
  return shown;
}

clpi_shown clpi_show_time(double nanoseconds)
{
  static const char *const units[] = {"ns", "us", "ms", "s"};
  double value = nanoseconds;
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1000.0;
    unit++;
  }
  clpi_shown shown;
  snprintf(shown.text, sizeof(shown.text), "%.3g %s", value, units[unit]);
  return shown;
}

clpi_shown clpi_show_count(uint64_t count)
{
  clpi_shown shown;
  snprintf(shown.text, sizeof(shown.text), "%" PRIu64, count);
  return shown;
}

clpi_shown clpi_show_ratio(double ratio)
{
  clpi_shown shown;
  snprintf(shown.text, sizeof(shown.text), "%.2f", ratio);
  return shown;
}
