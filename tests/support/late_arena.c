/* SPDX-License-Identifier: MIT */
/* Late streams on an arena. */
#include "support/late_arena.h"

#include "support/suite.h"

const clp_arena_options clpt_late_small = {.struct_size = sizeof(clp_arena_options),
                                           .initialized = 1,
                                           .min_segment_bytes = CLPT_LATE_SEGMENT};

void clpt_late_arena_start_on(clpt_late_rig *rig, unsigned reuse_flags,
                              const clp_arena_options *options)
{
  clp_pool_options of_pool = CLP_POOL_OPTIONS_INIT;
  clp_allocator *arena = NULL;
  clpt_late_rig_start_on(rig, &of_pool);
  clp_pool_release(rig->pool);
  clpt_ok(clp_arena_allocator_create(rig->allocator, options, &arena));
  clp_allocator_release(rig->allocator);
  rig->allocator = arena;
  of_pool.reuse_flags = reuse_flags;
  clpt_ok(clp_pool_create(arena, &of_pool, &rig->pool));
}

void clpt_late_arena_start(clpt_late_rig *rig, unsigned reuse_flags, unsigned way)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, (clpt_late_freeing)(way % CLPT_LATE_FREEINGS));
  if (way / CLPT_LATE_FREEINGS == 1)
    clpt_late_set_addresses(&rig->device);
  rig->device.ops.exclusive_parts = way / CLPT_LATE_FREEINGS == 2;
  rig->home = NULL;
  clpt_late_arena_start_on(rig, reuse_flags, &clpt_late_small);
}

clp_arena_stats clpt_late_arena_figures(const clpt_late_rig *rig)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clpt_ok(clp_arena_get_stats(rig->allocator, &stats));
  return stats;
}
