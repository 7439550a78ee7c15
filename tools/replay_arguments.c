/* SPDX-License-Identifier: MIT */
/* Reading the arguments of clpool replay, and refusing those that cannot go together. */
#include "replay_arguments.h"

#include "arguments.h"
#include "program.h"
#include "quantities.h"

enum {
  OPTION_ALLOCATOR = 256,
  OPTION_ARENA,
  OPTION_CAPACITY,
  OPTION_COMPARE,
  OPTION_DEVICE,
  OPTION_FORMAT,
  OPTION_HELP,
  OPTION_JSON,
  OPTION_LEADING_BITS,
  OPTION_LIMIT,
  OPTION_NO_POOL,
  OPTION_PASSES,
  OPTION_SCALE,
  OPTION_SLACK,
  OPTION_TOUCH,
  OPTION_TRACE_DEVICE,
  OPTION_END
};

static const struct option options[] = {
    {"allocator", required_argument, NULL, OPTION_ALLOCATOR},
    {"arena", no_argument, NULL, OPTION_ARENA},
    {"capacity", required_argument, NULL, OPTION_CAPACITY},
    {"compare", no_argument, NULL, OPTION_COMPARE},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"help", no_argument, NULL, OPTION_HELP},
    {"json", no_argument, NULL, OPTION_JSON},
    {"leading-bits", required_argument, NULL, OPTION_LEADING_BITS},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"no-pool", no_argument, NULL, OPTION_NO_POOL},
    {"passes", required_argument, NULL, OPTION_PASSES},
    {"scale", required_argument, NULL, OPTION_SCALE},
    {"slack", required_argument, NULL, OPTION_SLACK},
    {"touch", no_argument, NULL, OPTION_TOUCH},
    {"trace-device", required_argument, NULL, OPTION_TRACE_DEVICE},
    {0},
};

static int read_option(int option, clpi_replay_arguments *arguments)
{
  switch (option) {
  case OPTION_ALLOCATOR:
    return clpi_find_allocator(optarg, &arguments->allocator.kind);
  case OPTION_ARENA:
    arguments->replay.on_arena = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_CAPACITY:
    return clpi_read_bytes_option("--capacity", optarg, &arguments->allocator.capacity);
  case OPTION_COMPARE:
    arguments->compares = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_DEVICE:
    arguments->device = optarg;
    return CLPI_EXIT_SUCCESS;
  case OPTION_FORMAT:
    return clpi_read_format_option(optarg, &arguments->format);
  case OPTION_HELP:
    arguments->wants_help = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_JSON:
    arguments->as_json = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_LEADING_BITS:
    return clpi_read_leading_bits_option(optarg,
                                         &arguments->replay.pool_options.leading_bits_in_bin_id);
  case OPTION_LIMIT:
    arguments->replay.has_limit = true;
    return clpi_read_bytes_option("--limit", optarg, &arguments->replay.limit_bytes);
  case OPTION_NO_POOL:
    arguments->replay.pooled = false;
    return CLPI_EXIT_SUCCESS;
  case OPTION_PASSES:
    return clpi_read_passes_option(optarg, &arguments->replay.passes);
  case OPTION_SLACK:
    return clpi_read_slack_option(optarg, &arguments->replay.arena_options.slack);
  case OPTION_TOUCH:
    arguments->touches = true;
    return CLPI_EXIT_SUCCESS;
  case OPTION_SCALE:
    return clpi_read_scale_option(optarg, &arguments->fits_scale, &arguments->replay.scale);
  case OPTION_TRACE_DEVICE:
    arguments->trace_device = optarg;
    return CLPI_EXIT_SUCCESS;
  default: /* clpi_next_option complained */
    return CLPI_EXIT_MISUSE;
  }
}

/* Options that would have no effect are refused: they were not meant so. `given` says which there
 * were. */
static int check_together(const clpi_replay_arguments *arguments, const bool given[OPTION_END])
{
  if (given[OPTION_NO_POOL] && arguments->compares)
    return clpi_misuse("--compare runs with and without a pool: leave --no-pool out");
  if (given[OPTION_NO_POOL] && given[OPTION_LEADING_BITS])
    return clpi_misuse("--leading-bits is of the pool: it cannot go with --no-pool");
  if (given[OPTION_NO_POOL] && given[OPTION_LIMIT])
    return clpi_misuse("--limit is of the pool: it cannot go with --no-pool");
  if (given[OPTION_SLACK] && !given[OPTION_ARENA])
    return clpi_misuse("--slack is of the arena: it needs --arena");
  if (arguments->touches && arguments->allocator.kind == CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("--touch writes to memory, of which the simulated device has none: it needs "
                       "another --allocator");
  if (given[OPTION_CAPACITY] && arguments->allocator.kind != CLPI_ALLOCATOR_SIMULATED)
    return clpi_misuse("--capacity needs --allocator=simulated");
  return CLPI_EXIT_SUCCESS;
}

int clpi_replay_arguments_read(int argc, char **argv, clpi_replay_arguments *arguments)
{
  bool given[OPTION_END] = {false};
  *arguments = (clpi_replay_arguments){.allocator.kind = CLPI_ALLOCATOR_SIMULATED,
                                       .replay = CLPI_REPLAY_OPTIONS_INIT};
  int option;
  while ((option = clpi_next_option(argc, argv, ":", options)) != -1) {
    int failed = read_option(option, arguments);
    if (failed || arguments->wants_help)
      return failed;
    given[option] = true;
  }
  int failed = clpi_read_trace_argument("replay", argc, argv, &arguments->trace);
  if (!failed)
    failed = check_together(arguments, given);
  if (!failed && arguments->device)
    failed = clpi_read_device_option(arguments->device, &arguments->allocator);
  return failed;
}
