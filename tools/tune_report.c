/* SPDX-License-Identifier: MIT */
/* The table of settings, the recommendation, and how to have it. */
#include "tune_report.h"

#include "core/base/printable.h"
#include "quantities.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static clpi_tune_words words(const char *format, ...) __attribute__((format(printf, 1, 2)));

static clpi_tune_words words(const char *format, ...)
{
  clpi_tune_words made;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(made.text, sizeof(made.text), format, arguments);
  va_end(arguments);
  return made;
}

/* --- what is recommended --- */

clpi_tune_words clpi_tune_reason(const clpi_tune_report *report)
{
  if (report->best < report->count)
    return words("the least memory within %u ns an operation of the quickest",
                 report->arguments->most_ns);
  if (report->allocations < CLPI_TUNE_ENOUGH)
    return words("%" PRIu64 " allocation%s too few to tell settings apart: record %d or more",
                 report->allocations, report->allocations > 1 ? "s are" : " is", CLPI_TUNE_ENOUGH);
  return words("every setting runs out of memory");
}

size_t clpi_tune_notes(const clpi_tune_report *report, clpi_tune_words notes[CLPI_TUNE_NOTES])
{
  const trace_tune_outcome *best = &report->outcomes[report->best];
  const uint64_t failed = report->outcomes[0].result.recorded_failures;
  size_t count = 0;
  if (report->best < report->count && best->pass_ns[0] > 2 * best->pass_ns[1])
    notes[count++] = words("%.0f %% of the first pass's time is warming up",
                           floor(100 * (1 - best->pass_ns[1] / best->pass_ns[0])));
  if (report->end_active_bytes > 0)
    notes[count++] = words("%s are never freed", clpi_show_bytes(report->end_active_bytes).text);
  if (failed > 0)
    notes[count++] = words("%" PRIu64 " allocation%s failed when recorded, and %s left out", failed,
                           failed > 1 ? "s" : "", failed > 1 ? "are" : "is");
  return count;
}

/* --- how to have it --- */

clpi_tune_words clpi_tune_code(const trace_tune_setting *setting)
{
  clpi_tune_words arena = {""};
  if (setting->on_arena)
    arena = words("clp_arena_options arena_options = CLP_ARENA_OPTIONS_INIT;\n"
                  "arena_options.slack = %g;\n"
                  "/* NVIDIA's OpenCL: set one_thread if one thread enqueues all work. */\n"
                  "clp_allocator *arena = NULL;\n"
                  "clp_arena_allocator_create(allocator, &arena_options, &arena);\n",
                  setting->slack);
  if (setting->any_bits)
    return words("%sclp_pool *pool = NULL;\nclp_pool_create(arena, NULL, &pool);\n", arena.text);
  return words("%sclp_pool_options options = CLP_POOL_OPTIONS_INIT;\n"
               "options.leading_bits_in_bin_id = %u;\n"
               "clp_pool *pool = NULL;\n"
               "clp_pool_create(%s, &options, &pool);\n",
               arena.text, setting->leading_bits, setting->on_arena ? "arena" : "allocator");
}

clpi_tune_words clpi_tune_python(const trace_tune_setting *setting)
{
  clpi_tune_words source = words("%s", "allocator");
  if (setting->on_arena)
    source = words("clpool.ArenaAllocator(allocator, slack=%g)", setting->slack);
  if (setting->any_bits)
    return words("clpool.MemoryPool(%s)", source.text);
  return words("clpool.MemoryPool(%s,\n                  leading_bits_in_bin_id=%u)", source.text,
               setting->leading_bits);
}

clpi_tune_words clpi_tune_environment(const trace_tune_setting *setting)
{
  clpi_tune_words bits = words("CLPOOL_LEADING_BITS=%u", setting->leading_bits);
  if (!setting->on_arena)
    return words("%s CLPOOL_ARENA=0", bits.text);
  return words("%s%sCLPOOL_ARENA=1 CLPOOL_ARENA_SLACK=%g", setting->any_bits ? "" : bits.text,
               setting->any_bits ? "" : " ", setting->slack);
}

/* --- the text --- */

