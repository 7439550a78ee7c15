/* SPDX-License-Identifier: MIT */
/* A replay's figures: a column, or two that are compared, or JSON. */
#include "replay_report.h"

#include "core/base/printable.h"

#include <stdio.h>
#include <string.h>

enum { FIGURES = 21 };

/* `reserved` is the peak of the driver's memory pool. */
static void list_figures(const trace_replay_result *result, bool on_arena, uint64_t reserved,
                         clpi_figure figures[FIGURES])
{
  const char *hits =
      on_arena ? "  served from its segments (hits)" : "  served from held memory (hits)";
  const char *misses =
      on_arena ? "  needed a new segment (misses)" : "  served by the device (misses)";
  const uint64_t *kinds = result->kinds, skipped = result->recorded_failures;
  const uint64_t calls = result->device_allocations + result->device_frees;
  const uint64_t device_peak = result->peak_device_bytes;
  const double time = result->ns_per_operation;
  const clpi_figure_kind peak = reserved > 0 ? CLPI_BYTES : CLPI_SOME;
  const clpi_figure list[FIGURES] = {
      {"pools", NULL, CLPI_COUNT, {result->pools}},
      {"allocations", "allocations", CLPI_COUNT, {result->allocations}},
      {"buffer_allocations", "  of kind buffer", CLPI_SOME, {kinds[TRACE_BUFFER]}},
      {"image_allocations", "  of kind image", CLPI_SOME, {kinds[TRACE_IMAGE]}},
      {"svm_allocations", "  of kind svm", CLPI_SOME, {kinds[TRACE_SVM]}},
      {"other_allocations", "  of kind other", CLPI_SOME, {kinds[TRACE_OTHER_KIND]}},
      {"hits", hits, CLPI_COUNT, {result->hits}},
      {"misses", misses, CLPI_COUNT, {result->misses}},
      {"failures", "allocations refused", CLPI_COUNT, {result->failures}},
      {"first_failure_event", "  the first at event", CLPI_EVENT, {result->first_failure}},
      {"recorded_failures", "failures in the trace, skipped", CLPI_COUNT, {skipped}},
      {"frees", NULL, CLPI_COUNT, {result->frees}},
      {"device_allocations", NULL, CLPI_COUNT, {result->device_allocations}},
      {"device_frees", NULL, CLPI_COUNT, {result->device_frees}},
      {NULL, "calls to the device", CLPI_COUNT, {calls}},
      {"ns_per_operation", "time per allocation or free", CLPI_TIME, {.ratio = time}},
      {"peak_active_bytes", "peak memory in use", CLPI_BYTES, {result->peak_active_bytes}},
      {"peak_managed_bytes", NULL, CLPI_BYTES, {result->peak_managed_bytes}},
      {"peak_device_bytes", "peak memory taken from the device", CLPI_BYTES, {device_peak}},
      {"peak_reserved_bytes", "peak taken by the driver's own pool", peak, {reserved}},
      {"footprint", "footprint (taken / in use)", CLPI_RATIO, {.ratio = result->footprint}},
  };
  memcpy(figures, list, sizeof(list));
}

/* --- for people --- */

static void print_subject(const clpi_replay_report *report)
{
  const trace_replay_options *replay = &report->arguments->replay;
  clpi_print_escaped(stdout, report->arguments->traces[0]);
  printf(" on %s%s", replay->on_arena ? "an arena of " : "", report->allocator);
  if (*report->device_name) {
    fputs(" (", stdout);
    clpi_print_escaped(stdout, report->device_name);
    putchar(')');
  }
  if (replay->scale < 1.0 || replay->scale > 1.0)
    printf(", sizes scaled by %.10g", replay->scale);
  if (replay->passes > 1)
    printf(", %u passes, the last one timed", replay->passes);
  puts("");
}

