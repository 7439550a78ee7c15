/* SPDX-License-Identifier: MIT */
/* Memory up, time across, both logarithmic: a point for each setting, and a line through those that
 * nothing beats. */
#include "program.h"
#include "quantities.h"
#include "report.h"
#include "tune_report.h"

#include <math.h>

enum { LEFT = 90, RIGHT = 610, TOP = 40, BOTTOM = 330, LINE = 15, TICKS = 5, MOST_POINTS = 16 };

/* A setting that has room. */
typedef struct point {
  double ns, bytes, x, y, label_y;
  const trace_tune_setting *setting;
  bool is_beaten, is_best;
} point;

/* By memory, the most first. */
typedef struct plot {
  point points[MOST_POINTS];
  size_t count;
  double least_ns, most_ns, least_bytes, most_bytes; /* of the axes */
} plot;

static void add(plot *made, point added)
{
  size_t i = made->count++;
  for (; i > 0 && made->points[i - 1].bytes < added.bytes; i--)
    made->points[i] = made->points[i - 1];
  made->points[i] = added;
}

/* What takes no time at all is at the left margin. */
static void find_points(const clpi_tune_report *report, plot *made)
{
  const double shortest = 0.1;
  for (size_t i = 0; i < report->count && made->count < MOST_POINTS; i++) {
    const trace_tune_outcome *outcome = &report->outcomes[i];
    if (outcome->result.failures || outcome->result.peak_device_bytes == 0)
      continue;
    add(made, (point){.ns = fmax(outcome->result.ns_per_operation, shortest),
                      .bytes = (double)outcome->result.peak_device_bytes,
                      .setting = &outcome->setting,
                      .is_beaten = trace_tune_is_beaten(report->outcomes, report->count, i),
                      .is_best = i == report->best});
  }
}

static double part(double value, double least, double most)
{
  return log(value / least) / log(most / least);
}

/* Whole decades of time, and some room beyond the bytes. */
static void place_points(plot *made)
{
  double least = HUGE_VAL, most = 0.0;
  for (size_t i = 0; i < made->count; i++) {
    least = fmin(least, made->points[i].ns);
    most = fmax(most, made->points[i].ns);
  }
  made->least_ns = pow(10, floor(log10(least)));
  made->most_ns = pow(10, floor(log10(most)) + 1);
  made->least_bytes = made->points[made->count - 1].bytes / 1.1;
  made->most_bytes = made->points[0].bytes * 1.1;
  for (size_t i = 0; i < made->count; i++) {
    point *it = &made->points[i];
    it->x = LEFT + (RIGHT - LEFT) * part(it->ns, made->least_ns, made->most_ns);
    it->y = BOTTOM - (BOTTOM - TOP) * part(it->bytes, made->least_bytes, made->most_bytes);
  }
}

static bool has_label(const point *it)
{
  return !it->is_beaten || it->is_best;
}

/* A line apart from each other: down from the top, then up from the bottom. */
static void place_labels(plot *made)
{
  double y = TOP - LINE / 2.0;
  for (size_t i = 0; i < made->count; i++)
    if (has_label(&made->points[i]))
      y = made->points[i].label_y = fmax(made->points[i].y, y + LINE);
  y = BOTTOM - LINE / 2.0;
  for (size_t i = made->count; i-- > 0;) {
    if (!has_label(&made->points[i]))
      continue;
    made->points[i].label_y = fmin(made->points[i].label_y, y);
    y = made->points[i].label_y - LINE;
  }
}

