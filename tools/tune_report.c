/* SPDX-License-Identifier: MIT */
/* The table of settings. */
#include "tune_report.h"

#include "core/base/printable.h"
#include "quantities.h"

#include <inttypes.h>
#include <stdio.h>

static void print_subject(const clpi_tune_report *report)
{
  const trace_replay_options *replay = &report->options->replay;
  clpi_print_escaped(stdout, report->trace);
  printf(" on %s", report->allocator);
  if (report->device_name) {
    fputs(" (", stdout);
    clpi_print_escaped(stdout, report->device_name);
    putchar(')');
  }
  if (report->capacity > 0)
    printf(" of %s", clpi_show_bytes(report->capacity).text);
  if (replay->scale < 1.0 || replay->scale > 1.0)
    printf(", sizes times %.10g", replay->scale);
  if (replay->passes > 1)
    printf(", %u times over, the last one timed", replay->passes);
  printf("\n%" PRIu64 " allocations and %" PRIu64 " frees, at most %s in use",
         report->asked.allocations, report->asked.frees,
         clpi_show_bytes(report->asked.peak_active_bytes).text);
  if (report->outcomes[0].result.pools > 1)
    printf("; %zu contexts, each with a pool", report->outcomes[0].result.pools);
  if (report->outcomes[0].result.limit_bytes > 0)
    printf("; a limit of %s", clpi_show_bytes(report->outcomes[0].result.limit_bytes).text);
  fputs("\ncosts: ", stdout);
  clpi_print_escaped(stdout, report->costs);
  fputs("\n\n", stdout);
}

static void print_setting(const trace_tune_setting *setting)
{
  if (setting->pooled)
    printf("%5u", setting->leading_bits);
  else
    printf("%5s", "none");
  if (setting->on_arena)
    printf("  %-5.4g", setting->slack);
  else
    printf("  %-5s", "no");
}

static void print_outcome(const clpi_tune_report *report, size_t i)
{
  const trace_tune_outcome *outcome = &report->outcomes[i];
  const trace_replay_result *result = &outcome->result;
  print_setting(&outcome->setting);
  printf(" %7.2f %% %9" PRIu64 " %7.2f %% %12s %12s %9.3f %9s", 100.0 * outcome->hit_rate,
         result->device_allocations, 100.0 * outcome->padding,
         clpi_show_bytes(result->peak_managed_bytes).text,
         clpi_show_bytes(result->peak_device_bytes).text, result->footprint,
         clpi_show_time(result->ns_per_operation).text);
  if (result->failures > 0)
    printf("  out of memory at event %" PRIu64 ", refused %" PRIu64, result->first_failure,
           result->failures);
  else if (i == report->best && i < report->candidates)
    printf("  <- recommended");
  else if (report->as_good[i])
    printf("  <- as good");
  puts("");
}

static void print_recommendation(const clpi_tune_report *report)
{
  clpi_tune_words reason = clpi_tune_reason(report);
  printf("\nobjective: %s\n", trace_objective_name(report->objective));
  if (report->best == report->candidates) {
    printf("nothing is recommended. %s\n", reason.text);
    return;
  }
  const trace_tune_setting *setting = &report->outcomes[report->best].setting;
  printf("recommended: %s\n%s\n", clpi_tune_setting_words(setting).text, reason.text);
  if (report->note)
    puts(report->note);
  printf("\n%s", clpi_tune_code(setting).text);
  if (setting->pooled)
    printf("To try it as it is, where pools are made with NULL for options: %s\n",
           clpi_tune_environment(setting).text);
  if (setting->on_arena)
    puts("On NVIDIA's OpenCL buffers, the figures are those of an arena with one_thread = true.");
}

void clpi_tune_report_print(const clpi_tune_report *report)
{
  print_subject(report);
  printf("%5s  %-5s %9s %9s %9s %12s %12s %9s %9s\n", "bits", "arena", "hit rate", "device",
         "padding", "peak", "peak", "foot-", "time per");
  printf("%5s  %-5s %9s %9s %9s %12s %12s %9s %9s\n", "", "slack", "", "allocs", "", "managed",
         "device", "print", "operation");
  for (size_t i = 0; i < report->count; i++)
    print_outcome(report, i);
  print_recommendation(report);
}
