/* SPDX-License-Identifier: MIT */
/* Tables of a replay's figures: one column, or two that are compared. */
#include "replay_report.h"

#include "core/base/printable.h"
#include "json.h"
#include "quantities.h"

#include <inttypes.h>
#include <stdio.h>

static void print_subject(const clpi_replay_subject *subject)
{
  clpi_print_escaped(stdout, subject->trace);
  printf(" on %s%s", subject->on_arena ? "an arena of " : "", subject->allocator);
  if (*subject->device_name) {
    fputs(" (", stdout);
    clpi_print_escaped(stdout, subject->device_name);
    putchar(')');
  }
  if (subject->reserve_bytes > 0)
    printf(", %s reserved", clpi_show_bytes(subject->reserve_bytes).text);
  if (subject->scale < 1.0 || subject->scale > 1.0)
    printf(", sizes times %.10g", subject->scale);
  if (subject->passes > 1)
    printf(", %u times over, the last one timed", subject->passes);
  puts("");
}

static void print_pools(const clpi_replay_subject *subject, const trace_replay_result *result)
{
  if (result->pools > 1)
    printf("%zu pools, as in the trace", result->pools);
  else
    printf("a pool");
  if (!subject->carves)
    printf("%s of %u leading bits", result->pools > 1 ? "," : "", subject->leading_bits);
}

static uint64_t device_calls(const trace_replay_result *result)
{
  return result->device_allocations + result->device_frees;
}

static void print_row(const char *label, clpi_shown value)
{
  printf("  %-36s %12s\n", label, value.text);
}

/* Where the trace has kinds. */
static void print_kinds(const trace_replay_result *result)
{
  char label[32];
  for (trace_kind kind = TRACE_NO_KIND + 1; kind < TRACE_KINDS; kind++) {
    snprintf(label, sizeof(label), "  of kind %s", trace_kind_name(kind));
    if (result->kinds[kind] > 0)
      print_row(label, clpi_show_count(result->kinds[kind]));
  }
}

static void print_failures(const trace_replay_result *result)
{
  if (result->failures > 0)
    print_row("allocations refused", clpi_show_count(result->failures));
  if (result->failures > 0)
    print_row("  the first at event", clpi_show_count(result->first_failure));
  if (result->recorded_failures > 0)
    print_row("failures in the trace, skipped", clpi_show_count(result->recorded_failures));
}

void clpi_report_replay(const clpi_replay_subject *subject, const trace_replay_result *result,
                        bool pooled)
{
  print_subject(subject);
  printf(pooled ? "with " : "without a pool");
  if (pooled)
    print_pools(subject, result);
  if (result->limit_bytes > 0)
    printf(" and a limit of %s", clpi_show_bytes(result->limit_bytes).text);
  puts("\n");
  print_row("allocations", clpi_show_count(result->allocations));
  print_kinds(result);
  if (pooled)
    print_row(subject->on_arena ? "  served from its segments (hits)"
                                : "  served from held memory (hits)",
              clpi_show_count(result->hits));
  if (pooled)
    print_row(subject->on_arena ? "  needed a new segment (misses)"
                                : "  served by the device (misses)",
              clpi_show_count(result->misses));
  print_failures(result);
  print_row("calls to the device", clpi_show_count(device_calls(result)));
  print_row("time per allocation or free", clpi_show_time(result->ns_per_operation));
  print_row("peak memory in use", clpi_show_bytes(result->peak_active_bytes));
  print_row("peak memory taken from the device", clpi_show_bytes(result->peak_device_bytes));
  print_row("footprint (taken / in use)", clpi_show_ratio(result->footprint));
  if (subject->peak_reserved_bytes > 0)
    print_row("peak taken by the driver's own pool", clpi_show_bytes(subject->peak_reserved_bytes));
}

static void print_pair(const char *label, clpi_shown pooled, clpi_shown bare, double pooled_value,
                       double bare_value)
{
  printf("  %-36s %12s %12s", label, pooled.text, bare.text);
  if (pooled_value > 0.0)
    printf(" %14.2f", bare_value / pooled_value);
  puts("");
}

