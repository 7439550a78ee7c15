/* SPDX-License-Identifier: MIT */
/* The report's chart of memory over the trace, and the figures for who points at it. */
#include "report.h"
#include "report_plot.h"
#include "report_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

enum { HEIGHT = 300, LEVELS = 6 };

static double least_active(const trace_span *span)
{
  return (double)span->active_bytes.least;
}

static double most_active(const trace_span *span)
{
  return (double)span->active_bytes.most;
}

static double least_managed(const trace_span *span)
{
  return (double)span->managed_bytes.least;
}

static double most_managed(const trace_span *span)
{
  return (double)span->managed_bytes.most;
}

static double most_of_device(const trace_span *span)
{
  return (double)span->device_bytes.most;
}

/* A power of 1024 for the labels of an axis. */
typedef struct byte_unit {
  const char *name;
  double bytes;
} byte_unit;

/* The unit in which a size has digits before its point, three of them or so. */
static byte_unit unit_for(size_t bytes)
{
  static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  byte_unit unit = {names[0], 1.0};
  for (size_t i = 1; (double)bytes / unit.bytes >= 1024.0; i++)
    unit = (byte_unit){names[i], unit.bytes * 1024.0};
  return unit;
}

/* Sets the height of the axis: round levels, with room for a label above the peak. */
static double fit_levels(clpi_plot *plot, size_t peak, byte_unit unit)
{
  double wanted = 1.1 * (double)peak / unit.bytes;
  double step = clpi_round_step(wanted, LEVELS);
  plot->most = ceil(wanted / step) * step * unit.bytes;
  return step;
}

static void draw_levels(const clpi_plot *plot, double step, byte_unit unit)
{
  double top = plot->most / unit.bytes;
  for (unsigned i = 0; i * step < top + step / 2.0; i++) {
    char label[32];
    snprintf(label, sizeof(label), "%g %s", i * step, unit.name);
    clpi_plot_level(plot, i * step * unit.bytes, i > 0 ? label : "0");
  }
}

static void draw_limit(const clpi_plot *plot, size_t limit)
{
  if (limit == 0 || (double)limit > plot->most)
    return;
  double y = clpi_plot_y(plot, (double)limit);
  fprintf(plot->file,
          "<path class='line limit' d='M%d %.1fH%d'/>"
          "<text class='label' x='%d' y='%.1f'>limit %s</text>\n",
          CLPI_PLOT_LEFT, y, CLPI_PLOT_WIDTH - CLPI_PLOT_RIGHT, CLPI_PLOT_LEFT + 6, y - 6.0,
          clpi_show_bytes(limit).text);
}

/* A stroke along the top for each span that has refused allocations. */
static void draw_refusals(const clpi_plot *plot)
{
  fputs("<path class='refused' d='", plot->file);
  for (size_t i = 0; i < plot->count; i++)
    if (plot->spans[i].refused > 0)
      fprintf(plot->file, "M%.1f %dv8", clpi_plot_x(plot, plot->spans[i].first.row - 1),
              CLPI_PLOT_TOP);
  fputs("'/>\n", plot->file);
}

/* A dot at a peak, with its label above or, where that is taken, beneath. */
static void draw_peak(const clpi_plot *plot, const char *name, const char *words, uint64_t row,
                      size_t bytes, bool is_above)
{
  double x = clpi_plot_x(plot, row), y = clpi_plot_y(plot, (double)bytes);
  bool is_right = x > 0.6 * CLPI_PLOT_WIDTH;
  fprintf(plot->file,
          "<circle class='peak %s' cx='%.1f' cy='%.1f' r='3.5'/>"
          "<text class='label' x='%.1f' y='%.1f' text-anchor='%s'>%s %s</text>\n",
          name, x, y, is_right ? x + 4.0 : x - 4.0, is_above ? y - 9.0 : y + 19.0,
          is_right ? "end" : "start", words, clpi_show_bytes(bytes).text);
}

static void draw_peaks(const clpi_plot *plot, const trace_survey *survey)
{
  size_t active = survey->active_peak.active_bytes;
  size_t managed = trace_peak_managed_bytes(&survey->managed_peak);
  bool is_apart = (double)(managed - active) / plot->most * plot->height > 24.0;
  draw_peak(plot, "managed", "managed at most", survey->managed_peak.when.row, managed, true);
  draw_peak(plot, "active", "in use at most", survey->active_peak.when.row, active, is_apart);
}

