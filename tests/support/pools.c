/* SPDX-License-Identifier: MIT */
/* Pools and buffers for tests. */
#include "pools.h"

#include "core/allocator/allocator.h"
#include "suite.h"
#include "workers.h"

enum { MOST_HELD = 64 };

clp_memory clpt_memory(clp_allocator *allocator, size_t bytes)
{
  clp_memory memory = 0;
  clpt_ok(clp_allocator_allocate(allocator, bytes, &memory));
  ck_assert_uint_ne(memory, 0);
  return memory;
}

clp_pool *clpt_pool(clp_allocator *allocator)
{
  clp_pool *pool = NULL;
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
  ck_assert_ptr_nonnull(pool);
  return pool;
}

void clpt_rig_start(clpt_rig *rig)
{
  clpt_device_init(&rig->device);
  clpt_rig_start_with(rig, NULL);
}

/* Aligns so coarsely that a refused block is not asked for once more: the requested size, rounded
 * to that, is the bin's. */
void clpt_rig_start_with(clpt_rig *rig, const clp_pool_options *options)
{
  if (!rig->device.ops.alignment)
    rig->device.ops.alignment = (size_t)1 << 20;
  rig->allocator = clpt_device_allocator(&rig->device);
  rig->pool = NULL;
  clpt_ok(clp_pool_create(rig->allocator, options, &rig->pool));
  ck_assert_ptr_nonnull(rig->pool);
}

void clpt_rig_end(clpt_rig *rig)
{
  clp_pool_release(rig->pool);
  clp_allocator_release(rig->allocator);
  clpt_device_assert_ended(&rig->device);
}

size_t clpt_bin_bytes(size_t bytes)
{
  return clp_bin_size(4, clp_bin_number(4, bytes));
}

clp_buffer *clpt_allocate(clp_pool *pool, size_t bytes)
{
  clp_buffer *buffer = NULL;
  clpt_ok(clp_pool_allocate(pool, bytes, &buffer));
  ck_assert_ptr_nonnull(buffer);
  ck_assert_uint_eq(clp_buffer_size(buffer), bytes);
  ck_assert_uint_ge(clp_buffer_capacity(buffer), bytes);
  ck_assert_ptr_eq(clp_buffer_pool(buffer), pool);
  if (bytes > 0)
    ck_assert_uint_ne(clp_buffer_memory(buffer), 0);
  return buffer;
}

void clpt_hold(clp_pool *pool, size_t bytes, size_t blocks)
{
  clp_buffer *buffers[MOST_HELD];
  ck_assert_uint_le(blocks, MOST_HELD);
  for (size_t i = 0; i < blocks; i++)
    buffers[i] = clpt_allocate(pool, bytes);
  for (size_t i = 0; i < blocks; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
}

static void *release(void *buffer)
{
  return clp_buffer_release(buffer) ? buffer : NULL;
}

void clpt_release_aside(clp_buffer *buffer)
{
  ck_assert_ptr_null(clpt_aside(release, buffer));
}

bool clpt_holds_nothing(const clp_pool *pool)
{
  return clp_pool_allocator(pool)->carver_lock;
}

const char *clpt_disagreement(const clp_pool *pool, const clp_pool_stats *stats)
{
  bool keeps = clp_pool_allocator(pool)->ops.allocate_within; /* the allocator; so pools share it */
  uint64_t taken = stats->device_allocations - stats->device_frees;
  /* A buffer of zero bytes is a hit without a block. */
  return stats->held_bytes > stats->managed_bytes ? "more held than managed bytes"
         : stats->active_bytes > stats->managed_bytes - stats->held_bytes
             ? "more active bytes than managed ones that are not held"
         : stats->peak_managed_bytes < stats->managed_bytes ? "managed bytes above their peak"
         : stats->peak_active_bytes < stats->active_bytes   ? "active bytes above their peak"
         : stats->allocations != stats->hits + stats->misses
             ? "allocations that are neither hits nor misses"
         : !keeps && stats->device_allocations < stats->device_frees ? "more frees than allocations"
         : !keeps && stats->active_blocks + stats->held_blocks > taken + stats->hits
             ? "more blocks than there can be"
             : NULL;
}

clp_pool_stats clpt_stats(const clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  const char *disagreement;
  clpt_ok(clp_pool_get_stats(pool, &stats));
  disagreement = clpt_disagreement(pool, &stats);
  ck_assert_msg(disagreement == NULL, "%s", disagreement);
  return stats;
}

void clpt_assert_same_figures(const clp_pool_stats *before, const clp_pool_stats *after)
{
#define SAME(field) ck_assert_uint_eq(before->field, after->field)
  SAME(held_blocks);
  SAME(active_blocks);
  SAME(managed_bytes);
  SAME(active_bytes);
  SAME(held_bytes);
  SAME(peak_active_bytes);
  SAME(allocations);
  SAME(hits);
  SAME(misses);
}