static void write_axes(FILE *file, const plot *made)
{
  for (double ns = made->least_ns; ns <= made->most_ns * 1.01; ns *= 10) {
    double x = LEFT + (RIGHT - LEFT) * part(ns, made->least_ns, made->most_ns);
    fprintf(file,
            "<path d='M%.1f %dV%d' stroke='#ccc'/><text x='%.1f' y='%d' text-anchor='middle'>%s"
            "</text>\n",
            x, TOP, BOTTOM, x, BOTTOM + 18, clpi_show_time(ns).text);
  }
  for (int i = 0; i <= TICKS; i++) {
    double y = BOTTOM - (double)(BOTTOM - TOP) * i / TICKS;
    double bytes = made->least_bytes * pow(made->most_bytes / made->least_bytes, (double)i / TICKS);
    fprintf(file,
            "<path d='M%d %.1fH%d' stroke='#ccc'/><text x='%d' y='%.1f' text-anchor='end'>%s"
            "</text>\n",
            LEFT, y, RIGHT, LEFT - 8, y + 4, clpi_show_bytes((uint64_t)bytes).text);
  }
  fprintf(file,
          "<text x='%d' y='%d' text-anchor='middle'>time of an allocation or free</text>\n"
          "<text x='%d' y='%d'>memory taken from the device, at most</text>\n",
          (LEFT + RIGHT) / 2, BOTTOM + 40, LEFT, TOP - 10);
}

static void write_front(FILE *file, const plot *made)
{
  char pen = 'M';
  fputs("<path fill='none' stroke='#1f4f9c' stroke-width='1.5' d='", file);
  for (size_t i = 0; i < made->count; i++) {
    if (made->points[i].is_beaten)
      continue;
    fprintf(file, "%c%.1f %.1f", pen, made->points[i].x, made->points[i].y);
    pen = 'L';
  }
  fputs("'/>\n", file);
}

static void write_name(FILE *file, const point *it)
{
  const trace_tune_setting *setting = it->setting;
  if (!setting->any_bits)
    fprintf(file, "%u bits%s", setting->leading_bits, setting->on_arena ? ", " : "");
  if (setting->on_arena)
    fprintf(file, "arena %g", setting->slack);
}

/* A white edge sets the text off from lines. */
static void write_label(FILE *file, const point *it)
{
  const bool is_left = it->x > (LEFT + RIGHT) / 2.0;
  const double x = it->x + (is_left ? -24 : 24);
  fprintf(file, "<path d='M%.1f %.1fL%.1f %.1f' stroke='#767676'/>", it->x, it->y, x, it->label_y);
  fprintf(file,
          "<text x='%.1f' y='%.1f' text-anchor='%s' stroke='#fff' stroke-width='3' "
          "paint-order='stroke'%s>",
          is_left ? x - 3 : x + 3, it->label_y + 4, is_left ? "end" : "start",
          it->is_best ? " font-weight='bold'" : "");
  write_name(file, it);
  fputs(it->is_best ? ": recommended</text>\n" : "</text>\n", file);
}

static void write_point(FILE *file, const point *it)
{
  fprintf(file, "<circle cx='%.1f' cy='%.1f' r='%d' fill='%s'><title>", it->x, it->y,
          it->is_best ? 7 : 4, it->is_beaten ? "#767676" : "#1f4f9c");
  write_name(file, it);
  fprintf(file, ": %s, %s</title></circle>\n", clpi_show_bytes((uint64_t)it->bytes).text,
          clpi_show_time(it->ns).text);
}

static void write_title(FILE *file, const clpi_arguments *arguments)
{
  fprintf(file, "<title>");
  clpi_write_escaped(file, arguments->traces[0]);
  if (arguments->trace_count > 1)
    fprintf(file, " and %zu more", arguments->trace_count - 1);
  fputs("</title>\n", file);
}

int clpi_tune_report_plot(const clpi_tune_report *report, FILE *file)
{
  plot made = {.count = 0};
  find_points(report, &made);
  if (made.count == 0) {
    clpi_complain("there is nothing to plot: no setting takes any memory, or all run out of it");
    return CLPI_EXIT_FAILED;
  }
  place_points(&made);
  place_labels(&made);
  fputs("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 660 390' font-family='sans-serif' "
        "font-size='12' fill='#1a1a1a'>\n",
        file);
  write_title(file, report->arguments);
  fputs("<rect width='660' height='390' fill='#fff'/>\n", file);
  write_axes(file, &made);
  write_front(file, &made);
  for (size_t i = 0; i < made.count; i++)
    if (has_label(&made.points[i]))
      write_label(file, &made.points[i]);
  for (size_t i = 0; i < made.count; i++)
    write_point(file, &made.points[i]);
  fputs("</svg>\n", file);
  return CLPI_EXIT_SUCCESS;
}
