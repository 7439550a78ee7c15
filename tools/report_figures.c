/* SPDX-License-Identifier: MIT */
/* The figures of a report. */
#include "report_figures.h"

#include <math.h>
#include <string.h>

static clpi_figure count_of(const char *key, const char *title, uint64_t count)
{
  return (clpi_figure){.key = key, .title = title, .kind = CLPI_FIGURE_COUNT, .count = count};
}

static clpi_figure bytes_of(const char *key, const char *title, uint64_t bytes)
{
  return (clpi_figure){.key = key, .title = title, .kind = CLPI_FIGURE_BYTES, .count = bytes};
}

static clpi_figure switch_of(const char *key, const char *title, bool is_on)
{
  return (clpi_figure){.key = key, .title = title, .kind = CLPI_FIGURE_SWITCH, .count = is_on};
}

static clpi_figure ratio_of(const char *key, const char *title, double ratio)
{
  return (clpi_figure){.key = key, .title = title, .kind = CLPI_FIGURE_RATIO, .ratio = ratio};
}

void clpi_report_figures(const clpi_report *report, clpi_figure figures[CLPI_FIGURES])
{
  const trace_survey *survey = report->survey;
  const trace_replay_result *result = &survey->result;
  const trace_peak *active = &survey->active_peak, *managed = &survey->managed_peak;
  uint64_t rows = trace_timeline_rows(&survey->timeline);
  uint64_t nanoseconds = rows > 0 ? trace_timeline_nanoseconds(&survey->timeline, rows) : 0;
  const clpi_figure list[] = {
      count_of("leading_bits", "Leading bits of a bin", report->leading_bits),
      switch_of("arena", "On an arena", report->on_arena),
      ratio_of("slack", "Slack of the arena", report->on_arena ? report->slack : (double)NAN),
      bytes_of("limit", "Limit of the pool (0: none)", result->limit_bytes),
      bytes_of("capacity", "Memory of the device (0: no bound)", report->capacity),
      ratio_of("scale", "Sizes times", report->scale),
      count_of("pools", "Pools, as in the trace", result->pools),
      count_of("allocations", "Allocations", result->allocations),
      count_of("frees", "Frees", result->frees),
      count_of("hits", "Served without the device", result->hits),
      count_of("misses", "Needed the device", result->misses),
      count_of("device_allocations", "Allocations on the device", result->device_allocations),
      count_of("device_frees", "Frees on the device", result->device_frees),
      count_of("failures", "Allocations refused", result->failures),
      count_of("recorded_failures", "Failures in the trace, skipped", result->recorded_failures),
      bytes_of("peak_active_bytes", "Most in use at once", result->peak_active_bytes),
      bytes_of("peak_managed_bytes", "Most managed at once", result->peak_managed_bytes),
      bytes_of("peak_device_bytes", "Most taken from the device", result->peak_device_bytes),
      ratio_of("footprint", "Footprint: taken over in use", result->footprint),
      count_of("events", "Events", rows),
      ratio_of("seconds", "Seconds from the first to the last", (double)nanoseconds / 1e9),
      count_of("peak_active_event", "Most in use at event", active->when.row),
      count_of("peak_managed_event", "Most managed at event", managed->when.row),
      bytes_of("active_bytes_at_peak", "In use then", managed->active_bytes),
      bytes_of("padding_bytes_at_peak", "Padding then", managed->padding_bytes),
      bytes_of("held_bytes_at_peak", "Held then", managed->held_bytes),
  };
  _Static_assert(sizeof(list) / sizeof(list[0]) == CLPI_FIGURES, "as many as promised");
  memcpy(figures, list, sizeof(list));
}
