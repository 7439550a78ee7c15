/* SPDX-License-Identifier: MIT */
/* The report's chart of memory over the trace, as inline SVG, and the figures for who points at it.
 */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/param.h>

/* Units of the picture, which is scaled when it is shown. report.js has LEFT and RIGHT, too. */
enum { WIDTH = 1000, LEFT = 84, RIGHT = 956, TOP = 14, BOTTOM = 314, BELOW = 54 };
enum { MOST_STEPS = 1024, LEVELS = 6, TICKS = 8 };

typedef struct plot {
  FILE *file;
  const trace_survey *survey;
  const trace_span *steps; /* what is drawn: the timeline's spans, or wider ones */
  size_t count;
  uint64_t rows;
  bool has_times, is_on_arena;
  const char *unit;              /* of the figures beside it */
  double unit_bytes, step, most; /* a step in units; bytes at the top */
} plot;

static double x_of(const plot *in, uint64_t row) /* where it ends */
{
  return LEFT + (double)(RIGHT - LEFT) * (double)row / (double)in->rows;
}

static double y_of(const plot *in, double bytes)
{
  return BOTTOM - (BOTTOM - TOP) * bytes / in->most;
}

/* 1, 2, 2.5 or 5 times a power of ten: the least of which `most` takes no more than `steps`. */
static double round_step(double most, unsigned steps)
{
  double step = pow(10.0, floor(log10(most / steps)));
  static const double factors[] = {1.0, 2.0, 2.5, 5.0};
  for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++)
    if (most <= step * factors[i] * steps)
      return step * factors[i];
  return step * 10.0;
}

static void fit(plot *in, size_t peak)
{
  static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t name = 0;
  for (in->unit_bytes = 1.0; (double)peak / in->unit_bytes >= 1024.0; name++)
    in->unit_bytes *= 1024.0;
  double wanted = 1.02 * (double)peak / in->unit_bytes;
  in->unit = names[name];
  in->step = round_step(wanted, LEVELS);
  in->most = ceil(wanted / in->step) * in->step * in->unit_bytes;
}

/* Lines across at round figures. */
static void draw_levels(const plot *in)
{
  for (unsigned i = 0; i * in->step * in->unit_bytes < 1.001 * in->most; i++) {
    double y = y_of(in, i * in->step * in->unit_bytes);
    fprintf(in->file,
            "<path class='%s' d='M%d %.1f H%d'/><text x='%d' y='%.1f' text-anchor='end'>%g %s"
            "</text>\n",
            i > 0 ? "grid" : "axis", LEFT, y, RIGHT, LEFT - 8, y + 4.0, i * in->step,
            i > 0 ? in->unit : "");
  }
}

/* The rows, and where the trace has times, these beneath. */
static void draw_axis(const plot *in)
{
  static const char label[] = "<text x='%.1f' y='%d' text-anchor='middle'>%s</text>";
  uint64_t step = (uint64_t)fmax(round_step((double)in->rows, TICKS), 1.0);
  fprintf(in->file, "<text x='%d' y='%d' text-anchor='end'>event</text>", LEFT - 20, BOTTOM + 19);
  if (in->has_times)
    fprintf(in->file, "<text x='%d' y='%d' text-anchor='end'>after</text>", LEFT - 20, BOTTOM + 35);
  for (uint64_t row = 0; row <= in->rows; row += step) {
    uint64_t time = trace_timeline_nanoseconds(&in->survey->timeline, row);
    fprintf(in->file, "<path class='axis' d='M%.1f %d v5'/>", x_of(in, row), BOTTOM);
    fprintf(in->file, label, x_of(in, row), BOTTOM + 19, clpi_show_grouped(row).text);
    if (in->has_times)
      fprintf(in->file, label, x_of(in, row), BOTTOM + 35, clpi_show_elapsed(time).text);
  }
  putc('\n', in->file);
}

/* A path from step to step of the bytes that are at `offset` in each; the style sheet knows its
 * classes. An area ends at the bottom. */
static void draw_path(const plot *in, const char *classes, bool is_area, size_t offset)
{
  double height = -1.0;
  fprintf(in->file, "<path class='%s' d='M%d %d", classes, LEFT, BOTTOM);
  for (size_t i = 0; i < in->count; i++) {
    size_t bytes = *(const size_t *)((const char *)&in->steps[i] + offset);
    double y = round(y_of(in, (double)bytes) * 10.0) / 10.0;
    if (y < height || y > height)
      fprintf(in->file, "H%.1fV%.1f", x_of(in, in->steps[i].first.row - 1), y);
    height = y;
  }
  fprintf(in->file, "H%d", RIGHT);
  if (is_area)
    fprintf(in->file, "V%dZ", BOTTOM);
  fputs("'/>\n", in->file);
}

static bool has_limit(const plot *in)
{
  size_t limit = in->survey->result.limit_bytes;
  return limit > 0 && (double)limit <= in->most;
}

/* The limit, and a stroke along the top for each step that has refused allocations. */
static void draw_bounds(const plot *in)
{
  if (has_limit(in))
    fprintf(in->file, "<path class='line limit' d='M%d %.1fH%d'/>\n", LEFT,
            y_of(in, (double)in->survey->result.limit_bytes), RIGHT);
  fputs("<path class='refused' d='", in->file);
  for (size_t i = 0; i < in->count; i++)
    if (in->steps[i].refused > 0)
      fprintf(in->file, "M%.1f %dv8", x_of(in, in->steps[i].first.row - 1), TOP);
  fputs("'/>\n", in->file);
}

