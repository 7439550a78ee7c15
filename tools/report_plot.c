/* SPDX-License-Identifier: MIT */
/* Charts: axes with round figures, and paths that step from span to span. */
#include "report_plot.h"

#include "report.h"
#include "report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const double inner_width = CLPI_PLOT_WIDTH - CLPI_PLOT_LEFT - CLPI_PLOT_RIGHT;

static double bottom_of(const clpi_plot *plot)
{
  return CLPI_PLOT_TOP + plot->height;
}

double clpi_plot_x(const clpi_plot *plot, uint64_t row)
{
  return CLPI_PLOT_LEFT + inner_width * (double)row / (double)trace_timeline_rows(plot->timeline);
}

double clpi_plot_y(const clpi_plot *plot, double value)
{
  return bottom_of(plot) - plot->height * value / plot->most;
}

void clpi_plot_begin(const clpi_plot *plot, const char *label)
{
  int left = plot->is_small ? CLPI_PLOT_LEFT : 0, right = plot->is_small ? CLPI_PLOT_RIGHT : 0;
  if (!plot->is_small)
    clpi_report_begin_wide(plot->file, label);
  fprintf(plot->file, "<svg class='plot%s' data-of='spans%s' viewBox='%d 0 %d %.0f' role='img'",
          plot->is_small ? " small" : "", plot->suffix, left, CLPI_PLOT_WIDTH - left - right,
          bottom_of(plot) + (plot->is_small ? 2.0 : CLPI_PLOT_BOTTOM));
  fputs(" aria-label='", plot->file);
  clpi_write_escaped(plot->file, label);
  fputs("'>\n", plot->file);
}

/* The line that follows the pointer is put where it is needed. */
void clpi_plot_end(const clpi_plot *plot)
{
  fprintf(plot->file, "<path class='pointer' d='M0 %d V%.0f' visibility='hidden'/>\n</svg>",
          CLPI_PLOT_TOP, bottom_of(plot));
  if (!plot->is_small)
    clpi_report_end_wide(plot->file);
}

void clpi_plot_level(const clpi_plot *plot, double value, const char *label)
{
  double y = clpi_plot_y(plot, value);
  fprintf(plot->file, "<path class='%s' d='M%d %.1f H%d'/>", value > 0.0 ? "grid" : "axis",
          CLPI_PLOT_LEFT, y, CLPI_PLOT_WIDTH - CLPI_PLOT_RIGHT);
  fprintf(plot->file, "<text class='tick' x='%d' y='%.1f' text-anchor='end'>%s</text>\n",
          CLPI_PLOT_LEFT - 8, y + 4.0, label);
}

double clpi_round_step(double most, unsigned steps)
{
  double step = pow(10.0, floor(log10(most / steps)));
  static const double factors[] = {1.0, 2.0, 2.5, 5.0};
  for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
    if (most <= step * factors[i] * steps)
      return step * factors[i];
  return step * 10.0;
}

/* A text beneath the axis, centered, but within the picture. */
static void write_row_label(const clpi_plot *plot, const char *name, double x, double y,
                            clpi_shown text)
{
  double half_width = 4.0 * (double)strlen(text.text);
  bool is_at_edge = x + half_width > CLPI_PLOT_WIDTH;
  fprintf(plot->file, "<text class='%s' x='%.1f' y='%.0f' text-anchor='%s'>%s</text>", name,
          is_at_edge ? CLPI_PLOT_WIDTH : x, y, is_at_edge ? "end" : "middle", text.text);
}

static void write_row_tick(const clpi_plot *plot, uint64_t row, bool has_times)
{
  double x = clpi_plot_x(plot, row);
  double y = bottom_of(plot);
  fprintf(plot->file, "<path class='axis' d='M%.1f %.0f v5'/>", x, y);
  write_row_label(plot, "tick", x, y + 19.0, clpi_show_grouped(row));
  if (has_times) {
    uint64_t time = trace_timeline_nanoseconds(plot->timeline, row > 0 ? row : 1);
    write_row_label(plot, "time", x, y + 35.0, clpi_show_elapsed(time));
  }
  putc('\n', plot->file);
}

void clpi_plot_row_axis(const clpi_plot *plot)
{
  enum { STEPS = 8 };
  uint64_t rows = trace_timeline_rows(plot->timeline);
  bool has_times = trace_timeline_nanoseconds(plot->timeline, rows) > 0;
  double rounded = clpi_round_step((double)rows, STEPS);
  uint64_t step = rounded > 1.0 ? (uint64_t)rounded : 1;
  double y = bottom_of(plot);
  fprintf(plot->file, "<text class='tick' x='%d' y='%.0f' text-anchor='end'>event</text>",
          CLPI_PLOT_LEFT - 20, y + 19.0);
  if (has_times)
    fprintf(plot->file, "<text class='time' x='%d' y='%.0f' text-anchor='end'>after</text>",
            CLPI_PLOT_LEFT - 20, y + 35.0);
  for (uint64_t row = 0; row <= rows; row += step)
    write_row_tick(plot, row, has_times);
}

/* The pen goes up where there is no value; an area begins and ends at the bottom. */

static void put_pen_down(const clpi_plot *plot, bool is_area, double x, double y)
{
  if (is_area)
    fprintf(plot->file, "M%.1f %.1fV%.1f", x, bottom_of(plot), y);
  else
    fprintf(plot->file, "M%.1f %.1f", x, y);
}

static void lift_pen(const clpi_plot *plot, bool is_area)
{
  if (is_area)
    fprintf(plot->file, "V%.1fZ", bottom_of(plot));
}

static bool is_same_height(double one, double other)
{
  return (isnan(one) && isnan(other)) || !(one < other || one > other || isnan(one + other));
}

static void write_steps(const clpi_plot *plot, clpi_span_value value, bool is_area)
{
  double height = NAN; /* of the pen; NAN: it is up */
  for (size_t i = 0; i < plot->count; i++) {
    const trace_span *span = &plot->spans[i];
    double x = clpi_plot_x(plot, span->first.row - 1);
    double y = round(clpi_plot_y(plot, value(span)) * 10.0) / 10.0;
    if (is_same_height(y, height))
      continue;
    if (!isnan(height))
      fprintf(plot->file, "H%.1f", x);
    if (isnan(y))
      lift_pen(plot, is_area);
    else if (isnan(height))
      put_pen_down(plot, is_area, x, y);
    else
      fprintf(plot->file, "V%.1f", y);
    height = y;
  }
  if (isnan(height))
    return;
  fprintf(plot->file, "H%.1f", clpi_plot_x(plot, trace_timeline_rows(plot->timeline)));
  lift_pen(plot, is_area);
}

void clpi_plot_area(const clpi_plot *plot, const char *name, clpi_span_value value)
{
  fprintf(plot->file, "<path class='area %s' d='", name);
  write_steps(plot, value, true);
  fputs("'/>\n", plot->file);
}

void clpi_plot_line(const clpi_plot *plot, const char *name, clpi_span_value value)
{
  fprintf(plot->file, "<path class='line %s' d='", name);
  write_steps(plot, value, false);
  fputs("'/>\n", plot->file);
}
