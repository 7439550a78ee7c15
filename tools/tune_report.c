/* SPDX-License-Identifier: MIT */
/* The table of settings, the recommendation, and how to have it; the same as one JSON object. */
#include "tune_report.h"

#include "core/base/printable.h"
#include "figures.h"
#include "json.h"
#include "replay_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is recommended --- */

static clpi_shown reason(const clpi_tune_report *report)
{
  if (report->best)
    return clpi_show("the least memory within %u ns per operation of the fastest",
                     report->arguments->most_ns);
  if (report->allocations < CLPI_TUNE_ENOUGH)
    return clpi_show("%" PRIu64 " allocation%s too few to tell settings apart: record %d or more",
                     report->allocations, report->allocations > 1 ? "s are" : " is",
                     CLPI_TUNE_ENOUGH);
  return clpi_show("every setting runs out of memory: try a larger --limit");
}

enum { MOST_NOTES = 3 };

static size_t list_notes(const clpi_tune_report *report, clpi_shown notes[MOST_NOTES])
{
  const trace_tune_outcome *best = report->best;
  const uint64_t failed = report->outcomes[0].result.recorded_failures;
  size_t count = 0;
  if (best && best->pass_ns[0] > 2 * best->pass_ns[1])
    notes[count++] = clpi_show("%.0f %% of the first pass's time is warm-up",
                               floor(100 * (1 - best->pass_ns[1] / best->pass_ns[0])));
  if (report->end_active_bytes > report->peak_active_bytes / 10)
    notes[count++] =
        clpi_show("%s are never freed", clpi_show_bytes(report->end_active_bytes).text);
  if (failed > 0)
    notes[count++] = clpi_show("%" PRIu64 " allocation%s failed in the recorded run and %s skipped",
                               failed, failed > 1 ? "s" : "", failed > 1 ? "were" : "was");
  return count;
}

/* --- how to have it --- */

static clpi_shown in_c(const clpi_tune_report *report)
{
  const trace_tune_setting *setting = &report->best->setting;
  clpi_shown arena = {""};
  if (setting->on_arena)
    arena = clpi_show("clp_arena_options arena_options = CLP_ARENA_OPTIONS_INIT;\n"
                      "arena_options.slack = %g;\n"
                      "/* NVIDIA's OpenCL: set one_thread if one thread enqueues all work. */\n"
                      "clp_allocator *arena = NULL;\n"
                      "clp_arena_allocator_create(allocator, &arena_options, &arena);\n",
                      setting->slack);
  if (setting->any_bits)
    return clpi_show("%sclp_pool *pool = NULL;\nclp_pool_create(arena, NULL, &pool);\n",
                     arena.text);
  return clpi_show("%sclp_pool_options options = CLP_POOL_OPTIONS_INIT;\n"
                   "options.leading_bits_in_bin_id = %u;\n"
                   "%s"
                   "clp_pool *pool = NULL;\n"
                   "clp_pool_create(%s, &options, &pool);\n",
                   arena.text, setting->leading_bits,
                   setting->on_arena ? "" : "options.arena = 0;\n",
                   setting->on_arena ? "arena" : "allocator");
}

static clpi_shown in_python(const clpi_tune_report *report)
{
  const trace_tune_setting *setting = &report->best->setting;
  const bool is_svm = report->arguments->choice.kind == CLPI_ALLOCATOR_CL_SVM;
  const char *pool = is_svm ? "SVMPool" : "MemoryPool";
  clpi_shown source = {"allocator, arena=False"};
  if (setting->on_arena)
    source = clpi_show("clpool.ArenaAllocator(allocator, slack=%g)", setting->slack);
  if (setting->any_bits)
    return clpi_show("clpool.%s(%s)", pool, source.text);
  return clpi_show("clpool.%s(%s,\n%*sleading_bits_in_bin_id=%u)", pool, source.text,
                   (int)strlen(pool) + 8, "", setting->leading_bits);
}

static clpi_shown in_environment(const clpi_tune_report *report)
{
  const trace_tune_setting *setting = &report->best->setting;
  clpi_shown bits = clpi_show("CLPOOL_LEADING_BITS=%u ", setting->leading_bits);
  if (!setting->on_arena)
    return clpi_show("%sCLPOOL_ARENA=0", bits.text);
  return clpi_show("%sCLPOOL_ARENA=1 CLPOOL_ARENA_SLACK=%g", setting->any_bits ? "" : bits.text,
                   setting->slack);
}

