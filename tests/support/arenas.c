/* SPDX-License-Identifier: MIT */
/* An arena of small segments, on a device that splits. */
#include "arenas.h"

#include "suite.h"

clpt_device clpt_arena_device;
clp_allocator *clpt_arena;

void clpt_arena_setup(void)
{
  clpt_device_init_split(&clpt_arena_device);
}

clp_arena_options clpt_arena_small(void)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = 0.0;
  options.min_segment_bytes = CLPT_SEGMENT;
  return options;
}

void clpt_arena_start(const clp_arena_options *options)
{
  clp_arena_options small = clpt_arena_small();
  clp_allocator *upstream = clpt_device_allocator(&clpt_arena_device);
  clpt_ok(clp_arena_allocator_create(upstream, options ? options : &small, &clpt_arena));
  clp_allocator_release(upstream);
}

void clpt_arena_end(void)
{
  clp_allocator_release(clpt_arena);
  clpt_device_assert_ended(&clpt_arena_device);
}

void clpt_arena_give(clp_memory memory, size_t bytes)
{
  clpt_ok(clp_allocator_free(clpt_arena, memory, bytes));
}

clp_arena_stats clpt_arena_figures(void)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clpt_ok(clp_arena_get_stats(clpt_arena, &stats));
  return stats;
}