static void draw(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  size_t peak = trace_peak_managed_bytes(&survey->managed_peak);
  byte_unit unit = unit_for(report->most_bytes);
  clpi_plot plot = {.file = file,
                    .timeline = &survey->timeline,
                    .spans = survey->timeline.spans,
                    .count = survey->timeline.count,
                    .suffix = report->suffix,
                    .height = HEIGHT};
  double step = fit_levels(&plot, report->most_bytes, unit);
  char label[320];
  snprintf(label, sizeof(label),
           "Memory over %s events: at most %s in use, at event %s, and %s managed, at event %s",
           clpi_show_grouped(trace_timeline_rows(plot.timeline)).text,
           clpi_show_bytes(survey->active_peak.active_bytes).text,
           clpi_show_grouped(survey->active_peak.when.row).text, clpi_show_bytes(peak).text,
           clpi_show_grouped(survey->managed_peak.when.row).text);
  clpi_plot_begin(&plot, label);
  draw_levels(&plot, step, unit);
  clpi_plot_area(&plot, "managed-most", most_managed);
  clpi_plot_area(&plot, "managed-least", least_managed);
  clpi_plot_area(&plot, "active-most", most_active);
  clpi_plot_area(&plot, "active-least", least_active);
  clpi_plot_line(&plot, "active", most_active);
  clpi_plot_line(&plot, "managed", most_managed);
  if (report->on_arena)
    clpi_plot_line(&plot, "device", most_of_device);
  clpi_plot_row_axis(&plot);
  draw_limit(&plot, survey->result.limit_bytes);
  draw_refusals(&plot);
  draw_peaks(&plot, survey);
  clpi_plot_end(&plot);
}

static void write_legend(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  bool has_wide_spans = survey->timeline.rows_a_span > 1;
  fputs("<ul class='legend'>\n"
        "<li><i class='active-least'></i>in use</li>\n",
        file);
  if (has_wide_spans)
    fputs("<li><i class='active-most'></i>in use at some moment of the step</li>\n", file);
  fputs("<li><i class='managed-least'></i>held by the pool, and padding</li>\n"
        "<li><i class='managed'></i>managed: all of it</li>\n",
        file);
  if (report->on_arena)
    fputs("<li><i class='device'></i>taken from the device by the arena</li>\n", file);
  if (survey->result.failures > 0)
    fputs("<li><i class='refused'></i>allocations refused</li>\n", file);
  fputs("</ul>\n", file);
}

/* For the script: a row of figures for each span. */
static void write_spans(FILE *file, const clpi_report *report)
{
  const trace_timeline *timeline = &report->survey->timeline;
  fprintf(file, "<script type='application/json' id='spans%s'>[\n", report->suffix);
  for (size_t i = 0; i < timeline->count; i++) {
    const trace_span *span = &timeline->spans[i];
    fprintf(file,
            "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%zu,%zu,%zu,%zu,%zu,%" PRIu64 ",%" PRIu64
            ",%" PRIu64 "]%s\n",
            span->first.row, span->last.row, span->first.nanoseconds / 1000,
            span->active_bytes.least, span->active_bytes.most, span->managed_bytes.most,
            span->held_bytes.most, span->device_bytes.most, span->hits, span->misses, span->refused,
            i + 1 < timeline->count ? "," : "");
  }
  fputs("]</script>\n", file);
}

void clpi_report_write_timeline(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  clpi_report_begin_section(file, report, "memory", "Memory over the trace");
  write_legend(file, report);
  draw(file, report);
  fputs("<p class='note'>Event N is line N + 1 of the trace.", file);
  if (survey->timeline.rows_a_span > 1)
    fprintf(file,
            " Each step of the chart spans %s events and shows the least and the most in them, so "
            "no peak is lost.",
            clpi_show_grouped(survey->timeline.rows_a_span).text);
  fputs("</p>\n", file);
  fputs("</section>\n", file);
  write_spans(file, report);
}
