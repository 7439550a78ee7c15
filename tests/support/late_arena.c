/* SPDX-License-Identifier: MIT */
/* Late streams on an arena. */
#include "support/late_arena.h"

#include "support/suite.h"

void clpt_late_arena_start_on(clpt_late_rig *rig, unsigned reuse_flags, bool one_thread,
                              double slack)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_options small = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *arena = NULL;

  clpt_late_rig_start_on(rig, &options);
  clp_pool_release(rig->pool);
  small.slack = slack;
  small.one_thread = one_thread;
  small.min_segment_bytes = CLPT_LATE_SEGMENT;
  clpt_ok(clp_arena_allocator_create(rig->allocator, &small, &arena));
  clp_allocator_release(rig->allocator);
  rig->allocator = arena;
  options.reuse_flags = reuse_flags;
  clpt_ok(clp_pool_create(arena, &options, &rig->pool));
}

void clpt_late_arena_start(clpt_late_rig *rig, unsigned reuse_flags, unsigned way)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, (clpt_late_freeing)(way % CLPT_LATE_FREEINGS));
  if (way >= CLPT_LATE_FREEINGS)
    clpt_late_set_addresses(&rig->device);
  rig->home = NULL;
  clpt_late_arena_start_on(rig, reuse_flags, false, 0.0);
}

void clpt_late_arena_start_exclusive(clpt_late_rig *rig, unsigned reuse_flags, bool one_thread)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, CLPT_LATE_FREES_IN_ORDER);
  rig->device.ops.exclusive_parts = true;
  rig->home = NULL;
  clpt_late_arena_start_on(rig, reuse_flags, one_thread, 0.0);
}

clp_arena_stats clpt_late_arena_figures(const clpt_late_rig *rig)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clpt_ok(clp_arena_get_stats(rig->allocator, &stats));
  return stats;
}
