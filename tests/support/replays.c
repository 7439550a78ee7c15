/* SPDX-License-Identifier: MIT */
/* Replays of traces in short form, for tests. */
#include "replays.h"

#include "suite.h"
#include "traces.h"

clp_allocator *clpt_simulated(size_t capacity)
{
  clp_allocator *allocator = NULL;
  clpt_ok(clp_simulated_allocator_create(capacity, &allocator));
  return allocator;
}

clpi_replay_options clpt_pooled(void)
{
  return (clpi_replay_options)CLPI_REPLAY_OPTIONS_INIT;
}

clpi_replay_options clpt_bare(void)
{
  clpi_replay_options options = CLPI_REPLAY_OPTIONS_INIT;
  options.pooled = false;
  return options;
}

/* Drops the caller's reference to `allocator`. */
static clp_status replay(const char *rows, clp_allocator *allocator, clpi_replay_options options,
                         clpi_replay_result *result)
{
  clpi_trace_reader *reader = clpt_short_trace(rows);
  clp_status status = clpi_replay(reader, allocator, &options, result);
  clp_allocator_release(allocator);
  clpi_trace_close(reader);
  return status;
}

clp_status clpt_replay_rows(const char *rows, size_t capacity, clpi_replay_options options,
                            clpi_replay_result *result)
{
  return replay(rows, clpt_simulated(capacity), options, result);
}

clp_status clpt_replay_on(clpt_device *device, const char *rows, clpi_replay_options options,
                          clpi_replay_result *result)
{
  clp_status status = replay(rows, clpt_device_allocator(device), options, result);
  clpt_device_assert_ended(device);
  return status;
}
