/* SPDX-License-Identifier: MIT */
/* Threads on one pool of host memory. */
#include "crowd.h"

#include "suite.h"

void clpt_crowd_start(clpt_crowd *crowd, unsigned workers)
{
  memset(crowd, 0, sizeof(*crowd));
  clpt_ok(clp_host_allocator_create(0, &crowd->allocator));
  crowd->pool = clpt_pool(crowd->allocator);
  atomic_store(&crowd->at_work, workers);
}

void clpt_crowd_end(clpt_crowd *crowd)
{
  clp_pool_stats stats = clpt_stats(crowd->pool);

  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.active_bytes, 0);
  ck_assert_uint_eq(stats.managed_bytes, stats.held_bytes);
  ck_assert_uint_eq(stats.allocations, atomic_load(&crowd->allocations));
  ck_assert_uint_eq(stats.device_allocations, stats.misses);
  ck_assert_uint_eq(stats.device_allocations - stats.device_frees, stats.held_blocks);
  clpt_ok(clp_pool_free_held(crowd->pool));
  stats = clpt_stats(crowd->pool);
  ck_assert_uint_eq(stats.managed_bytes, 0);
  ck_assert_uint_eq(stats.device_allocations, stats.device_frees);
  clp_pool_release(crowd->pool);
  clp_allocator_release(crowd->allocator);
}

static void fill(clp_buffer *buffer, unsigned char pattern)
{
  memset((void *)clp_buffer_memory(buffer), pattern, clp_buffer_capacity(buffer));
}

static bool is_filled(const clp_buffer *buffer, unsigned char pattern)
{
  const unsigned char *bytes = (const unsigned char *)clp_buffer_memory(buffer);

  for (size_t i = 0; i < clp_buffer_capacity(buffer); i++)
    if (bytes[i] != pattern)
      return false;
  return true;
}

clp_buffer *clpt_take_filled(clpt_worker *self, clpt_crowd *crowd, unsigned char pattern)
{
  size_t bytes = (size_t)1 << clpt_chance_below(&self->chance, 11);
  clp_buffer *buffer = NULL;
  clp_status status;

  bytes += (size_t)clpt_chance_below(&self->chance, bytes);
  status = clp_pool_allocate(crowd->pool, bytes, &buffer);
  if (status == CLP_LIMIT_EXCEEDED)
    return NULL;
  if (status != CLP_SUCCESS) {
    clpt_wrong(self, "%zu bytes: %s", bytes, clp_last_error()->message);
    return NULL;
  }
  atomic_fetch_add(&crowd->allocations, 1);
  fill(buffer, pattern);
  return buffer;
}

void clpt_release_filled(clpt_worker *self, clp_buffer *buffer, unsigned char pattern)
{
  if (buffer == NULL)
    return;
  if (!is_filled(buffer, pattern))
    clpt_wrong(self, "a block of %zu bytes was overwritten", clp_buffer_capacity(buffer));
  clpt_note_failure(self, "release", clp_buffer_release(buffer));
}