static void draw_peak(const plot *in, const char *name, uint64_t row, size_t bytes)
{
  fprintf(in->file, "<circle class='peak %s' cx='%.1f' cy='%.1f' r='4'/>\n", name, x_of(in, row),
          y_of(in, (double)bytes));
}

/* The line that follows the pointer is put where it is needed. */
static void draw(const plot *in)
{
  const trace_survey *survey = in->survey;
  size_t managed = survey->managed_peak.managed_bytes;
  clpi_report_begin_wide(in->file, "Memory over the trace");
  fprintf(in->file, "<svg class='plot' viewBox='0 0 %d %d' role='img'", WIDTH, BOTTOM + BELOW);
  fprintf(in->file, " aria-label='Memory over %s events: at most %s in use and %s in the pool'>\n",
          clpi_show_grouped(in->rows).text, clpi_show_bytes(survey->active_peak.active_bytes).text,
          clpi_show_bytes(managed).text);
  draw_levels(in);
  draw_path(in, "area managed", true, offsetof(trace_span, managed_bytes));
  draw_path(in, "area active-most", true, offsetof(trace_span, active_bytes));
  draw_path(in, "area active", true, offsetof(trace_span, least_active_bytes));
  draw_path(in, "line managed", false, offsetof(trace_span, managed_bytes));
  if (in->is_on_arena)
    draw_path(in, "line device", false, offsetof(trace_span, device_bytes));
  draw_axis(in);
  draw_bounds(in);
  draw_peak(in, "managed", survey->managed_peak.first.row, managed);
  draw_peak(in, "active", survey->active_peak.first.row, survey->active_peak.active_bytes);
  fprintf(in->file, "<path class='pointer' d='M0 %d V%d' visibility='hidden'/>\n</svg></div>\n",
          TOP, BOTTOM);
}

/* Says what is drawn, and the peaks, whose labels would collide in the picture. */
static void write_legend(const plot *in)
{
  const trace_span *active = &in->survey->active_peak, *managed = &in->survey->managed_peak;
  fprintf(in->file,
          "<ul class='legend'>\n"
          "<li><i class='active'></i>in use: at most <b>%s</b>, at event %s</li>\n%s"
          "<li><i class='managed'></i>in the pool, with held blocks and padding: at most "
          "<b>%s</b>, at event %s</li>\n",
          clpi_show_bytes(active->active_bytes).text, clpi_show_grouped(active->first.row).text,
          in->steps[0].last.row > 1
              ? "<li><i class='active-most'></i>in use for a part of the step only</li>\n"
              : "",
          clpi_show_bytes(managed->managed_bytes).text, clpi_show_grouped(managed->first.row).text);
  if (in->is_on_arena)
    fprintf(
        in->file,
        "<li><i class='device'></i>taken from the device by the arena: at most <b>%s</b></li>\n",
        clpi_show_bytes(in->survey->result.peak_device_bytes).text);
  if (has_limit(in))
    fprintf(in->file, "<li><i class='limit'></i>limit %s</li>\n",
            clpi_show_bytes(in->survey->result.limit_bytes).text);
  if (in->survey->result.failures > 0)
    fputs("<li><i class='refused'></i>allocations refused</li>\n", in->file);
  fputs("</ul>\n", in->file);
}

/* For the script: a row of figures for each step. */
static void write_steps(const plot *in)
{
  fputs("<script type='application/json' id='spans'>[\n", in->file);
  for (size_t i = 0; i < in->count; i++) {
    const trace_span *step = &in->steps[i];
    fprintf(in->file,
            "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%zu,%zu,%zu,%zu,%zu,%" PRIu64 ",%" PRIu64
            ",%" PRIu64 "]%s\n",
            step->first.row, step->last.row, step->first.nanoseconds / 1000,
            step->least_active_bytes, step->active_bytes, step->managed_bytes, step->held_bytes,
            step->device_bytes, step->hits, step->misses, step->refused,
            i + 1 < in->count ? "," : "");
  }
  fputs("]</script>\n", in->file);
}

void clpi_report_write_timeline(FILE *file, const clpi_report *report)
{
  static trace_span steps[MOST_STEPS];
  const trace_timeline *timeline = &report->survey->timeline;
  uint64_t rows = trace_timeline_rows(timeline);
  plot in = {.file = file,
             .survey = report->survey,
             .steps = steps,
             .count = trace_timeline_widen(timeline, MOST_STEPS, steps),
             .rows = rows,
             .has_times = trace_timeline_nanoseconds(timeline, rows) > 0,
             .is_on_arena = report->arguments->replay.on_arena};
  size_t managed = report->survey->managed_peak.managed_bytes;
  fit(&in, MAX(managed, report->survey->result.peak_device_bytes));
  clpi_report_begin_section(file, "memory", "Memory over the trace");
  write_legend(&in);
  draw(&in);
  fputs("<p class='note'>Event N is line N + 1 of the trace", file);
  if (trace_survey_has_stacks(report->survey))
    fputs(", not counting lines that begin with #", file);
  if (steps[0].last.row > 1)
    fprintf(file, ". A step of the chart spans %s events and shows their maximum",
            clpi_show_grouped(steps[0].last.row).text);
  fputs(".</p>\n</section>\n", file);
  write_steps(&in);
}
