/* SPDX-License-Identifier: MIT */
/* What the study came to, as tables, JSON, or columns. */
#include "tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What a value came to for a group of traces. */
typedef struct summary {
  double footprint; /* geometric mean, and so is requests */
  double requests;  /* for each that is taken from the device */
  double worst;     /* footprint */
  const char *worst_name;
} summary;

static summary sum_up(const study_results *results, size_t value, study_group group)
{
  summary all = {.worst_name = ""};
  double count = 0;
  for (size_t i = 0; i < results->traces->count; i++) {
    const study_outcome *outcome = &results->outcomes[value][i];
    if (results->traces->list[i].group != group)
      continue;
    count++;
    all.footprint += log(outcome->footprint);
    all.requests += log((double)outcome->allocations / (double)outcome->taken);
    if (outcome->footprint > all.worst) {
      all.worst = outcome->footprint;
      all.worst_name = results->traces->list[i].name;
    }
  }
  all.footprint = exp(all.footprint / count);
  all.requests = exp(all.requests / count);
  return all;
}

/* --- tables --- */

static void print_heads(const study_results *results)
{
  const study_traces *traces = results->traces;
  printf("\n%s: %s\n\n%-20s", results->lever->name, results->lever->explanation, "");
  for (size_t i = 0; i < traces->recorded; i++)
    printf(" | %-40s", traces->list[i].name);
  printf(" | %-25s | %s\n%-20s", "scaled copies", "made-up programs", "");
  for (size_t i = 0; i < traces->recorded; i++)
    printf(" | footprint  taken   back  %2d passes taken", STUDY_LONG_RUN);
  printf(" | footprint  worst  / taken | footprint  worst  / taken\n");
}

static void print_value(const study_results *results, size_t value)
{
  const study_setting *setting = &results->settings[value];
  printf("%c %-18s", setting->is_default ? '*' : ' ', setting->value);
  for (size_t i = 0; i < results->traces->recorded; i++) {
    const study_outcome *outcome = &results->outcomes[value][i];
    printf(" | %9.3f %6" PRIu64 " %6" PRIu64, outcome->footprint, outcome->taken,
           outcome->given_back);
    printf("  %9.3f %5" PRIu64, outcome->long_run.footprint, outcome->long_run.taken);
  }
  for (study_group group = STUDY_SCALED; group <= STUDY_MADE_UP; group++) {
    summary all = sum_up(results, value, group);
    printf(" | %9.3f %6.2f %8.1f", all.footprint, all.worst, all.requests);
    if (group == STUDY_MADE_UP)
      printf("  %s", all.worst_name);
  }
  putchar('\n');
}

/* --- leave one out --- */

static size_t default_value(const study_results *results)
{
  size_t value = 0;
  while (!results->settings[value].is_default)
    value++;
  return value;
}

/* What a value came to for all traces but one and the copies: its footprint, and its calls. */
static summary sum_up_others(const study_results *results, size_t value, size_t left_out)
{
  summary all = {.worst_name = ""};
  for (size_t i = 0; i < results->traces->count; i++) {
    const study_outcome *outcome = &results->outcomes[value][i];
    if (i == left_out || results->traces->list[i].group == STUDY_SCALED)
      continue;
    all.footprint += log(outcome->footprint);
    all.requests += log((double)outcome->allocations / (double)outcome->taken);
  }
  return all;
}

/* The value with the least footprint on the others that makes no more calls there than the
 * default. */
static size_t choose_without(const study_results *results, size_t left_out)
{
  size_t best = default_value(results);
  double requests = sum_up_others(results, best, left_out).requests;
  for (size_t value = 0; value < results->lever->count; value++) {
    summary all = sum_up_others(results, value, left_out);
    if (all.requests >= requests &&
        all.footprint < sum_up_others(results, best, left_out).footprint)
      best = value;
  }
  return best;
}

/* What each trace comes to at the value that is chosen by the others: were the defaults fitted to
 * these traces, it would be worse than at the default. */
static void print_left_out(const study_results *results)
{
  double chosen = 0, by_default = 0, count = 0;
  for (size_t i = 0; i < results->traces->count; i++) {
    if (results->traces->list[i].group == STUDY_SCALED)
      continue;
    count++;
    chosen += log(results->outcomes[choose_without(results, i)][i].footprint);
    by_default += log(results->outcomes[default_value(results)][i].footprint);
  }
  printf("leave one out: footprint %.3f at the value that is best for all other programs, %.3f at "
         "the default\n",
         exp(chosen / count), exp(by_default / count));
  fflush(stdout); /* the next lever takes minutes */
}

/* --- JSON: an object a line --- */

static void print_objects(const study_results *results, size_t value)
{
  for (size_t i = 0; i < results->traces->count; i++) {
    const study_trace *trace = &results->traces->list[i];
    const study_setting *setting = &results->settings[value];
    const study_outcome *outcome = &results->outcomes[value][i];
    printf("{\"lever\": \"%s\", \"value\": \"%s\", \"is_default\": %s, \"trace\": \"%s\", "
           "\"group\": \"%s\", \"peak_bytes\": %zu, \"footprint\": %.5f, "
           "\"allocations\": %" PRIu64 ", \"taken\": %" PRIu64 ", \"given_back\": %" PRIu64,
           results->lever->name, setting->value, setting->is_default ? "true" : "false",
           trace->name, study_group_name(trace->group), trace->peak_bytes, outcome->footprint,
           outcome->allocations, outcome->taken, outcome->given_back);
    if (trace->group == STUDY_RECORDED)
      printf(", \"long_run_footprint\": %.5f, \"long_run_taken\": %" PRIu64,
             outcome->long_run.footprint, outcome->long_run.taken);
    puts("}");
  }
}

/* --- columns --- */

static void print_recorded_columns(const study_results *results, size_t trace)
{
  printf("%s\n", results->traces->list[trace].name);
  for (size_t value = 0; value < results->lever->count; value++) {
    const study_outcome *outcome = &results->outcomes[value][trace];
    printf("%s %.4f %.1f %d\n", results->settings[value].value, outcome->footprint,
           (double)outcome->allocations / (double)outcome->taken,
           results->settings[value].is_default);
  }
  fputs("\n\n", stdout);
}

static void print_group_columns(const study_results *results, study_group group, const char *name)
{
  printf("\"%s\"\n", name);
  for (size_t value = 0; value < results->lever->count; value++) {
    summary all = sum_up(results, value, group);
    printf("%s %.4f %.1f %d\n", results->settings[value].value, all.footprint, all.requests,
           results->settings[value].is_default);
  }
  fputs("\n\n", stdout);
}

static void print_columns(const study_results *results)
{
  puts("# slack, footprint, allocations for each segment taken, whether it is the default");
  for (size_t i = 0; i < results->traces->recorded; i++)
    print_recorded_columns(results, i);
  print_group_columns(results, STUDY_SCALED, "the same with other sizes");
  print_group_columns(results, STUDY_MADE_UP, "made-up programs");
}

void study_print(const study_results *results, study_format format)
{
  if (format == STUDY_COLUMNS) {
    print_columns(results);
    return;
  }
  if (format == STUDY_TABLES)
    print_heads(results);
  for (size_t value = 0; value < results->lever->count; value++)
    if (format == STUDY_JSON)
      print_objects(results, value);
    else
      print_value(results, value);
  if (format == STUDY_TABLES)
    print_left_out(results);
}
