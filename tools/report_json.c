/* SPDX-License-Identifier: MIT */
/* The report as JSON: the figures, every bin at the peak, the largest allocations. */
#include "report.h"

#include <clpool/bin.h>

static void write_bins(clpi_json *json, const clpi_report *report)
{
  const trace_bin_census *census = &report->survey->bins;
  clpi_json_begin_array(json, "bins");
  for (size_t i = 0; i < census->count; i++) {
    const trace_bin_record *bin = &census->bins[i];
    trace_bin_count count = trace_bin_at_peak(census, bin);
    clpi_json_begin_object(json, NULL);
    clpi_json_unsigned(json, "bin",
                       clp_bin_number(report->arguments->replay.pool_options.leading_bits_in_bin_id,
                                      bin->block_bytes));
    clpi_json_unsigned(json, "block_bytes", bin->block_bytes);
    clpi_json_unsigned(json, "hits", bin->hits);
    clpi_json_unsigned(json, "misses", bin->misses);
    clpi_json_unsigned(json, "active_blocks_at_peak", count.active_blocks);
    clpi_json_unsigned(json, "held_blocks_at_peak", count.blocks - count.active_blocks);
    clpi_json_unsigned(json, "held_bytes_at_peak", trace_bin_held_bytes(bin, count));
    clpi_json_unsigned(json, "padding_bytes_at_peak", trace_bin_padding_bytes(bin, count));
    clpi_json_end_object(json);
  }
  clpi_json_end_array(json);
}

/* null: unknown. */
static void write_kind(clpi_json *json, trace_kind kind)
{
  clpi_json_string(json, "kind", kind == TRACE_NO_KIND ? NULL : trace_kind_name(kind));
}

static void write_kinds(clpi_json *json, const trace_survey *survey)
{
  clpi_json_begin_array(json, "by_kind");
  for (trace_kind kind = 0; kind < TRACE_KINDS; kind++) {
    const trace_surveyed_kind *figures = &survey->kinds[kind];
    if (figures->allocations == 0)
      continue;
    clpi_json_begin_object(json, NULL);
    write_kind(json, kind);
    clpi_json_unsigned(json, "allocations", figures->allocations);
    clpi_json_unsigned(json, "peak_active_bytes", figures->peak_active_bytes);
    clpi_json_unsigned(json, "active_bytes_at_peak", figures->active_bytes_at_peak);
    clpi_json_unsigned(json, "active_bytes_at_end", figures->active_bytes);
    clpi_json_end_object(json);
  }
  clpi_json_end_array(json);
}

/* The lines of a stack, innermost first; null: unknown. */
static void write_from(clpi_json *json, const trace_stacks *stacks, uint64_t stack)
{
  const char *texts[CLPI_REPORT_LINES];
  size_t count =
      stacks && stack ? trace_stacks_describe(stacks, stack, texts, CLPI_REPORT_LINES) : 0;
  if (count == 0) {
    clpi_json_null(json, "from");
    return;
  }
  clpi_json_begin_array(json, "from");
  for (size_t i = 0; i < count; i++)
    clpi_json_string(json, NULL, texts[i]);
  clpi_json_end_array(json);
}

static void write_largest(clpi_json *json, const clpi_report *report)
{
  const trace_largest *largest = &report->survey->largest;
  clpi_json_begin_array(json, "largest");
  for (size_t i = 0; i < largest->count; i++) {
    const trace_large_group *group = &largest->groups[i];
    clpi_json_begin_object(json, NULL);
    clpi_json_unsigned(json, "bytes", group->kind.bytes);
    clpi_json_unsigned(json, "times", group->times);
    clpi_json_unsigned(json, "bin",
                       clp_bin_number(report->arguments->replay.pool_options.leading_bits_in_bin_id,
                                      group->kind.bytes));
    clpi_json_unsigned(json, "block_bytes", group->block_bytes);
    clpi_json_unsigned(json, "first_event", group->first.row);
    clpi_json_number(json, "first_seconds", (double)group->first.nanoseconds / 1e9);
    clpi_json_unsigned(json, "longest_life_events", group->most_rows);
    clpi_json_number(json, "longest_life_seconds", (double)group->most_nanoseconds / 1e9);
    clpi_json_unsigned(json, "never_freed", group->kept);
    clpi_json_unsigned(json, "thread", group->kind.thread);
    clpi_json_unsigned(json, "stream", group->kind.stream);
    write_kind(json, group->kind.memory);
    write_from(json, report->survey->stacks, group->kind.stack);
    clpi_json_end_object(json);
  }
  clpi_json_end_array(json);
}

static void write_pools(clpi_json *json, const clpi_report *report)
{
  clpi_json_begin_array(json, "by_pool");
  for (size_t i = 0; i < report->survey->pool_count; i++) {
    const trace_surveyed_pool *pool = &report->survey->pools[i];
    clpi_json_begin_object(json, NULL);
    clpi_json_string(json, "name", pool->name);
    write_kind(json, pool->kind);
    clpi_json_unsigned(json, "peak_active_bytes", pool->peak_active_bytes);
    clpi_json_unsigned(json, "peak_managed_bytes", pool->peak_managed_bytes);
    clpi_json_end_object(json);
  }
  clpi_json_end_array(json);
}

void clpi_report_write_json(FILE *file, const clpi_report *report)
{
  clpi_figure figures[CLPI_FIGURES];
  clpi_json json = clpi_json_start(file);
  clpi_report_figures(report, figures);
  clpi_json_begin_object(&json, NULL);
  clpi_json_string(&json, "trace", report->trace);
  clpi_json_string(&json, "allocator", "simulated");
  clpi_write_figures(&json, figures, CLPI_FIGURES);
  write_pools(&json, report);
  write_kinds(&json, report->survey);
  write_bins(&json, report);
  write_largest(&json, report);
  clpi_json_end_object(&json);
  clpi_json_finish(&json);
}
