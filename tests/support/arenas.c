/* SPDX-License-Identifier: MIT */
/* An arena of small segments, on a device that splits. */
#include "arenas.h"

#include "core/allocator/allocator.h"
#include "suite.h"

clpt_device clpt_arena_device;
clp_allocator *clpt_arena;

void clpt_arena_setup(void)
{
  clpt_device_init_split(&clpt_arena_device);
}

static size_t parts; /* that were made and not taken back */

static clp_status split(void *self, clp_memory block, size_t offset, size_t bytes, clp_memory *part)
{
  parts++;
  return clpi_split_address(self, block, offset, bytes, part);
}

static clp_status unsplit(void *self, clp_memory part, size_t bytes)
{
  parts--;
  return clpi_unsplit_address(self, part, bytes);
}

void clpt_arena_setup_parts(void)
{
  clpt_device_init(&clpt_arena_device);
  clpt_arena_device.ops.split = split;
  clpt_arena_device.ops.unsplit = unsplit;
}

clp_arena_options clpt_arena_small(void)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = 0.0;
  options.min_segment_bytes = CLPT_SEGMENT;
  return options;
}

void clpt_arena_start_with(const clp_arena_options *options)
{
  clp_allocator *upstream = clpt_device_allocator(&clpt_arena_device);
  clpt_ok(clp_arena_allocator_create(upstream, options, &clpt_arena));
  clp_allocator_release(upstream);
}

void clpt_arena_start(void)
{
  clp_arena_options options = clpt_arena_small();
  clpt_arena_start_with(&options);
}

void clpt_arena_end(void)
{
  clp_allocator_release(clpt_arena);
  clpt_device_assert_ended(&clpt_arena_device);
  ck_assert_uint_eq(parts, 0);
}

clp_memory clpt_arena_take(size_t bytes)
{
  clp_memory memory = 0;
  clpt_ok(clp_allocator_allocate(clpt_arena, bytes, &memory));
  ck_assert_uint_ne(memory, 0);
  return memory;
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
