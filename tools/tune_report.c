/* SPDX-License-Identifier: MIT */
/* The table of settings. */
#include "tune_report.h"

#include "core/base/printable.h"
#include "quantities.h"
#include "wrapped.h"

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
    printf("; %zu pools, as in the trace", report->outcomes[0].result.pools);
  if (report->outcomes[0].result.limit_bytes > 0)
    printf("; a limit of %s", clpi_show_bytes(report->outcomes[0].result.limit_bytes).text);
  fputs("\ncosts: ", stdout);
  clpi_print_escaped(stdout, report->costs);
  fputs("\n\n", stdout);
}

static void print_setting(const trace_tune_setting *setting)
{
  if (setting->carves)
    printf(" %4s", "any");
  else if (setting->pooled)
    printf(" %4u", setting->leading_bits);
  else
    printf(" %4s", "none");
  if (setting->on_arena)
    printf(" %-5.4g", setting->slack);
  else
    printf(" %-5s", "no");
}

static const char *mark_of(const clpi_tune_report *report, size_t i)
{
  bool is_best = i == report->best && i < report->candidates;
  return is_best ? "*" : report->as_good[i] ? "=" : " ";
}

static void print_outcome(const clpi_tune_report *report, size_t i)
{
  const trace_tune_outcome *outcome = &report->outcomes[i];
  const trace_replay_result *result = &outcome->result;
  fputs(mark_of(report, i), stdout);
  print_setting(&outcome->setting);
  printf(" %7.2f %9" PRIu64 " %7.2f %11s %11s %8.3f %8s\n", 100.0 * outcome->hit_rate,
         result->device_allocations, 100.0 * outcome->padding,
         clpi_show_bytes(result->peak_managed_bytes).text,
         clpi_show_bytes(result->peak_device_bytes).text, result->footprint,
         clpi_show_time(result->ns_per_operation).text);
  if (result->failures > 0)
    printf("            out of memory at event %" PRIu64 ", refused %" PRIu64 "\n",
           result->first_failure, result->failures);
}

static void print_table(const clpi_tune_report *report)
{
  static const char heading[] = "%6s %-5s %7s %9s %7s %11s %11s %8s %8s\n";
  bool has_ties = false;
  printf(heading, "bits", "arena", "hits", "device", "padding", "peak", "peak", "foot-",
         "time per");
  printf(heading, "", "slack", "%", "allocs", "%", "managed", "device", "print", "operat.");
  for (size_t i = 0; i < report->count; i++) {
    print_outcome(report, i);
    has_ties = has_ties || *mark_of(report, i) == '=';
  }
  if (report->best < report->candidates)
    printf("* recommended%s\n", has_ties ? "   = as good, as far as times can be told" : "");
}

/* How to have the setting. */
static void print_ways(const trace_tune_setting *setting)
{
  printf("\nIn C:\n\n%s", clpi_tune_code(setting).text);
  printf("\nIn Python:\n\n%s\n", clpi_tune_python(setting).text);
  if (setting->pooled)
    printf("\nIn the environment, where pools are made with NULL for options:\n\n%s\n",
           clpi_tune_environment(setting).text);
}

/* That has no arena, whatever is recommended. */
static void print_run(const clpi_tune_report *report)
{
  size_t best = trace_recommend(report->objective, report->outcomes, report->runnable, NULL);
  if (best < report->runnable)
    printf("\nFor the program as it is, without an arena:\n\n"
           "clpool run --leading-bits=%u PROGRAM\n",
           report->outcomes[best].setting.leading_bits);
}

static void print_recommendation(const clpi_tune_report *report)
{
  clpi_tune_words reason = clpi_tune_reason(report);
  printf("\nobjective: %s\n", trace_objective_name(report->objective));
  if (report->best == report->candidates) {
    puts("nothing is recommended");
    clpi_print_wrapped(reason.text, 0, 0);
    return;
  }
  const trace_tune_setting *setting = &report->outcomes[report->best].setting;
  printf("recommended: %s\n", clpi_tune_setting_words(setting).text);
  clpi_print_wrapped(reason.text, 0, 0);
  if (report->note)
    clpi_print_wrapped(report->note, 0, 0);
  print_ways(setting);
  print_run(report);
  if (setting->on_arena && !report->device_name)
    clpi_print_wrapped(
        "On CUDA's memory, take no arena: --allocator=cuda-async tells what suits it.", 0, 0);
}

void clpi_tune_report_print(const clpi_tune_report *report)
{
  print_subject(report);
  print_table(report);
  print_recommendation(report);
}
