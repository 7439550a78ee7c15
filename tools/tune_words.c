/* SPDX-License-Identifier: MIT */
/* The recommendation in words, in C and Python, and as variables of the environment. */
#include "quantities.h"
#include "tune_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool has_default_slack(double slack)
{
  const clp_arena_options defaults = TRACE_ARENA_OPTIONS_INIT;
  return slack <= defaults.slack && slack >= defaults.slack;
}

clpi_tune_words clpi_tune_setting_words(const trace_tune_setting *setting)
{
  clpi_tune_words words;
  char *text = words.text;
  size_t room = sizeof(words.text);
  int length = setting->pooled && !setting->carves
                   ? snprintf(text, room, "leading_bits_in_bin_id = %u", setting->leading_bits)
                   : snprintf(text, room, setting->pooled ? "a pool" : "no pool");
  const char *comma = setting->carves ? "" : ",";
  text += length;
  room -= (size_t)length;
  if (!setting->on_arena)
    snprintf(text, room, ", without an arena");
  else if (has_default_slack(setting->slack))
    snprintf(text, room, "%s on an arena", comma);
  else
    snprintf(text, room, "%s on an arena of slack %.10g", comma, setting->slack);
  return words;
}

/* What a program has that never heard of tuning: the defaults. NULL: they were not tried. */
static const trace_tune_outcome *find_default(const clpi_tune_report *report)
{
  const clp_pool_options defaults = TRACE_POOL_OPTIONS_INIT;
  for (size_t i = 0; i < report->candidates; i++) {
    const trace_tune_setting *setting = &report->outcomes[i].setting;
    if (setting->pooled && setting->leading_bits == defaults.leading_bits_in_bin_id &&
        !setting->on_arena)
      return &report->outcomes[i];
  }
  return NULL;
}

static const char *praise(trace_objective objective)
{
  switch (objective) {
  case TRACE_OBJECTIVE_TIME:
    return "waits least for its memory";
  case TRACE_OBJECTIVE_MEMORY:
    return "takes the least memory from the device";
  default:
    return "has the least product of time and memory";
  }
}

/* "1.05 times the memory in use and 2.31 us an operation" */
typedef struct setting_figures {
  char text[128];
} setting_figures;

static setting_figures figures(const trace_tune_outcome *outcome)
{
  setting_figures words;
  snprintf(words.text, sizeof(words.text), "%.3f times the memory in use and %s an operation",
           outcome->result.footprint, clpi_show_time(outcome->result.ns_per_operation).text);
  return words;
}

/* Those without a pool come last. */
static clpi_tune_words no_reason(const clpi_tune_report *report)
{
  clpi_tune_words words;
  uint64_t last = 0;
  for (size_t i = 0; i < report->candidates; i++)
    if (report->outcomes[i].result.first_failure > last)
      last = report->outcomes[i].result.first_failure;
  snprintf(words.text, sizeof(words.text),
           "Every setting%s runs out of memory, the last at event %" PRIu64 " of the trace.",
           report->outcomes[report->candidates - 1].setting.pooled ? " with a pool" : "", last);
  return words;
}

static size_t count_others_as_good(const clpi_tune_report *report)
{
  size_t count = 0;
  for (size_t i = 0; i < report->candidates; i++)
    count += i != report->best && report->as_good[i];
  return count;
}

/* Times are measured in part, so what is nearly the same may be the other way round next time. */
static void append_ties(const clpi_tune_report *report, clpi_tune_words *words)
{
  size_t length = strlen(words->text), others = count_others_as_good(report);
  if (others > 0)
    snprintf(words->text + length, sizeof(words->text) - length,
             " %zu other%s as good, as far as times can be told; of these it takes the least "
             "memory.",
             others, others > 1 ? "s are" : " is");
}

