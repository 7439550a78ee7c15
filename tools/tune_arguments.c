/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool tune, and refusing those that cannot go together. */
#include "tune_arguments.h"

#include "arguments.h"
#include "output_file.h"
#include "program.h"
#include "quantities.h"
#include "tune_plot.h"

#include <clpool/bin.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  OPTION_ARENA = CLPI_OPTION_OWN,
  OPTION_COST,
  OPTION_LEADING_BITS,
  OPTION_NO_ARENA,
  OPTION_OBJECTIVE,
  OPTION_PLOT,
  OPTION_THREADS,
  OPTION_END
};

enum { LAST_BITS = 10, MOST_THREADS = 1024 };

static const struct option options[] = {
    {"allocator", required_argument, NULL, CLPI_OPTION_ALLOCATOR},
    {"arena", no_argument, NULL, OPTION_ARENA},
    {"capacity", required_argument, NULL, CLPI_OPTION_CAPACITY},
    {"cost", required_argument, NULL, OPTION_COST},
    {"device", required_argument, NULL, CLPI_OPTION_DEVICE},
    {"help", no_argument, NULL, CLPI_OPTION_HELP},
    {"json", no_argument, NULL, CLPI_OPTION_JSON},
    {"leading-bits", required_argument, NULL, OPTION_LEADING_BITS},
    {"lenient", no_argument, NULL, CLPI_OPTION_LENIENT},
    {"limit", required_argument, NULL, CLPI_OPTION_LIMIT},
    {"memory", required_argument, NULL, CLPI_OPTION_MEMORY},
    {"no-arena", no_argument, NULL, OPTION_NO_ARENA},
    {"no-pool", no_argument, NULL, CLPI_OPTION_NO_POOL},
    {"objective", required_argument, NULL, OPTION_OBJECTIVE},
    {"passes", required_argument, NULL, CLPI_OPTION_PASSES},
    {"plot", required_argument, NULL, OPTION_PLOT},
    {"scale", required_argument, NULL, CLPI_OPTION_SCALE},
    {"slack", required_argument, NULL, CLPI_OPTION_SLACK},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {0},
};

/* "6", or a range, "0-10". */
static int read_bits(const char *text, unsigned *first, unsigned *last)
{
  char number[16];
  const char *dash = strchr(text, '-');
  size_t length = dash ? (size_t)(dash - text) : strlen(text);
  if (length < sizeof(number)) {
    snprintf(number, sizeof(number), "%.*s", (int)length, text);
    if (clpi_read_unsigned(number, CLP_MAX_LEADING_BITS, first) &&
        clpi_read_unsigned(dash ? dash + 1 : number, CLP_MAX_LEADING_BITS, last) && *first <= *last)
      return CLPI_EXIT_SUCCESS;
  }
  return clpi_misuse("--leading-bits: expected a number or a range from 0 to %u, such as 0-10, "
                     "found \"%s\"",
                     CLP_MAX_LEADING_BITS, text);
}

static int read_objective(const char *text, trace_objective *objective)
{
  for (*objective = 0; *objective < TRACE_OBJECTIVES; ++*objective)
    if (strcmp(text, trace_objective_name(*objective)) == 0)
      return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--objective: expected time, memory or balanced, found \"%s\"", text);
}

static int read_threads(const char *text, unsigned *threads)
{
  if (clpi_read_unsigned(text, MOST_THREADS, threads) && *threads > 0)
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--threads: expected a number from 1 to %d, found \"%s\"", MOST_THREADS, text);
}

static int read_plot(const char *text, const char **plot)
{
  *plot = text;
  if (clpi_tune_plot_has_format(text))
    return CLPI_EXIT_SUCCESS;
  return clpi_misuse("--plot: expected a file whose name ends in .svg, .png or .pdf, found \"%s\"",
                     text);
}

