/* SPDX-License-Identifier: MIT */
/* Hooks of the crowd, which count what they are shown. */
#include "crowd.h"

#include <stdio.h>

static void count(atomic_ullong *events)
{
  atomic_fetch_add_explicit(events, 1, memory_order_relaxed);
}

static void begin(const clp_hook_event *event, void *user_data)
{
  crowd_sight *sight = user_data;

  (void)event;
  atomic_fetch_add_explicit(&sight->open, 1, memory_order_relaxed);
}

static void end(crowd_sight *sight)
{
  atomic_fetch_sub_explicit(&sight->open, 1, memory_order_relaxed);
}

static void end_malloc(const clp_hook_event *event, void *user_data)
{
  crowd_sight *sight = user_data;

  end(sight);
  if (event->buffer_id != 0)
    count(&sight->allocations);
}

static void end_alloc(const clp_hook_event *event, void *user_data)
{
  crowd_sight *sight = user_data;

  end(sight);
  if (event->memory != 0)
    count(&sight->device_allocations);
}

static void end_free(const clp_hook_event *event, void *user_data)
{
  crowd_sight *sight = user_data;

  (void)event;
  end(sight);
  count(&sight->releases);
}

static void end_device_free(const clp_hook_event *event, void *user_data)
{
  crowd_sight *sight = user_data;

  end(sight);
  if (event->memory != 0)
    count(&sight->device_frees);
}

void crowd_sight_start(crowd_sight *sight, const char *name, unsigned number)
{
  (void)snprintf(sight->name, sizeof(sight->name), "%s %u", name, number);
  sight->hook = (clp_hook){.struct_size = sizeof(clp_hook),
                           .name = sight->name,
                           .user_data = sight,
                           .malloc_preprocess = begin,
                           .malloc_postprocess = end_malloc,
                           .alloc_preprocess = begin,
                           .alloc_postprocess = end_alloc,
                           .free_preprocess = begin,
                           .free_postprocess = end_free,
                           .device_free_preprocess = begin,
                           .device_free_postprocess = end_device_free};
}
