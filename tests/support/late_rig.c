/* SPDX-License-Identifier: MIT */
/* A pool on a device whose streams run late. */
#include "late_rig.h"

#include "suite.h"

void clpt_late_rig_start_on(clpt_late_rig *rig, const clp_pool_options *options)
{
  rig->device.ops.home_stream = rig->home;
  rig->allocator = clpt_late_allocator(&rig->device);
  rig->s = clpt_late_stream_new(&rig->device);
  rig->t = clpt_late_stream_new(&rig->device);
  rig->u = clpt_late_stream_new(&rig->device);
  rig->pool = NULL;
  clpt_ok(clp_pool_create(rig->allocator, options, &rig->pool));
  ck_assert_ptr_nonnull(rig->pool);
}

static void start(clpt_late_rig *rig, unsigned reuse_flags, bool home, clpt_late_freeing freeing)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  options.reuse_flags = reuse_flags;
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, freeing);
  rig->home = home ? clpt_late_stream_new(&rig->device) : NULL;
  clpt_late_rig_start_on(rig, &options);
}

void clpt_late_rig_start(clpt_late_rig *rig, unsigned reuse_flags)
{
  start(rig, reuse_flags, false, CLPT_LATE_FREES_AT_ONCE);
}

void clpt_late_rig_start_with_home(clpt_late_rig *rig, unsigned reuse_flags)
{
  start(rig, reuse_flags, true, CLPT_LATE_FREES_AT_ONCE);
}

void clpt_late_rig_start_freeing(clpt_late_rig *rig, unsigned reuse_flags,
                                 clpt_late_freeing freeing)
{
  start(rig, reuse_flags, false, freeing);
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
  clp_memory memory = clp_buffer_memory(buffer);

  clpt_late_write(&rig->device, stream, memory);
  clpt_late_read(&rig->device, stream, memory);
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
  ck_assert_ptr_nonnull(buffer);
  ck_assert_uint_eq(clp_buffer_size(buffer), bytes);
  ck_assert_uint_ge(clp_buffer_capacity(buffer), bytes);
  ck_assert_ptr_eq(clp_buffer_pool(buffer), pool);
  ck_assert_uint_ne(clp_buffer_memory(buffer), 0);
  if (rig->device.addresses)
    clpt_late_open(&rig->device, clp_buffer_memory(buffer), clp_buffer_capacity(buffer));
  clpt_late_use(rig, buffer, stream);
  return buffer;
}

void clpt_late_release_on(clpt_late_rig *rig, clp_buffer *buffer, clp_stream stream)
{
  if (rig->device.addresses)
    clpt_late_close(&rig->device, clp_buffer_memory(buffer), clp_buffer_capacity(buffer));
  clpt_ok(clp_buffer_release_on(buffer, stream));
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

void clpt_late_hold(clpt_late_rig *rig, clp_stream stream)
{
  clpt_late_release_on(rig, clpt_late_take(rig, stream), stream);
}

/* A hit or a miss, and nothing that the host waited for. */
static clp_buffer *take_as(clpt_late_rig *rig, clp_stream stream, unsigned hits)
{
  clp_pool_stats before = clpt_stats(rig->pool), after;
  unsigned host_waits = rig->device.calls[CLPT_LATE_HOST_WAIT];
  clp_buffer *buffer = clpt_late_take(rig, stream);

  after = clpt_stats(rig->pool);
  ck_assert_uint_eq(after.hits - before.hits, hits);
  ck_assert_uint_eq(after.misses - before.misses, 1 - hits);
  ck_assert_uint_eq(after.device_allocations - before.device_allocations, 1 - hits);
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_HOST_WAIT], host_waits);
  return buffer;
}

clp_buffer *clpt_late_take_held(clpt_late_rig *rig, clp_stream stream)
{
  return take_as(rig, stream, 1);
}

clp_buffer *clpt_late_take_new(clpt_late_rig *rig, clp_stream stream)
{
  return take_as(rig, stream, 0);
}

void clpt_late_end_stream(clpt_late_rig *rig)
{
  clpt_ok_quietly(clp_pool_forget_stream(rig->pool, rig->s));
  clpt_late_stream_destroy(&rig->device, rig->s);
}

void clpt_late_come_back(clpt_late_rig *rig)
{
  ck_assert_ptr_eq(clpt_late_stream_new(&rig->device), rig->s);
}
