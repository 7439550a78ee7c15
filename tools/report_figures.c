/* SPDX-License-Identifier: MIT */
/* The figures of a report. */
#include "report.h"

#include <math.h>
#include <string.h>

void clpi_report_figures(const clpi_report *report, clpi_figure figures[CLPI_FIGURES])
{
  const trace_survey *survey = report->survey;
  const trace_replay_result *result = &survey->result;
  const trace_replay_options *replay = &report->arguments->replay;
  const trace_peak *active = &survey->active_peak, *managed = &survey->managed_peak;
  uint64_t rows = trace_timeline_rows(&survey->timeline);
  uint64_t nanoseconds = rows > 0 ? trace_timeline_nanoseconds(&survey->timeline, rows) : 0;
  unsigned bits = replay->pool_options.leading_bits_in_bin_id;
  double slack = replay->on_arena ? replay->arena_options.slack : (double)NAN;
  const clpi_figure list[] = {
      {"leading_bits", "Leading bits of a bin", CLPI_COUNT, bits, 0.0},
      {"arena", "On an arena", CLPI_SWITCH, replay->on_arena, 0.0},
      {"slack", "Slack of the arena", CLPI_RATIO, 0, slack},
      {"limit", "Limit of the pool (0: none)", CLPI_BYTES, result->limit_bytes, 0.0},
      {"pools", "Pools, as in the trace", CLPI_COUNT, result->pools, 0.0},
      {"allocations", "Allocations", CLPI_COUNT, result->allocations, 0.0},
      {"frees", "Frees", CLPI_COUNT, result->frees, 0.0},
      {"hits", "Served without the device", CLPI_COUNT, result->hits, 0.0},
      {"misses", "Needed the device", CLPI_COUNT, result->misses, 0.0},
      {"device_allocations", "Allocations on the device", CLPI_COUNT, result->device_allocations,
       0.0},
      {"device_frees", "Frees on the device", CLPI_COUNT, result->device_frees, 0.0},
      {"failures", "Allocations refused", CLPI_COUNT, result->failures, 0.0},
      {"recorded_failures", "Failures in the trace, skipped", CLPI_COUNT, result->recorded_failures,
       0.0},
      {"peak_active_bytes", "Most in use at once", CLPI_BYTES, result->peak_active_bytes, 0.0},
      {"peak_managed_bytes", "Most managed at once", CLPI_BYTES, result->peak_managed_bytes, 0.0},
      {"peak_device_bytes", "Most taken from the device", CLPI_BYTES, result->peak_device_bytes,
       0.0},
      {"footprint", "Footprint: taken over in use", CLPI_RATIO, 0, result->footprint},
      {"events", "Events", CLPI_COUNT, rows, 0.0},
      {"seconds", "Seconds from the first to the last", CLPI_RATIO, 0, (double)nanoseconds / 1e9},
      {"peak_active_event", "Most in use at event", CLPI_COUNT, active->when.row, 0.0},
      {"peak_managed_event", "Most managed at event", CLPI_COUNT, managed->when.row, 0.0},
      {"active_bytes_at_peak", "In use then", CLPI_BYTES, managed->active_bytes, 0.0},
      {"padding_bytes_at_peak", "Padding then", CLPI_BYTES, managed->padding_bytes, 0.0},
      {"held_bytes_at_peak", "Held then", CLPI_BYTES, managed->held_bytes, 0.0},
  };
  _Static_assert(sizeof(list) / sizeof(list[0]) == CLPI_FIGURES, "as many as promised");
  memcpy(figures, list, sizeof(list));
}
