/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool replay, and refusing those that cannot go together. */
#include "replay_arguments.h"

#include "arguments.h"
#include "program.h"

enum {
  OPTION_COMPARE = CLPI_OPTION_OWN,
  OPTION_RESERVE,
  OPTION_SEVERAL_THREADS,
  OPTION_TOUCH,
  OPTION_END
};

static const struct option options[] = {
    {"allocator", required_argument, NULL, CLPI_OPTION_ALLOCATOR},
    {"arena", no_argument, NULL, CLPI_OPTION_ARENA},
    {"capacity", required_argument, NULL, CLPI_OPTION_CAPACITY},
    {"compare", no_argument, NULL, OPTION_COMPARE},
    {"device", required_argument, NULL, CLPI_OPTION_DEVICE},
    {"help", no_argument, NULL, CLPI_OPTION_HELP},
    {"json", no_argument, NULL, CLPI_OPTION_JSON},
    {"leading-bits", required_argument, NULL, CLPI_OPTION_LEADING_BITS},
    {"lenient", no_argument, NULL, CLPI_OPTION_LENIENT},
    {"limit", required_argument, NULL, CLPI_OPTION_LIMIT},
    {"no-pool", no_argument, NULL, CLPI_OPTION_NO_POOL},
    {"passes", required_argument, NULL, CLPI_OPTION_PASSES},
    {"reserve", required_argument, NULL, OPTION_RESERVE},
    {"scale", required_argument, NULL, CLPI_OPTION_SCALE},
    {"several-threads", no_argument, NULL, OPTION_SEVERAL_THREADS},
    {"slack", required_argument, NULL, CLPI_OPTION_SLACK},
    {"touch", no_argument, NULL, OPTION_TOUCH},
    {0},
};

static int read_option(int option, clpi_replay_arguments *arguments)
{
  switch (option) {
  case OPTION_COMPARE:
    arguments->compares = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_RESERVE:
    arguments->common.reserve = optarg;
    return clpi_read_part_option("--reserve", optarg,
                                 &arguments->common.replay.arena_options.reserve_bytes);
  case OPTION_SEVERAL_THREADS:
    return CLPI_EXIT_SUCCESS;
  case OPTION_TOUCH:
    arguments->touches = true;
    return CLPI_EXIT_SUCCESS;
  default:
    return clpi_read_trace_option(option, &arguments->common);
  }
}

/* Options that would have no effect are refused: they were not meant so. `given` says which there
 * were. */
static int check_together(const clpi_replay_arguments *arguments, const bool given[OPTION_END])
{
  if (given[CLPI_OPTION_NO_POOL] && arguments->compares)
    return clpi_misuse("--compare runs with and without a pool: leave --no-pool out");
  if (given[CLPI_OPTION_NO_POOL] && given[CLPI_OPTION_LEADING_BITS])
    return clpi_misuse("--leading-bits is of the pool: it cannot go with --no-pool");
  if (given[CLPI_OPTION_NO_POOL] && given[CLPI_OPTION_LIMIT])
    return clpi_misuse("--limit is of the pool: it cannot go with --no-pool");
  if (given[CLPI_OPTION_SLACK] && !given[CLPI_OPTION_ARENA])
    return clpi_misuse("--slack is of the arena: it needs --arena");
  if (given[OPTION_RESERVE] && !given[CLPI_OPTION_ARENA])
    return clpi_misuse("--reserve is of the arena: it needs --arena");
  if (given[OPTION_SEVERAL_THREADS] && !given[CLPI_OPTION_ARENA])
    return clpi_misuse("--several-threads is of the arena: it needs --arena");
  if (arguments->touches && arguments->common.allocator.kind == CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("--touch writes to memory, of which the simulated device has none: it needs "
                       "another --allocator");
  if (given[CLPI_OPTION_CAPACITY] && arguments->common.allocator.kind != CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("--capacity needs --allocator=simulated");
  return CLPI_EXIT_SUCCESS;
}

int clpi_replay_arguments_read(int argc, char **argv, clpi_replay_arguments *arguments)
{
  bool given[OPTION_END] = {false};
  *arguments = (clpi_replay_arguments){.common = CLPI_TRACE_ARGUMENTS_INIT};
  int option;
  while ((option = clpi_next_option(argc, argv, ":", options)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->common.wants_help)
      return failed;
    given[option] = true;
  }
  int failed = clpi_read_trace_argument("replay", argc, argv, &arguments->common.trace);
  if (!failed)
    failed = check_together(arguments, given);
  if (!failed && arguments->common.device)
    failed = clpi_read_device_option(arguments->common.device, &arguments->common.allocator);
  return failed;
}