static void print_subject(const clpi_tune_report *report)
{
  const clpi_arguments *arguments = report->arguments;
  if (arguments->trace_count > 1)
    printf("%zu traces", arguments->trace_count);
  else
    clpi_print_escaped(stdout, arguments->traces[0]);
  printf(": %" PRIu64 " allocation%s, at most %s in use", report->allocations,
         report->allocations > 1 ? "s" : "", clpi_show_bytes(report->peak_active_bytes).text);
  if (report->outcomes[0].result.pools > 1)
    printf(", %zu pools", report->outcomes[0].result.pools);
  if (arguments->replay.limit_bytes > 0)
    printf(", a limit of %s", clpi_show_bytes(arguments->replay.limit_bytes).text);
  fputs("\ncosts: ", stdout);
  clpi_print_escaped(stdout, report->costs.text);
  fputs("\n\n", stdout);
}

static void print_outcome(const clpi_tune_report *report, size_t i)
{
  const trace_tune_outcome *outcome = &report->outcomes[i];
  const trace_tune_setting *setting = &outcome->setting;
  const trace_replay_result *result = &outcome->result;
  const bool is_beaten = trace_tune_is_beaten(report->outcomes, report->count, i);
  clpi_tune_words bits = words("%u", setting->leading_bits), slack = words("%g", setting->slack);
  printf("%s %4s  %-6s %9.3f %11s %8" PRIu64 " %12.1f %11.1f",
         i == report->best ? "*"
         : is_beaten       ? " "
                           : "-",
         setting->any_bits ? "any" : bits.text, setting->on_arena ? slack.text : "no",
         result->footprint, clpi_show_bytes(result->peak_device_bytes).text,
         result->device_allocations, result->ns_per_operation, outcome->first_ns);
  if (report->arguments->trace_count > 1) {
    fputs("  ", stdout);
    clpi_print_escaped(stdout, outcome->worst);
  }
  putchar('\n');
  if (result->failures > 0)
    printf("        out of memory at event %" PRIu64 ", refused %" PRIu64 "\n",
           result->first_failure, result->failures);
}

static void print_table(const clpi_tune_report *report)
{
  static const char heading[] = "  %4s  %-6s %9s %11s %8s %12s %11s%s\n";
  bool is_several = report->arguments->trace_count > 1;
  printf(heading, "bits", "arena", "taken", "taken", "device", "ns an", "in the", "");
  printf(heading, "", "slack", "/ in use", "", "calls", "operation", "first pass",
         is_several ? "  taken by" : "");
  for (size_t i = 0; i < report->count; i++)
    print_outcome(report, i);
  printf("* recommended: the least memory within %u ns an operation of the quickest\n"
         "  (ties: fewer calls, then no arena, then fewer bits, then less slack)\n"
         "- nothing takes less memory and no more time, or less time and no more memory\n\n",
         report->arguments->most_ns);
}

static void print_best(const trace_tune_outcome *best)
{
  const trace_tune_setting *setting = &best->setting;
  printf("recommended: ");
  if (!setting->any_bits)
    printf("leading_bits_in_bin_id = %u, ", setting->leading_bits);
  if (setting->on_arena)
    printf("on an arena of slack %g\n", setting->slack);
  else
    puts("without an arena");
  printf("It takes %s, %.3f times the memory in use, and %.1f ns an operation.\n",
         clpi_show_bytes(best->result.peak_device_bytes).text, best->result.footprint,
         best->result.ns_per_operation);
}

static void print_ways(const trace_tune_setting *setting, const trace_tune_outcome *run)
{
  printf("\nIn C:\n\n%s", clpi_tune_code(setting).text);
  printf("\nIn Python:\n\n%s\n", clpi_tune_python(setting).text);
  printf("\nIn the environment, for pools whose options do not set these:\n\n%s ./program\n",
         clpi_tune_environment(setting).text);
  if (run)
    printf("\nFor a program that does not use clpool, which then takes %s:\n\n"
           "clpool run --leading-bits=%u ./program\n",
           clpi_show_bytes(run->result.peak_device_bytes).text, run->setting.leading_bits);
}

void clpi_tune_report_print(const clpi_tune_report *report)
{
  const trace_tune_outcome *best = &report->outcomes[report->best];
  clpi_tune_words notes[CLPI_TUNE_NOTES];
  print_subject(report);
  print_table(report);
  if (report->best < report->count)
    print_best(best);
  else
    printf("nothing is recommended:\n%s\n", clpi_tune_reason(report).text);
  size_t count = clpi_tune_notes(report, notes);
  for (size_t i = 0; i < count; i++)
    printf("note: %s\n", notes[i].text);
  if (report->best < report->count)
    print_ways(&best->setting, report->run);
}