clpi_tune_words clpi_tune_reason(const clpi_tune_report *report)
{
  if (report->best == report->candidates)
    return no_reason(report);
  const trace_tune_outcome *best = &report->outcomes[report->best];
  const trace_tune_outcome *usual = find_default(report);
  clpi_tune_words words;
  int length = snprintf(words.text, sizeof(words.text), "Of %zu settings it %s: %s",
                        report->candidates, praise(report->objective), figures(best).text);
  size_t room = sizeof(words.text) - (size_t)length;
  if (usual == best)
    snprintf(words.text + length, room, ". It is the default.");
  else if (usual && usual->result.failures > 0)
    snprintf(words.text + length, room, "; the default runs out of memory at event %" PRIu64 ".",
             usual->result.first_failure);
  else if (usual)
    snprintf(words.text + length, room, "; the default: %s.", figures(usual).text);
  else
    snprintf(words.text + length, room, ".");
  append_ties(report, &words);
  return words;
}

/* What holds for every arena that was tried is said where it is made. */
static int arena_code(char *text, size_t room, double slack)
{
  return snprintf(text, room,
                  "clp_arena_options arena_options = CLP_ARENA_OPTIONS_INIT;\n"
                  "arena_options.slack = %.10g;\n"
                  "/* The figures on NVIDIA's OpenCL buffers need one_thread = true. */\n"
                  "arena_options.one_thread = false;\n"
                  "clp_allocator *arena = NULL;\n"
                  "clp_arena_allocator_create(allocator, &arena_options, &arena);\n",
                  slack);
}

clpi_tune_words clpi_tune_code(const trace_tune_setting *setting)
{
  clpi_tune_words words;
  int length = setting->on_arena ? arena_code(words.text, sizeof(words.text), setting->slack) : 0;
  char *text = words.text + length;
  size_t room = sizeof(words.text) - (size_t)length;
  const char *source = setting->on_arena ? "arena" : "allocator";
  if (setting->carves)
    snprintf(text, room, "clp_pool *pool = NULL;\nclp_pool_create(%s, NULL, &pool);\n", source);
  else if (setting->pooled)
    snprintf(text, room,
             "clp_pool_options options = CLP_POOL_OPTIONS_INIT;\n"
             "options.leading_bits_in_bin_id = %u;\n"
             "clp_pool *pool = NULL;\n"
             "clp_pool_create(%s, &options, &pool);\n",
             setting->leading_bits, source);
  else
    snprintf(text, room,
             "clp_memory memory = 0;\n"
             "clp_allocator_allocate(%s, bytes, &memory);\n",
             source);
  return words;
}

clpi_tune_words clpi_tune_python(const trace_tune_setting *setting)
{
  clpi_tune_words words;
  char source[80] = "allocator";
  if (setting->on_arena)
    snprintf(source, sizeof(source), "clpool.ArenaAllocator(allocator, slack=%.10g)",
             setting->slack);
  if (setting->carves)
    snprintf(words.text, sizeof(words.text), "clpool.MemoryPool(%s)", source);
  else if (setting->pooled)
    snprintf(words.text, sizeof(words.text),
             "clpool.MemoryPool(%s,\n                  leading_bits_in_bin_id=%u)", source,
             setting->leading_bits);
  else
    snprintf(words.text, sizeof(words.text), "%s", source);
  return words;
}

clpi_tune_words clpi_tune_environment(const trace_tune_setting *setting)
{
  clpi_tune_words words = {""};
  if (!setting->pooled)
    return words;
  char *text = words.text;
  size_t room = sizeof(words.text);
  int length = 0;
  if (!setting->carves)
    length = snprintf(text, room, "CLPOOL_LEADING_BITS=%u", setting->leading_bits);
  if (setting->on_arena)
    length += snprintf(text + length, room - (size_t)length, "%sCLPOOL_ARENA=1", length ? " " : "");
  if (setting->on_arena && !has_default_slack(setting->slack))
    snprintf(text + length, room - (size_t)length, " CLPOOL_ARENA_SLACK=%.10g", setting->slack);
  return words;
}
