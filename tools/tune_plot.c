/* SPDX-License-Identifier: MIT */
/* Memory up, time across, both logarithmic: a point for each setting, and a line through those that
 * nothing beats. */
#include "figures.h"
#include "program.h"
#include "report.h"
#include "tune_report.h"

#include <math.h>

enum { LEFT = 90, RIGHT = 610, TOP = 40, BOTTOM = 330, LINE = 15, TICKS = 5 };

typedef struct axis {
  double least, most; /* are at `from` and at `to` */
  int from, to;
} axis;

/* A setting that has room. */
typedef struct point {
  const trace_tune_setting *setting;
  double ns, bytes, x, y;
  bool is_beaten, is_best;
} point;

/* By memory, the most first. */
typedef struct plot {
  point points[TRACE_TUNE_SETTINGS];
  size_t count;
  axis time, memory;
} plot;

static double place(const axis *on, double value)
{
  return on->from + (on->to - on->from) * (log(value / on->least) / log(on->most / on->least));
}

static void add(plot *made, point added)
{
  size_t i = made->count++;
  for (; i > 0 && made->points[i - 1].bytes < added.bytes; i--)
    made->points[i] = made->points[i - 1];
  made->points[i] = added;
}

/* Whole decades of time, and some room beyond the bytes. What takes no time at all is at the left
 * margin. */
static void find_points(const clpi_tune_report *report, plot *made)
{
  double least = HUGE_VAL, most = 0.0;
  for (size_t i = 0; i < report->count; i++) {
    const trace_tune_outcome *it = &report->outcomes[i];
    if (it->result.failures || it->result.peak_device_bytes == 0)
      continue;
    const double ns = fmax(it->result.ns_per_operation, 0.1);
    least = fmin(least, ns);
    most = fmax(most, ns);
    add(made, (point){.setting = &it->setting,
                      .ns = ns,
                      .bytes = (double)it->result.peak_device_bytes,
                      .is_beaten = trace_tune_is_beaten(report->outcomes, report->count, i),
                      .is_best = it == report->best});
  }
  if (made->count == 0)
    return;
  made->time = (axis){pow(10, floor(log10(least))), pow(10, floor(log10(most)) + 1), LEFT, RIGHT};
  made->memory =
      (axis){made->points[made->count - 1].bytes / 1.1, made->points[0].bytes * 1.1, BOTTOM, TOP};
  for (point *it = made->points; it < &made->points[made->count]; it++) {
    it->x = place(&made->time, it->ns);
    it->y = place(&made->memory, it->bytes);
  }
}

static void write_axes(FILE *file, const plot *made)
{
  const axis *time = &made->time, *memory = &made->memory;
  for (double ns = time->least; ns <= time->most * 1.01; ns *= 10) {
    double x = place(time, ns);
    fprintf(file,
            "<path d='M%.1f %dV%d' stroke='#ccc'/><text x='%.1f' y='%d' text-anchor='middle'>%s"
            "</text>\n",
            x, TOP, BOTTOM, x, BOTTOM + 18, clpi_show_time(ns).text);
  }
  for (int i = 0; i <= TICKS; i++) {
    double y = BOTTOM - (double)(BOTTOM - TOP) * i / TICKS;
    double bytes = memory->least * pow(memory->most / memory->least, (double)i / TICKS);
    fprintf(file,
            "<path d='M%d %.1fH%d' stroke='#ccc'/><text x='%d' y='%.1f' text-anchor='end'>%s"
            "</text>\n",
            LEFT, y, RIGHT, LEFT - 8, y + 4, clpi_show_bytes((uint64_t)bytes).text);
  }
  fprintf(file,
          "<text x='%d' y='%d' text-anchor='middle'>time of an allocation or free</text>\n"
          "<text x='%d' y='%d'>peak memory taken from the device</text>\n"
          "<path fill='none' stroke='#1f4f9c' stroke-width='1.5' d='",
          (LEFT + RIGHT) / 2, BOTTOM + 40, LEFT, TOP - 10);
  const char *pen = "M";
  for (const point *it = made->points; it < &made->points[made->count]; it++)
    if (!it->is_beaten) {
      fprintf(file, "%s%.1f %.1f", pen, it->x, it->y);
      pen = "L";
    }
  fputs("'/>\n", file);
}

static void write_name(FILE *file, const trace_tune_setting *setting)
{
  if (!setting->any_bits)
    fprintf(file, "%u bits%s", setting->leading_bits, setting->on_arena ? ", " : "");
  if (setting->on_arena)
    fprintf(file, "arena %g", setting->slack);
}

/* A white edge sets the text off from lines. */
static void write_label(FILE *file, const point *it, double y)
{
  const bool is_left = it->x > (LEFT + RIGHT) / 2.0;
  const double x = it->x + (is_left ? -24 : 24);
  fprintf(file,
          "<path d='M%.1f %.1fL%.1f %.1f' stroke='#767676'/>"
          "<text x='%.1f' y='%.1f' text-anchor='%s' stroke='#fff' stroke-width='3' "
          "paint-order='stroke'%s>",
          it->x, it->y, x, y, is_left ? x - 3 : x + 3, y + 4, is_left ? "end" : "start",
          it->is_best ? " font-weight='bold'" : "");
  write_name(file, it->setting);
  fputs(it->is_best ? ": recommended</text>\n" : "</text>\n", file);
}

/* Labels are below each other, and there is room for those that follow. */
static void write_points(FILE *file, const plot *made)
{
  const point *end = &made->points[made->count];
  double y = TOP - LINE / 2.0, lowest = BOTTOM + LINE / 2.0;
  for (const point *it = made->points; it < end; it++)
    lowest -= it->is_beaten && !it->is_best ? 0 : LINE;
  for (const point *it = made->points; it < end; it++) {
    if (it->is_beaten && !it->is_best)
      continue;
    y = fmin(fmax(it->y, y + LINE), lowest);
    lowest += LINE;
    write_label(file, it, y);
  }
  for (const point *it = made->points; it < end; it++) {
    fprintf(file, "<circle cx='%.1f' cy='%.1f' r='%d' fill='%s'><title>", it->x, it->y,
            it->is_best ? 7 : 4, it->is_beaten ? "#767676" : "#1f4f9c");
    write_name(file, it->setting);
    fprintf(file, ": %s, %s</title></circle>\n", clpi_show_bytes((uint64_t)it->bytes).text,
            clpi_show_time(it->ns).text);
  }
}

int clpi_tune_report_plot(const clpi_tune_report *report, FILE *file)
{
  const clpi_arguments *arguments = report->arguments;
  plot made = {.count = 0};
  find_points(report, &made);
  if (made.count == 0)
    return clpi_complain(
        "nothing to plot: no setting takes memory, or every setting runs out of it");
  fputs("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 660 390' font-family='sans-serif' "
        "font-size='12' fill='#1a1a1a'>\n<title>",
        file);
  clpi_write_escaped(file, arguments->traces[0]);
  if (arguments->trace_count > 1)
    fprintf(file, " and %zu more", arguments->trace_count - 1);
  fputs("</title>\n<rect width='660' height='390' fill='#fff'/>\n", file);
  write_axes(file, &made);
  write_points(file, &made);
  fputs("</svg>\n", file);
  return CLPI_EXIT_SUCCESS;
}
