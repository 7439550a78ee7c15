/* SPDX-License-Identifier: MIT */
#include "one_block.h"

#include "core/allocator/allocator.h"
#include "suite.h"

#include <sys/param.h>

static clp_pool *pool_with(clp_allocator *allocator, int number)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool = NULL;
  options.leading_bits_in_bin_id = (unsigned)number % 17;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  return pool;
}

/* Releases a part of the bytes, or all, to the pool or to another one. */
static void hold(clp_pool *pool, clp_pool *other, int number, size_t bytes)
{
  size_t parts[] = {0, bytes / 4, bytes / 2 + 1, bytes};
  size_t part = parts[number / 17 % 4];
  if (part)
    clpt_hold(number / 17 / 4 ? other : pool, part, 1);
}

static void assert_served(clp_pool *pool, size_t bytes, size_t most)
{
  clp_buffer *buffer = NULL;
  clpt_ok_quietly(clp_pool_allocate(pool, bytes, &buffer));
  ck_assert_uint_ge(clp_buffer_capacity(buffer), bytes);
  ck_assert_uint_le(clpt_stats(pool).managed_bytes, most);
  clpt_ok_quietly(clp_buffer_release(buffer));
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
}

void clpt_limit_in_one_block(clp_allocator *allocator, int number, size_t bytes)
{
  size_t grain = allocator->ops.alignment;
  size_t whole = clpi_aligned(bytes, grain);
  size_t limits[] = {bytes - grain, bytes - 1, whole, whole + 1, whole + grain};
  for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
    clp_pool *pool = pool_with(allocator, number), *other = pool_with(allocator, number);
    clp_buffer *buffer = NULL;
    clpt_ok(clp_pool_set_limit(pool, limits[i]));
    hold(pool, other, number, (limits[i] & ~(grain - 1)));
    if (limits[i] >= whole)
      assert_served(pool, bytes, limits[i]);
    else
      clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, bytes, &buffer));
    clp_pool_release(other);
    clp_pool_release(pool);
  }
}

void clpt_device_in_one_block(clp_allocator *allocator, int number, size_t bytes)
{
  size_t grain = allocator->ops.alignment, most = allocator->ops.max_block_bytes;
  clp_status status = bytes ? CLP_OUT_OF_DEVICE_MEMORY : CLP_INVALID_ARGUMENT;
  most = bytes ? bytes : most;
  bytes = bytes ? bytes & ~(grain - 1) : most;
  clp_pool *pool = pool_with(allocator, number), *other = pool_with(allocator, number);
  clp_buffer *buffer = NULL;
  hold(pool, other, number, bytes);
  assert_served(pool, bytes, SIZE_MAX);
  assert_served(pool, bytes - MIN(grain, bytes - 1), SIZE_MAX);
  clpt_fails(status, clp_pool_allocate(pool, most + 1, &buffer));
  assert_served(pool, bytes, SIZE_MAX);
  clp_pool_release(other);
  clp_pool_release(pool);
}
