/* SPDX-License-Identifier: MIT */
/* Held blocks that streams still use, where parts are exclusive: they go back to the allocator only
 * when that is done, so without a bound the pool would take the more the further the host is ahead
 * of the device. What the pool manages may be as much as was ever active at once; before it becomes
 * more, the host waits. */
#include "core/pool/leaving.h"

#include "core/base/error.h"
#include "core/shard/all.h"

#include <sys/param.h>

/* How much of what is held has to go. Half of it at once, so that what comes back lies together,
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

/* How many bytes went back. 0: nothing is held, or what is will not be done soon. */
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

void clpi_in_flight_bound(clp_pool *pool, size_t bytes)
{
  size_t excess = find_excess(pool, bytes), gone = 0, last = 1;
  CLPI_KEEPS_ERROR;
  for (; gone < excess && last; gone += last)
    last = give_back_oldest(pool);
}