void clpi_report_comparison(const clpi_replay_subject *subject, const trace_replay_result *pooled,
                            const trace_replay_result *bare)
{
  print_subject(subject);
  printf("%" PRIu64 " allocations and %" PRIu64 " frees", pooled->allocations, pooled->frees);
  printf("; ");
  print_pools(subject, pooled);
  if (pooled->limit_bytes > 0)
    printf(" and a limit of %s", clpi_show_bytes(pooled->limit_bytes).text);
  printf("\n\n  %-36s %12s %12s %14s\n", "", "with pool", "without", "without / with");
  print_pair("time per allocation or free", clpi_show_time(pooled->ns_per_operation),
             clpi_show_time(bare->ns_per_operation), pooled->ns_per_operation,
             bare->ns_per_operation);
  print_pair("calls to the device", clpi_show_count(device_calls(pooled)),
             clpi_show_count(device_calls(bare)), (double)device_calls(pooled),
             (double)device_calls(bare));
  print_pair("peak memory taken from the device", clpi_show_bytes(pooled->peak_device_bytes),
             clpi_show_bytes(bare->peak_device_bytes), (double)pooled->peak_device_bytes,
             (double)bare->peak_device_bytes);
  print_pair("footprint (taken / in use)", clpi_show_ratio(pooled->footprint),
             clpi_show_ratio(bare->footprint), pooled->footprint, bare->footprint);
  if (pooled->failures + bare->failures > 0)
    print_pair("allocations refused", clpi_show_count(pooled->failures),
               clpi_show_count(bare->failures), (double)pooled->failures, (double)bare->failures);
  if (subject->is_simulated)
    puts("\nnote: the simulated device's calls cost nothing; --allocator asks a real one");
}

void clpi_write_replay_figures(clpi_json *json, const trace_replay_result *result)
{
  char key[32];
  clpi_json_unsigned(json, "pools", result->pools);
  clpi_json_unsigned(json, "allocations", result->allocations);
  for (trace_kind kind = TRACE_NO_KIND + 1; kind < TRACE_KINDS; kind++) {
    snprintf(key, sizeof(key), "%s_allocations", trace_kind_name(kind));
    if (result->kinds[kind] > 0)
      clpi_json_unsigned(json, key, result->kinds[kind]);
  }
  clpi_json_unsigned(json, "frees", result->frees);
  clpi_json_unsigned(json, "hits", result->hits);
  clpi_json_unsigned(json, "misses", result->misses);
  clpi_json_unsigned(json, "device_allocations", result->device_allocations);
  clpi_json_unsigned(json, "device_frees", result->device_frees);
  clpi_json_unsigned(json, "failures", result->failures);
  if (result->failures > 0)
    clpi_json_unsigned(json, "first_failure_event", result->first_failure);
  else
    clpi_json_null(json, "first_failure_event");
  clpi_json_unsigned(json, "recorded_failures", result->recorded_failures);
  clpi_json_unsigned(json, "peak_active_bytes", result->peak_active_bytes);
  clpi_json_unsigned(json, "peak_managed_bytes", result->peak_managed_bytes);
  clpi_json_unsigned(json, "peak_device_bytes", result->peak_device_bytes);
  clpi_json_number(json, "footprint", result->footprint);
  clpi_json_number(json, "ns_per_operation", result->ns_per_operation);
}

static void write_result(clpi_json *json, const char *key, const clpi_replay_subject *subject,
                         const trace_replay_result *result, bool pooled)
{
  clpi_json_begin_object(json, key);
  clpi_json_string(json, "trace", subject->trace);
  clpi_json_string(json, "allocator", subject->allocator);
  clpi_json_string(json, "device", *subject->device_name ? subject->device_name : NULL);
  clpi_json_bool(json, "pooled", pooled);
  if (pooled) {
    clpi_json_unsigned(json, "leading_bits", subject->leading_bits);
    clpi_json_unsigned(json, "limit", result->limit_bytes);
  }
  clpi_json_number(json, "scale", subject->scale);
  clpi_json_bool(json, "arena", subject->on_arena);
  if (subject->on_arena)
    clpi_json_number(json, "slack", subject->slack);
  if (subject->reserve_bytes > 0)
    clpi_json_unsigned(json, "reserve_bytes", subject->reserve_bytes);
  clpi_json_unsigned(json, "passes", subject->passes);
  clpi_write_replay_figures(json, result);
  if (subject->peak_reserved_bytes > 0)
    clpi_json_unsigned(json, "peak_reserved_bytes", subject->peak_reserved_bytes);
  clpi_json_end_object(json);
}

void clpi_report_replay_json(const clpi_replay_subject *subject, const trace_replay_result *result,
                             bool pooled)
{
  clpi_json json = clpi_json_start(stdout);
  write_result(&json, NULL, subject, result, pooled);
  clpi_json_finish(&json);
}

void clpi_report_comparison_json(const clpi_replay_subject *subject,
                                 const trace_replay_result *pooled, const trace_replay_result *bare)
{
  clpi_json json = clpi_json_start(stdout);
  clpi_json_begin_object(&json, NULL);
  write_result(&json, "pooled", subject, pooled, true);
  write_result(&json, "bare", subject, bare, false);
  clpi_json_end_object(&json);
  clpi_json_finish(&json);
}
