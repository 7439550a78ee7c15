/* SPDX-License-Identifier: MIT */
/* Figures as JSON and as people write them. */
#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void write_member(clpi_json *json, const clpi_figure *figure)
{
  switch (figure->kind) {
  case CLPI_RATIO:
    clpi_json_number(json, figure->key, figure->value.ratio);
    break;
  case CLPI_SWITCH:
    clpi_json_bool(json, figure->key, figure->value.count);
    break;
  case CLPI_TIME:
    clpi_json_number(json, figure->key, (double)figure->value.count / 1e9);
    break;
  case CLPI_TEXT:
    clpi_json_string(json, figure->key, figure->value.text);
    break;
  case CLPI_LINES:
    if (!figure->value.lines[0]) {
      clpi_json_null(json, figure->key);
      break;
    }
    clpi_json_begin_array(json, figure->key);
    for (const char *const *line = figure->value.lines; *line; line++)
      clpi_json_string(json, NULL, *line);
    clpi_json_end_array(json);
    break;
  default:
    clpi_json_unsigned(json, figure->key, figure->value.count);
  }
}

void clpi_json_figures(clpi_json *json, const clpi_figure *figures, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (figures[i].key)
      write_member(json, &figures[i]);
}

clpi_shown clpi_show_figure(const clpi_figure *figure)
{
  clpi_shown shown;
  switch (figure->kind) {
  case CLPI_ID:
    return clpi_show_count(figure->value.count);
  case CLPI_BYTES:
    return clpi_show_bytes(figure->value.count);
  case CLPI_RATIO:
    snprintf(shown.text, sizeof(shown.text), "%.10g", figure->value.ratio);
    return isnan(figure->value.ratio) ? (clpi_shown){"none"} : shown;
  case CLPI_SWITCH:
    return figure->value.count ? (clpi_shown){"yes"} : (clpi_shown){"no"};
  case CLPI_TIME:
    return clpi_show_elapsed(figure->value.count);
  case CLPI_ADDRESS:
    snprintf(shown.text, sizeof(shown.text), "%#" PRIx64, figure->value.count);
    return shown;
  default:
    return clpi_show_grouped(figure->value.count);
  }
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
  clpi_shown shown;
  uint64_t seconds = nanoseconds / 1000000000u;
  if (seconds < 60)
    return nanoseconds ? clpi_show_time((double)nanoseconds) : (clpi_shown){"0 s"};
  bool has_hours = seconds >= 3600;
  snprintf(shown.text, sizeof(shown.text), "%" PRIu64 " %s %" PRIu64 " %s",
           has_hours ? seconds / 3600 : seconds / 60, has_hours ? "h" : "min",
           has_hours ? seconds / 60 % 60 : seconds % 60, has_hours ? "min" : "s");
  return shown;
}

clpi_shown clpi_show_part(uint64_t part, uint64_t whole)
{
  clpi_shown shown;
  if (part == 0 || part == whole)
    return part ? (clpi_shown){"100 %"} : (clpi_shown){"0 %"};
  double per_cent = (double)part / (double)whole * 100.0;
  snprintf(shown.text, sizeof(shown.text), "%.1f %%", fmax(fmin(per_cent, 99.9), 0.1));
  return shown;
}

clpi_shown clpi_show_number_of(uint64_t count, const char *noun)
{
  clpi_shown shown;
  snprintf(shown.text, sizeof(shown.text), "%.28s %.16s%s", clpi_show_grouped(count).text, noun,
           count == 1 ? "" : "s");
  return shown;
}