static int read_option(int option, clpi_tune_arguments *arguments)
{
  switch (option) {
  case OPTION_ARENA:
    arguments->without_arena = false;
    return CLPI_EXIT_SUCCESS;
  case OPTION_COST:
    arguments->cost = optarg;
    return CLPI_EXIT_SUCCESS;
  case OPTION_LEADING_BITS:
    return read_bits(optarg, &arguments->first_bits, &arguments->last_bits);
  case OPTION_NO_ARENA:
    arguments->with_arena = false;
    return CLPI_EXIT_SUCCESS;
  case OPTION_OBJECTIVE:
    return read_objective(optarg, &arguments->objective);
  case OPTION_PLOT:
    return read_plot(optarg, &arguments->plot);
  case CLPI_OPTION_SLACK:
    arguments->has_slack = true;
    return clpi_read_trace_option(option, &arguments->common);
  case OPTION_THREADS:
    return read_threads(optarg, &arguments->threads);
  default:
    return clpi_read_trace_option(option, &arguments->common);
  }
}

/* Options that would have no effect are refused: they were not meant so. `given` says which there
 * were. */

static int check_arena(const clpi_tune_arguments *arguments, const bool given[OPTION_END])
{
  clpi_allocator_kind kind = arguments->common.allocator.kind;
  if (given[OPTION_ARENA] && given[OPTION_NO_ARENA])
    return clpi_misuse("--arena and --no-arena leave no setting to try");
  if (given[CLPI_OPTION_SLACK] && given[OPTION_NO_ARENA])
    return clpi_misuse("--slack is of the arena: it cannot go with --no-arena");
  if (clpi_has_pool_beneath(kind) && (given[OPTION_ARENA] || given[CLPI_OPTION_SLACK]))
    return clpi_misuse("%s: no arena is tried on %s, where the driver's own pool takes less memory",
                       given[OPTION_ARENA] ? "--arena" : "--slack", clpi_allocator_names[kind]);
  return CLPI_EXIT_SUCCESS;
}

static int check_together(const clpi_tune_arguments *arguments, const bool given[OPTION_END])
{
  if (given[CLPI_OPTION_NO_POOL] && given[OPTION_LEADING_BITS])
    return clpi_misuse("--leading-bits is of the pool: it cannot go with --no-pool");
  if (given[CLPI_OPTION_NO_POOL] && given[CLPI_OPTION_LIMIT])
    return clpi_misuse("--limit is of the pool: it cannot go with --no-pool");
  if (given[CLPI_OPTION_NO_POOL] && given[OPTION_PLOT])
    return clpi_misuse("--plot shows leading bits, which are of the pool: it cannot go with "
                       "--no-pool");
  if (arguments->cost && strcmp(arguments->cost, "-") == 0 &&
      strcmp(arguments->common.trace, "-") == 0)
    return clpi_misuse("only one of the trace and --cost can be standard input");
  if (arguments->plot && clpi_output_file_is_stdout(arguments->plot))
    return clpi_misuse("--plot cannot go to standard output, which has the figures");
  if (given[CLPI_OPTION_CAPACITY] && arguments->common.allocator.kind != CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("--capacity needs --allocator=simulated");
  return check_arena(arguments, given);
}

static unsigned all_cores(void)
{
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (unsigned)cores;
}

int clpi_tune_arguments_read(int argc, char **argv, clpi_tune_arguments *arguments)
{
  bool given[OPTION_END] = {false};
  *arguments = (clpi_tune_arguments){.common = CLPI_TRACE_ARGUMENTS_INIT,
                                     .last_bits = LAST_BITS,
                                     .without_arena = true,
                                     .with_arena = true,
                                     .threads = all_cores()};
  int option;
  while ((option = clpi_next_option(argc, argv, ":", options)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->common.wants_help)
      return failed;
    given[option] = true;
  }
  int failed = clpi_read_trace_argument("tune", argc, argv, &arguments->common.trace);
  if (!failed)
    failed = check_together(arguments, given);
  if (!failed && arguments->common.device)
    failed = clpi_read_device_option(arguments->common.device, &arguments->common.allocator);
  if (clpi_has_pool_beneath(arguments->common.allocator.kind))
    arguments->with_arena = false;
  return failed;
}
