/* SPDX-License-Identifier: MIT */
/* The report's chart of the hit rate over the trace. */
#include "report.h"
#include "report_plot.h"
#include "report_text.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { HEIGHT = 150, WINDOWS = 128, LEVEL_STEP = 25 };

/* The rate of a window by itself, in per cent. */
static double rate_of(const trace_span *span)
{
  uint64_t allocations = span->hits + span->misses;
  return allocations > 0 ? 100.0 * (double)span->hits / (double)allocations : (double)NAN;
}

static void draw_levels(const clpi_plot *plot)
{
  for (int level = 0; level <= 100; level += LEVEL_STEP) {
    char label[16];
    snprintf(label, sizeof(label), "%d %%", level);
    clpi_plot_level(plot, level, level > 0 ? label : "0");
  }
}

/* The rate of all allocations so far, at each window's end. */
static void draw_rate_so_far(const clpi_plot *plot)
{
  uint64_t hits = 0, allocations = 0;
  char command = 'M';
  fputs("<path class='line so-far' d='", plot->file);
  for (size_t i = 0; i < plot->count; i++) {
    const trace_span *span = &plot->spans[i];
    hits += span->hits;
    allocations += span->hits + span->misses;
    if (allocations == 0)
      continue;
    double rate = 100.0 * (double)hits / (double)allocations;
    fprintf(plot->file, "%c%.1f %.1f", command, clpi_plot_x(plot, span->last.row),
            clpi_plot_y(plot, rate));
    command = 'L';
  }
  fputs("'/>\n", plot->file);
}

static void draw(FILE *file, const clpi_report *report, const trace_span *windows, size_t count)
{
  const trace_survey *survey = report->survey;
  clpi_plot plot = {.file = file,
                    .timeline = &survey->timeline,
                    .spans = windows,
                    .count = count,
                    .suffix = report->suffix,
                    .height = HEIGHT,
                    .most = 100.0};
  const trace_replay_result *result = &survey->result;
  char label[128];
  snprintf(label, sizeof(label), "Hit rate over the trace: %s of all allocations were hits",
           clpi_show_part(result->hits, result->allocations).text);
  clpi_plot_begin(&plot, label);
  draw_levels(&plot);
  clpi_plot_area(&plot, "hits", rate_of);
  clpi_plot_line(&plot, "hits", rate_of);
  draw_rate_so_far(&plot);
  clpi_plot_row_axis(&plot);
  clpi_plot_end(&plot);
}

static bool has_gap(const trace_span *windows, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (windows[i].hits + windows[i].misses == 0)
      return true;
  return false;
}

void clpi_report_write_hit_rate(FILE *file, const clpi_report *report)
{
  trace_span windows[WINDOWS];
  size_t count = trace_timeline_widen(&report->survey->timeline, WINDOWS, windows);
  clpi_report_begin_section(file, report, "hit-rate", "Hit rate over the trace");
  fputs("<ul class='legend'>\n"
        "<li><i class='hits'></i>allocations served without the device, step by step</li>\n"
        "<li><i class='so-far'></i>of all so far</li>\n"
        "</ul>\n",
        file);
  draw(file, report, windows, count);
  if (has_gap(windows, count))
    fputs("<p class='note'>Steps that are blank had no allocation that was served.</p>\n", file);
  fputs("</section>\n", file);
}
