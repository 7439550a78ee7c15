/* SPDX-License-Identifier: MIT */
/* Figures, shown and as JSON. */
#include "figures.h"

#include <stdio.h>

void clpi_write_figures(clpi_json *json, const clpi_figure *figures, size_t count)
{
  for (const clpi_figure *figure = figures; figure < figures + count; figure++) {
    if (!figure->key || (figure->kind == CLPI_SOME && figure->count == 0))
      continue;
    if (figure->kind == CLPI_SWITCH)
      clpi_json_bool(json, figure->key, figure->count);
    else if (figure->kind == CLPI_RATIO || figure->kind == CLPI_TIME)
      clpi_json_number(json, figure->key, figure->ratio);
    else if (figure->kind == CLPI_EVENT && figure->count == 0)
      clpi_json_null(json, figure->key);
    else
      clpi_json_unsigned(json, figure->key, figure->count);
  }
}

clpi_shown clpi_show_figure(const clpi_figure *figure)
{
  return figure->kind == CLPI_BYTES   ? clpi_show_bytes(figure->count)
         : figure->kind == CLPI_TIME  ? clpi_show_time(figure->ratio)
         : figure->kind == CLPI_RATIO ? clpi_show_ratio(figure->ratio)
                                      : clpi_show_count(figure->count);
}

double clpi_figure_value(const clpi_figure *figure)
{
  return figure->kind == CLPI_TIME || figure->kind == CLPI_RATIO ? figure->ratio
                                                                 : (double)figure->count;
}