static const struct {
  const char *heading, *key; /* for people, and in JSON */
  clpi_shown (*say)(const clpi_tune_report *report);
  const char *end; /* for people */
} ways[] = {
    {"In C:", "code", in_c, ""},
    {"In Python:", "python", in_python, "\n"},
    {"In the environment, for options that the program leaves unset:", "environment",
     in_environment, " ./program\n"},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* --- for people --- */

static void print_subject(FILE *file, const clpi_tune_report *report)
{
  const clpi_arguments *arguments = report->arguments;
  if (arguments->trace_count > 1)
    fprintf(file, "%zu traces", arguments->trace_count);
  else
    clpi_print_escaped(file, arguments->traces[0]);
  fprintf(file, ": %" PRIu64 " allocation%s, at most %s in use", report->allocations,
          report->allocations > 1 ? "s" : "", clpi_show_bytes(report->peak_active_bytes).text);
  if (report->outcomes[0].result.pools > 1)
    fprintf(file, ", %zu pools", report->outcomes[0].result.pools);
  if (arguments->replay.limit_bytes > 0)
    fprintf(file, ", a limit of %s", clpi_show_bytes(arguments->replay.limit_bytes).text);
  fputs("\ncosts: ", file);
  clpi_print_escaped(file, report->costs);
  fputs("\n\n", file);
}

static char mark(const clpi_tune_report *report, size_t i)
{
  if (&report->outcomes[i] == report->best)
    return '*';
  return trace_tune_is_beaten(report->outcomes, report->count, i) ? ' ' : '-';
}

static void print_outcome(FILE *file, const clpi_tune_report *report, size_t i)
{
  const trace_tune_outcome *outcome = &report->outcomes[i];
  const trace_tune_setting *setting = &outcome->setting;
  const trace_replay_result *result = &outcome->result;
  const bool is_several = report->arguments->trace_count > 1;
  clpi_shown bits = clpi_show("%u", setting->leading_bits), slack = clpi_show("%g", setting->slack);
  fprintf(file, "%c %4s  %-6s %9.3f %11s %8" PRIu64 " %12.1f %11.1f%s", mark(report, i),
          setting->any_bits ? "any" : bits.text, setting->on_arena ? slack.text : "no",
          result->footprint, clpi_show_bytes(result->peak_device_bytes).text,
          result->device_allocations, result->ns_per_operation, outcome->first_ns,
          is_several ? "  " : "");
  clpi_print_escaped(file, is_several ? outcome->worst : "");
  fputc('\n', file);
  if (result->failures == 0)
    return;
  fprintf(file, "        out of memory at event %" PRIu64 "%s", result->first_failure,
          is_several ? " of " : "");
  clpi_print_escaped(file, is_several ? outcome->refused : "");
  fprintf(file, ", refused %" PRIu64 "\n", result->failures);
}

static void print_table(FILE *file, const clpi_tune_report *report)
{
  static const char heading[] = "  %4s  %-6s %9s %11s %8s %12s %11s%s\n";
  fprintf(file, heading, "bits", "arena", "taken", "taken", "device", "ns per", "in the", "");
  fprintf(file, heading, "", "slack", "/ in use", "", "calls", "operation", "first pass",
          report->arguments->trace_count > 1 ? "  taken by" : "");
  for (size_t i = 0; i < report->count; i++)
    print_outcome(file, report, i);
  fprintf(file,
          "* recommended: the least memory within %u ns per operation of the fastest\n"
          "  (ties: fewer calls, then no arena, then fewer bits, then less slack)\n"
          "- no other setting is better in memory or time without being worse in the other\n\n",
          report->arguments->most_ns);
}

static void print_best(FILE *file, const trace_tune_outcome *best)
{
  const trace_tune_setting *setting = &best->setting;
  fprintf(file, "recommended: ");
  if (!setting->any_bits)
    fprintf(file, "leading_bits_in_bin_id = %u, ", setting->leading_bits);
  if (setting->on_arena)
    fprintf(file, "on an arena of slack %g\n", setting->slack);
  else
    fputs("without an arena\n", file);
  fprintf(file, "It takes %s, %.3f times the memory in use, and %.1f ns per operation.\n",
          clpi_show_bytes(best->result.peak_device_bytes).text, best->result.footprint,
          best->result.ns_per_operation);
}

static void print_ways(FILE *file, const clpi_tune_report *report)
{
  for (size_t i = 0; i < WAYS; i++)
    fprintf(file, "\n%s\n\n%s%s", ways[i].heading, ways[i].say(report).text, ways[i].end);
}

static void print_run(FILE *file, const trace_tune_outcome *run, size_t limit_bytes)
{
  clpi_shown limit = clpi_show(" --limit=%zu", limit_bytes);
  fprintf(file,
          "\nFor a program that does not use clpool (it then takes %s):\n\n"
          "clpool run --leading-bits=%u%s ./program\n",
          clpi_show_bytes(run->result.peak_device_bytes).text, run->setting.leading_bits,
          limit_bytes ? limit.text : "");
}

void clpi_tune_report_print(FILE *file, const clpi_tune_report *report)
{
  clpi_shown notes[MOST_NOTES];
  print_subject(file, report);
  print_table(file, report);
  if (report->best)
    print_best(file, report->best);
  else
    fprintf(file, "nothing is recommended:\n%s\n", reason(report).text);
  const size_t count = list_notes(report, notes);
  for (size_t i = 0; i < count; i++)
    fprintf(file, "note: %s\n", notes[i].text);
  if (report->best)
    print_ways(file, report);
  if (report->run)
    print_run(file, report->run, report->arguments->replay.limit_bytes);
}

/* --- JSON --- */

static void write_subject(clpi_json *json, const clpi_tune_report *report)
{
  const clpi_arguments *arguments = report->arguments;
  clpi_json_begin(json, "traces", '[');
  for (size_t i = 0; i < arguments->trace_count; i++)
    clpi_json_string(json, NULL, arguments->traces[i]);
  clpi_json_end(json, ']');
  clpi_json_unsigned(json, "allocations", report->allocations);
  clpi_json_unsigned(json, "frees", report->frees);
  clpi_json_unsigned(json, "peak_active_bytes", report->peak_active_bytes);
  clpi_json_unsigned(json, "limit", arguments->replay.limit_bytes);
  clpi_json_unsigned(json, "time", arguments->most_ns);
  clpi_json_string(json, "costs", report->costs);
}

static void write_setting(clpi_json *json, const trace_tune_setting *setting)
{
  if (setting->any_bits)
    clpi_json_string(json, "leading_bits", NULL);
  else
    clpi_json_unsigned(json, "leading_bits", setting->leading_bits);
  clpi_json_bool(json, "arena", setting->on_arena);
  clpi_json_number(json, "slack", setting->on_arena ? setting->slack : NAN); /* NAN: null */
}

static void write_outcomes(clpi_json *json, const clpi_tune_report *report)
{
  clpi_json_begin(json, "settings", '[');
  for (size_t i = 0; i < report->count; i++) {
    const trace_tune_outcome *outcome = &report->outcomes[i];
    clpi_json_begin(json, NULL, '{');
    write_setting(json, &outcome->setting);
    clpi_json_string(json, "trace", outcome->worst);
    clpi_write_replay_figures(json, &outcome->result, 0);
    clpi_json_number(json, "first_pass_ns_per_operation", outcome->first_ns);
    clpi_json_bool(json, "beaten", trace_tune_is_beaten(report->outcomes, report->count, i));
    clpi_json_end(json, '}');
  }
  clpi_json_end(json, ']');
}

static void write_run(clpi_json *json, const trace_tune_outcome *run)
{
  if (!run) {
    clpi_json_string(json, "run", NULL);
    return;
  }
  clpi_json_begin(json, "run", '{');
  clpi_json_unsigned(json, "leading_bits", run->setting.leading_bits);
  clpi_json_unsigned(json, "peak_device_bytes", run->result.peak_device_bytes);
  clpi_json_end(json, '}');
}

static void write_best(clpi_json *json, const clpi_tune_report *report)
{
  if (!report->best) {
    clpi_json_string(json, "recommended", NULL);
    return;
  }
  clpi_json_begin(json, "recommended", '{');
  write_setting(json, &report->best->setting);
  for (size_t i = 0; i < WAYS; i++)
    clpi_json_string(json, ways[i].key, ways[i].say(report).text);
  clpi_json_end(json, '}');
}

/* What is printed for people, for programs that show it. */
static void write_text(clpi_json *json, const clpi_tune_report *report)
{
  char *text = NULL;
  size_t bytes = 0;
  FILE *file = open_memstream(&text, &bytes);
  if (file) {
    clpi_tune_report_print(file, report);
    fclose(file);
  }
  clpi_json_string(json, "text", text ? text : "");
  free(text);
}

void clpi_tune_report_json(const clpi_tune_report *report)
{
  clpi_shown notes[MOST_NOTES];
  clpi_json json = {.file = stdout};
  clpi_json_begin(&json, NULL, '{');
  write_subject(&json, report);
  write_outcomes(&json, report);
  clpi_json_string(&json, "reason", reason(report).text);
  clpi_json_begin(&json, "notes", '[');
  const size_t count = list_notes(report, notes);
  for (size_t i = 0; i < count; i++)
    clpi_json_string(&json, NULL, notes[i].text);
  clpi_json_end(&json, ']');
  write_run(&json, report->run);
  write_best(&json, report);
  write_text(&json, report);
  clpi_json_end(&json, '}');
}
