/* SPDX-License-Identifier: MIT */
/* Figures, shown and as JSON. */
#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

clpi_shown clpi_show(const char *format, ...)
{
  clpi_shown shown;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(shown.text, sizeof(shown.text), format, arguments);
  va_end(arguments);
  return shown;
}

static void write_lines(clpi_json *json, const char *key, const char *const *lines)
{
  if (!lines[0]) {
    clpi_json_string(json, key, NULL);
    return;
  }
  clpi_json_begin(json, key, '[');
  for (; *lines; lines++)
    clpi_json_string(json, NULL, *lines);
  clpi_json_end(json, ']');
}

void clpi_write_figures(clpi_json *json, const clpi_figure *figures, size_t count)
{
  for (const clpi_figure *figure = figures; figure < figures + count; figure++) {
    if (!figure->key || (figure->kind == CLPI_SOME && figure->value.count == 0))
      continue;
    if (figure->kind == CLPI_SWITCH)
      clpi_json_bool(json, figure->key, figure->value.count);
    else if (figure->kind == CLPI_ELAPSED)
      clpi_json_number(json, figure->key, (double)figure->value.count / 1e9);
    else if (figure->kind == CLPI_RATIO || figure->kind == CLPI_TIME)
      clpi_json_number(json, figure->key, figure->value.ratio);
    else if (figure->kind == CLPI_EVENT && figure->value.count == 0)
      clpi_json_string(json, figure->key, NULL);
    else if (figure->kind == CLPI_WORDS)
      clpi_json_string(json, figure->key, figure->value.text);
    else if (figure->kind == CLPI_LINES)
      write_lines(json, figure->key, figure->value.lines);
    else
      clpi_json_unsigned(json, figure->key, figure->value.count);
  }
}

clpi_shown clpi_show_figure(const clpi_figure *figure)
{
  return figure->kind == CLPI_BYTES     ? clpi_show_bytes(figure->value.count)
         : figure->kind == CLPI_TIME    ? clpi_show_time(figure->value.ratio)
         : figure->kind == CLPI_RATIO   ? clpi_show("%.2f", figure->value.ratio)
         : figure->kind == CLPI_ELAPSED ? clpi_show_elapsed(figure->value.count)
         : figure->kind == CLPI_ADDRESS ? clpi_show("%#" PRIx64, figure->value.count)
                                        : clpi_show("%" PRIu64, figure->value.count);
}

double clpi_figure_value(const clpi_figure *figure)
{
  return figure->kind == CLPI_TIME || figure->kind == CLPI_RATIO ? figure->value.ratio
                                                                 : (double)figure->value.count;
}

/* Rounded, no value is as much as one of the next unit. */
clpi_shown clpi_show_bytes(uint64_t bytes)
{
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return clpi_show("%" PRIu64 " bytes", bytes);
  double value = (double)bytes / 1024.0;
  size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1024.0;
    unit++;
  }
  return clpi_show("%.2f %s", value, units[unit]);
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
  return clpi_show("%.3g %s", value, units[unit]);
}

clpi_shown clpi_show_grouped(uint64_t count)
{
  clpi_shown shown;
  char digits[24];
  int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
  char *end = shown.text;
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0)
      *end++ = ',';
    *end++ = digits[i];
  }
  *end = '\0';
  return shown;
}

clpi_shown clpi_show_elapsed(uint64_t nanoseconds)
{
  uint64_t seconds = nanoseconds / 1000000000u;
  if (seconds < 60)
    return nanoseconds ? clpi_show_time((double)nanoseconds) : (clpi_shown){"0 s"};
  bool has_hours = seconds >= 3600;
  return clpi_show("%" PRIu64 " %s %" PRIu64 " %s", has_hours ? seconds / 3600 : seconds / 60,
                   has_hours ? "h" : "min", has_hours ? seconds / 60 % 60 : seconds % 60,
                   has_hours ? "min" : "s");
}

clpi_shown clpi_show_part(uint64_t part, uint64_t whole)
{
  if (part == 0 || part == whole)
    return part ? (clpi_shown){"100 %"} : (clpi_shown){"0 %"};
  double per_cent = (double)part / (double)whole * 100.0;
  return clpi_show("%.1f %%", fmax(fmin(per_cent, 99.9), 0.1));
}

clpi_shown clpi_show_number_of(uint64_t count, const char *noun)
{
  return clpi_show("%s %s%s", clpi_show_grouped(count).text, noun, count == 1 ? "" : "s");
}
