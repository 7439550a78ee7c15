/* SPDX-License-Identifier: MIT */
/* The report's small charts: the memory of each of several pools, by name, on one scale. */
#include "report.h"
#include "report_plot.h"
#include "report_text.h"

#include <inttypes.h>
#include <stdbool.h>

enum { HEIGHT = 240, WINDOWS = 256 };

static double active(const trace_span *span)
{
  return (double)span->active_bytes.most;
}

static double managed(const trace_span *span)
{
  return (double)span->managed_bytes.most;
}

static size_t highest(const trace_survey *survey)
{
  size_t most = 1;
  for (size_t i = 0; i < survey->pool_count; i++)
    if (survey->pools[i]->peak_managed_bytes > most)
      most = survey->pools[i]->peak_managed_bytes;
  return most;
}

/* Its name, or else its context, and its kind of memory. */
static void write_name(FILE *file, const trace_surveyed_pool *pool)
{
  if (!pool->name)
    fprintf(file, "context %#" PRIx64, pool->context);
  else if (!*pool->name)
    fputs("pools without a name", file);
  else
    clpi_write_escaped(file, pool->name);
  if (pool->kind != TRACE_NO_KIND)
    fprintf(file, ", %s", trace_kind_name(pool->kind));
}

static void draw(FILE *file, const clpi_report *report, const trace_surveyed_pool *pool)
{
  trace_span windows[WINDOWS];
  clpi_plot plot = {.file = file,
                    .timeline = &pool->timeline,
                    .spans = windows,
                    .count = trace_timeline_widen(&pool->timeline, WINDOWS, windows),
                    .suffix = report->suffix,
                    .is_small = true,
                    .height = HEIGHT,
                    .most = (double)highest(report->survey)};
  clpi_plot_begin(&plot, "Memory of the pool over the trace");
  clpi_plot_level(&plot, 0.0, "");
  clpi_plot_area(&plot, "managed-least", managed);
  clpi_plot_area(&plot, "active-least", active);
  clpi_plot_line(&plot, "managed", managed);
  clpi_plot_end(&plot);
}

static void write_chart(FILE *file, const clpi_report *report, const trace_surveyed_pool *pool)
{
  fputs("<figure><figcaption><b>", file);
  write_name(file, pool);
  fprintf(file, "</b><br/><small>at most %s in use, %s managed</small></figcaption>\n",
          clpi_show_bytes(pool->peak_active_bytes).text,
          clpi_show_bytes(pool->peak_managed_bytes).text);
  draw(file, report, pool);
  fputs("</figure>\n", file);
}

void clpi_report_write_pools(FILE *file, const clpi_report *report)
{
  const trace_survey *survey = report->survey;
  if (survey->result.pools < 2)
    return;
  clpi_report_begin_section(file, report, "pools", "Memory by pool");
  fputs("<div class='charts'>\n", file);
  for (size_t i = 0; i < survey->pool_count; i++)
    write_chart(file, report, survey->pools[i]);
  fputs("</div>\n<p class='note'>One scale for all", file);
  if (survey->result.pools > survey->pool_count)
    fprintf(file, "; the first %zu of %s pools", survey->pool_count,
            clpi_show_grouped(survey->result.pools).text);
  fputs(".</p>\n</section>\n", file);
}
