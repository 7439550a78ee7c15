/* SPDX-License-Identifier: MIT */
/* The study that the arena's rules and its slack come from: footprint against calls of the device,
 * and what each rule does for them. No clock is looked at: a run gives the same as the next. */
#include "../failed.h"
#include "tables.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct choices {
  study_format format;
  bool only_frontier;
  uint64_t seed;
} choices;

static void print_usage(FILE *stream)
{
  fprintf(stream,
          "usage: %s [OPTION]... [TRACE]...\n"
          "Replays traces on arenas: recorded ones (default:\n"
          "examples/data/resnet50_train.csv.gz), these with other sizes, and made-up programs.\n"
          "  --frontier  only along the slack, not the other levers\n"
          "  --columns   the frontier for gnuplot, as in doc/arena-frontier.dat\n"
          "  --json      an object a line instead of tables\n"
          "  --seed=N    other made-up programs (default: 1)\n",
          program_invocation_short_name);
}

static bool read_seed(const char *text, uint64_t *seed)
{
  char *end;
  errno = 0;
  *seed = strtoull(text, &end, 10);
  return (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0) ||
         bench_failed("--seed takes a whole number, not '%s'", text);
}

/* False: the program ends, with `*status`. */
static bool read_options(int argc, char **argv, choices *options, int *status)
{
  static const struct option known[] = {
      {"columns", no_argument, NULL, 'c'},    {"frontier", no_argument, NULL, 'f'},
      {"help", no_argument, NULL, 'h'},       {"json", no_argument, NULL, 'j'},
      {"seed", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
  *options = (choices){.seed = 1};
  *status = 2;
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;)
    switch (option) {
    case 'c':
      options->format = STUDY_COLUMNS;
      options->only_frontier = true;
      break;
    case 'f':
      options->only_frontier = true;
      break;
    case 'h':
      print_usage(stdout);
      *status = EXIT_SUCCESS;
      return false;
    case 'j':
      options->format = STUDY_JSON;
      break;
    case 's':
      if (!read_seed(optarg, &options->seed))
        return false;
      break;
    default:
      return false; /* getopt has said why */
    }
  return true;
}

static bool try_value(study_results *results, size_t value)
{
  const study_traces *traces = results->traces;
  results->settings[value] = study_set(results->lever, value);
  for (size_t i = 0; i < traces->count; i++)
    if (!study_run(&traces->list[i], &results->settings[value], &results->outcomes[value][i]))
      return false;
  return true;
}

/* At its default a lever changes nothing: else it does not do what it says. */
static bool agrees(const study_results *results, size_t value)
{
  static study_outcome by_default[STUDY_MOST_TRACES];
  const study_outcome *outcomes = results->outcomes[value];
  if (!results->settings[value].is_default)
    return true;
  if (results->lever == &study_slack)
    memcpy(by_default, outcomes, sizeof by_default);
  return memcmp(by_default, outcomes, sizeof by_default) == 0 ||
         bench_failed("'%s' of %s is not the default", results->settings[value].value,
                      results->lever->name);
}

static bool try_lever(const study_lever *lever, const study_traces *traces, study_format format)
{
  static study_results results; /* too large for a stack */
  results.lever = lever;
  results.traces = traces;
  for (size_t value = 0; value < lever->count; value++)
    if (!try_value(&results, value) || !agrees(&results, value))
      return false;
  study_print(&results, format);
  return true;
}

static bool try_all(const study_traces *traces, const choices *options)
{
  bool ok = try_lever(&study_slack, traces, options->format);
  for (size_t i = 0; ok && !options->only_frontier && i < study_lever_count; i++)
    ok = try_lever(&study_levers[i], traces, options->format);
  return ok;
}

int main(int argc, char **argv)
{
  static char recorded[] = "examples/data/resnet50_train.csv.gz";
  static char *const by_default[] = {recorded};
  static study_traces traces;
  choices options;
  int status;
  if (!read_options(argc, argv, &options, &status))
    return status;

  bool has_paths = optind < argc;
  bool ok = study_traces_open(&traces, has_paths ? argv + optind : by_default,
                              has_paths ? (size_t)(argc - optind) : 1, options.seed) &&
            try_all(&traces, &options);
  study_traces_close(&traces);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
