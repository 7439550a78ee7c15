/* SPDX-License-Identifier: MIT */
/* A block from an allocator that keeps memory, such as an arena: held blocks go back to it before
 * it grows. */
#include "core/pool/request.h"

#include "core/pool/leaving.h"

#include <sys/param.h>

/* Whether held blocks go back before the request is placed, so that it can get the lowest place.
 * This looks at all bins, so it is due only after some releases for each. It needs one in-order
 * stream for all work: otherwise the place might have to wait for other work. */
static bool is_due_locked(const clpi_shards *shards, uint64_t releases)
{
  enum { RELEASES_A_BIN = 4 };
  return shards->streams.home.is_in_order && !shards->streams.count &&
         releases >= (uint64_t)RELEASES_A_BIN * shards->bins.count;
}

/* Where parts are exclusive, a block that streams still use would not help, and is held again.
 *
 * All at once: of held blocks that lie side by side, those that went first would be cut up before
 * the others follow. `bytes` are wanted, and `is_urgent` says that there are none. False: it is not
 * due, or nothing was held. */
static bool give_back_held(clp_pool *pool, size_t bytes, bool is_urgent)
{
  clpi_shards *shards = &pool->shards;
  clp_buffer *chain = NULL;
  clpi_shards_lock_all(shards);
  uint64_t tick = shards->tick, releases = tick - pool->gave_back_tick;
  bool is_due = is_urgent || (releases && is_due_locked(shards, releases));
  if (is_due) {
    chain = clpi_leave_each_locked(pool, clpi_take_all_held_locked(&pool->shards));
    pool->gave_back_tick = tick;
  }
  if (is_due) { /* all but what is leaving is active */
    size_t active = shards->managed_bytes - pool->leaving_bytes + bytes;
    pool->most_active_bytes = MAX(pool->most_active_bytes, active);
  }
  clpi_shards_unlock_all(shards);
  bool is_any = chain;
  (void)clpi_return_chain(pool, &chain, pool->allocator->ops.exclusive_parts);
  return is_any;
}

/* --- blocks in flight ---
 *
 * Held blocks that streams still use, if parts are exclusive. They can go back to the allocator
 * only when that use is done. Without a bound, the pool would take more memory the further the host
 * is ahead of the device. The pool may manage as much as was ever active at once. Before it takes
 * more, the host waits. */

/* Returns how many of the held bytes must go: half of them at once, so that they lie together,
 * while the device still has work to do. */
static size_t find_excess(clp_pool *pool, size_t bytes)
{
  clpi_shards *shards = &pool->shards;
  pthread_mutex_lock(&shards->lock);
  size_t managed = shards->managed_bytes + bytes, held = clpi_held_bytes_hint(shards);
  size_t most = pool->most_active_bytes;
  pthread_mutex_unlock(&shards->lock);
  return managed > most ? MAX(managed - most, held / 2) : 0;
}

static bool wait_briefly(clp_pool *pool, clp_buffer *block)
{
  clpi_uses all = clpi_uses_of(block);
  bool done = true;
  for (size_t i = 0; i < all.count && done; i++)
    done = clpi_use_wait_briefly(&pool->shards.streams, &all.uses[i]);
  return done;
}

/* Returns how many bytes went back. 0: nothing is held, or the use of the held blocks will not end
 * soon. */
static size_t give_back_oldest(clp_pool *pool)
{
  clpi_shards_lock_all(&pool->shards);
  clp_buffer *block =
      clpi_leave_each_locked(pool, clpi_take_oldest_locked(&pool->shards, 1, UINT64_MAX));
  clpi_shards_unlock_all(&pool->shards);
  if (!block)
    return 0;
  size_t bytes = block->bytes;
  if (wait_briefly(pool, block))
    return clpi_return_block(pool, block) ? 0 : bytes;
  clpi_put_back(pool, block);
  return 0;
}

/* Before the pool manages `bytes` beyond the bound, waits for the oldest of the held blocks, at
 * least half of them, and gives them back. It waits at most some milliseconds for each stream,
 * because the stream's work may itself wait for the host. */
static void bound_in_flight(clp_pool *pool, size_t bytes)
{
  size_t excess = find_excess(pool, bytes), gone = 0, last = 1;
  CLPI_KEEPS_ERROR;
  for (; gone < excess && last; gone += last)
    last = give_back_oldest(pool);
}

/* --- fitting --- */

clp_status clpi_fit(clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  const clp_allocator *allocator = pool->allocator;
  clp_memory_request request = {.bytes = wanted->block_bytes,
                                .stream = wanted->stream->handle,
                                .reuse_flags = pool->options.reuse_flags};
  size_t limit = clp_pool_get_limit(pool);
  request.most_bytes = limit ? limit : SIZE_MAX;
  if (pool->shards.carving)
    return clpi_allocator_allocate_within(allocator, &request, &wanted->memory);
  size_t most = request.most_bytes;
  request.most_bytes = 0;
  bool was_due = give_back_held(pool, request.bytes, false);
  clp_status status = clpi_allocator_allocate_within(allocator, &request, &wanted->memory);
  if (status == CLP_OUT_OF_DEVICE_MEMORY && !was_due && give_back_held(pool, request.bytes, true))
    status = clpi_allocator_allocate_within(allocator, &request, &wanted->memory);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  if (allocator->ops.exclusive_parts)
    bound_in_flight(pool, request.bytes);
  request.most_bytes = most;
  return clpi_allocator_allocate_within(allocator, &request, &wanted->memory);
}
