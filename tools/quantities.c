/* SPDX-License-Identifier: MIT */
/* Sizes, counts and times: read strictly, written with three digits or so that matter. */
#include "quantities.h"

#include "trace/event.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool clpi_read_unsigned(const char *text, unsigned most, unsigned *number)
{
  uint64_t value;
  if (!trace_read_number(text, strlen(text), 10, &value) || value > most)
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
