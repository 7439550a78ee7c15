/* SPDX-License-Identifier: MIT */
/* A pool on a device whose streams run late. */
#include "late_rig.h"

#include "suite.h"

const clp_arena_options clpt_late_small = {.struct_size = sizeof(clp_arena_options),
                                           .initialized = 1,
                                           .min_segment_bytes = CLPT_LATE_SEGMENT};

static void start_streams(clpt_late_rig *rig)
{
  rig->device.ops.home_stream = rig->home;
  rig->allocator = clpt_late_allocator(&rig->device);
  rig->s = clpt_late_stream_new(&rig->device);
  rig->t = clpt_late_stream_new(&rig->device);
  rig->u = clpt_late_stream_new(&rig->device);
}

void clpt_late_rig_start_on(clpt_late_rig *rig, const clp_pool_options *options)
{
  start_streams(rig);
  clpt_ok(clp_pool_create(rig->allocator, options, &rig->pool));
}

void clpt_late_arena_start_on(clpt_late_rig *rig, unsigned reuse_flags,
                              const clp_arena_options *options)
{
  start_streams(rig);
  clp_allocator *device = rig->allocator;
  clpt_ok(clp_arena_allocator_create(device, options, &rig->allocator));
  clp_allocator_release(device);
  rig->pool = clpt_late_pool(rig, reuse_flags);
}

void clpt_late_start(clpt_late_rig *rig, unsigned reuse_flags, bool home, clpt_late_freeing freeing)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, freeing);
  rig->home = home ? clpt_late_stream_new(&rig->device) : NULL;
  start_streams(rig);
  rig->pool = clpt_late_pool(rig, reuse_flags);
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

void clpt_late_rig_end(clpt_late_rig *rig)
{
  clp_pool_release(rig->pool);
  clp_allocator_release(rig->allocator);
  clpt_late_assert_ended(&rig->device);
}

clp_pool *clpt_late_pool(clpt_late_rig *rig, unsigned reuse_flags)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool = NULL;
  options.reuse_flags = reuse_flags;
  clpt_ok(clp_pool_create(rig->allocator, &options, &pool));
  return pool;
}

void clpt_late_use(clpt_late_rig *rig, clp_buffer *buffer, clp_stream stream)
{
  clpt_late_write(&rig->device, stream, clp_buffer_memory(buffer));
  clpt_late_read(&rig->device, stream, clp_buffer_memory(buffer));
}

void clpt_late_share(clpt_late_rig *rig, clp_buffer *buffer, clp_stream from, clp_stream with)
{
  clpt_late_order(&rig->device, from, with);
  clpt_late_read(&rig->device, with, clp_buffer_memory(buffer));
}

clp_buffer *clpt_late_take_from(clpt_late_rig *rig, clp_pool *pool, size_t bytes, clp_stream stream)
{
  clp_buffer *buffer = NULL;
  clpt_ok(clp_pool_allocate_on(pool, bytes, stream, &buffer));
  ck_assert_uint_eq(clp_buffer_size(buffer), bytes);
  ck_assert_uint_ge(clp_buffer_capacity(buffer), bytes);
  ck_assert_ptr_eq(clp_buffer_pool(buffer), pool);
  if (rig->device.addresses)
    clpt_late_open(&rig->device, clp_buffer_memory(buffer), clp_buffer_capacity(buffer));
  clpt_late_use(rig, buffer, stream);
  return buffer;
}

clp_buffer *clpt_late_take(clpt_late_rig *rig, clp_stream stream)
{
  return clpt_late_take_from(rig, rig->pool, CLPT_LATE_BYTES, stream);
}

clp_buffer *clpt_late_take_unordered(clpt_late_rig *rig, clp_stream stream)
{
  clp_buffer *buffer = clpt_allocate(rig->pool, CLPT_LATE_BYTES);
  clpt_late_use(rig, buffer, stream);
  return buffer;
}

void clpt_late_release_on(clpt_late_rig *rig, clp_buffer *buffer, clp_stream stream)
{
  if (rig->device.addresses)
    clpt_late_close(&rig->device, clp_buffer_memory(buffer), clp_buffer_capacity(buffer));
  clpt_ok(clp_buffer_release_on(buffer, stream));
}

void clpt_late_hold(clpt_late_rig *rig, clp_stream stream)
{
  clpt_late_release_on(rig, clpt_late_take(rig, stream), stream);
}

clp_buffer *clpt_late_take_held(clpt_late_rig *rig, clp_stream stream)
{
  clp_pool_stats before = clpt_stats(rig->pool);
  unsigned host_waits = rig->device.calls[CLPT_LATE_HOST_WAIT];
  clp_buffer *buffer = clpt_late_take(rig, stream);
  clp_pool_stats after = clpt_stats(rig->pool);
  ck_assert_uint_eq(after.hits - before.hits, 1);
  ck_assert_uint_eq(after.device_allocations, before.device_allocations);
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_HOST_WAIT], host_waits);
  return buffer;
}
