/* SPDX-License-Identifier: MIT */
/* Hooks of the crowd's pools, which count what they are shown. */
#include "crowd.h"

#include "support/suite.h"

static void begin(const clp_hook_event *event, void *sight)
{
  (void)event;
  atomic_fetch_add_explicit(&((crowd_sight *)sight)->open, 1, memory_order_relaxed);
}

static void end(crowd_sight *sight, atomic_ullong *events, bool succeeded)
{
  atomic_fetch_sub_explicit(&sight->open, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(events, succeeded, memory_order_relaxed);
}

static void end_malloc(const clp_hook_event *event, void *sight)
{
  end(sight, &((crowd_sight *)sight)->allocations, event->buffer_id != 0);
}

static void end_alloc(const clp_hook_event *event, void *sight)
{
  end(sight, &((crowd_sight *)sight)->device_allocations, event->memory != 0);
}

static void end_free(const clp_hook_event *event, void *sight)
{
  end(sight, &((crowd_sight *)sight)->releases, event->buffer_id != 0);
}

static void end_device_free(const clp_hook_event *event, void *sight)
{
  end(sight, &((crowd_sight *)sight)->device_frees, event->memory != 0);
}

void crowd_add_hook(crowd_pool *pool)
{
  pool->sight.hook = (clp_hook){.struct_size = sizeof(clp_hook),
                                .name = "crowd",
                                .user_data = &pool->sight,
                                .malloc_preprocess = begin,
                                .malloc_postprocess = end_malloc,
                                .alloc_preprocess = begin,
                                .alloc_postprocess = end_alloc,
                                .free_preprocess = begin,
                                .free_postprocess = end_free,
                                .device_free_preprocess = begin,
                                .device_free_postprocess = end_device_free};
  clpt_ok(clp_pool_add_hook(pool->pool, &pool->sight.hook));
}