static void print_pools(const clpi_replay_report *report)
{
  const clpi_arguments *arguments = report->arguments;
  const trace_replay_result *result = &report->results[0];
  bool carves = arguments->replay.on_arena && clpi_allocators[arguments->choice.kind].has_addresses;
  bool is_several = result->pools > 1;
  if (arguments->is_bare)
    printf("without a pool");
  else if (is_several)
    printf("with %zu pools, as in the trace", result->pools);
  else
    printf("with a pool");
  if (!arguments->is_bare && !carves)
    printf("%s of %u leading bits", is_several ? "," : "",
           arguments->replay.pool_options.leading_bits_in_bin_id);
  if (result->limit_bytes > 0)
    printf(" and a limit of %s", clpi_show_bytes(result->limit_bytes).text);
  puts("\n");
}

/* A row without a title, or of zeros alone, is left out. */
static void print_row(const clpi_figure *one, const clpi_figure *other)
{
  const double value = clpi_figure_value(one), compared = other ? clpi_figure_value(other) : 0.0;
  if (!one->title || (value <= 0.0 && compared <= 0.0))
    return;
  printf("  %-36s %12s", one->title, clpi_show_figure(one).text);
  if (other)
    printf(" %12s", clpi_show_figure(other).text);
  if (other && value > 0.0)
    printf(" %14.2f", compared / value);
  puts("");
}

void clpi_print_replay(const clpi_replay_report *report)
{
  clpi_figure figures[FIGURES], others[FIGURES];
  const bool compares = report->arguments->compares, on_arena = report->arguments->replay.on_arena;
  list_figures(&report->results[0], on_arena, report->peak_reserved_bytes, figures);
  list_figures(&report->results[1], on_arena, 0, others);
  print_subject(report);
  print_pools(report);
  if (compares)
    printf("  %-36s %12s %12s %14s\n", "", "with pool", "without", "without / with");
  for (size_t i = 0; i < FIGURES; i++)
    print_row(&figures[i], compares ? &others[i] : NULL);
  if (compares && report->arguments->choice.kind == CLPI_ALLOCATOR_SIMULATED)
    puts("\nnote: the simulated device takes no time; choose a real one with --allocator");
}

/* --- JSON --- */

void clpi_write_replay_figures(clpi_json *json, const trace_replay_result *result,
                               uint64_t reserved)
{
  clpi_figure figures[FIGURES];
  list_figures(result, false, reserved, figures);
  clpi_write_figures(json, figures, FIGURES);
}

static void write_result(clpi_json *json, const char *key, const clpi_replay_report *report,
                         const trace_replay_result *result, bool pooled)
{
  const trace_replay_options *replay = &report->arguments->replay;
  clpi_json_begin(json, key, '{');
  clpi_json_string(json, "trace", report->arguments->traces[0]);
  clpi_json_string(json, "allocator", report->allocator);
  clpi_json_string(json, "device", *report->device_name ? report->device_name : NULL);
  clpi_json_bool(json, "pooled", pooled);
  if (pooled) {
    clpi_json_unsigned(json, "leading_bits", replay->pool_options.leading_bits_in_bin_id);
    clpi_json_unsigned(json, "limit", result->limit_bytes);
  }
  clpi_json_number(json, "scale", replay->scale);
  clpi_json_bool(json, "arena", replay->on_arena);
  if (replay->on_arena)
    clpi_json_number(json, "slack", replay->arena_options.slack);
  clpi_json_unsigned(json, "passes", replay->passes);
  clpi_write_replay_figures(json, result, report->peak_reserved_bytes);
  clpi_json_end(json, '}');
}

void clpi_print_replay_json(const clpi_replay_report *report)
{
  const bool compares = report->arguments->compares, is_bare = report->arguments->is_bare;
  clpi_json json = {.file = stdout};
  if (compares)
    clpi_json_begin(&json, NULL, '{');
  write_result(&json, compares ? "pooled" : NULL, report, &report->results[0], !is_bare);
  if (compares) {
    write_result(&json, "bare", report, &report->results[1], false);
    clpi_json_end(&json, '}');
  }
}
