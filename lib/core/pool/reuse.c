/* SPDX-License-Identifier: MIT */
/* Reuse of held blocks: those that are settled for a stream, and those that must be settled
 * first. */
#include "core/pool/request.h"

#include "core/pool/leaving.h"

/* Takes a block that was found out of its lane; it leaves. NULL: none was found. */
static clp_buffer *take_locked(clp_pool *pool, clpi_found found)
{
  if (!found.block)
    return NULL;
  clpi_lane_remove(found.slot, found.newest, found.block);
  clpi_leave_locked(pool, found.block);
  return found.block;
}

static bool is_settled_locked(clp_buffer *block, const clpi_stream *stream)
{
  clpi_uses all = clpi_uses_of(block);
  return clpi_uses_are_settled_locked(all.uses, all.count, stream);
}

/* The newest block of the lane if it is settled, or else the oldest; NULL: none is. */
static clp_buffer *settled_end_locked(const clpi_slot *slot, clp_buffer *newest,
                                      const clpi_stream *stream)
{
  if (is_settled_locked(newest, stream))
    return newest;
  clp_buffer *oldest = clpi_lane_oldest(slot, newest);
  return is_settled_locked(oldest, stream) ? oldest : NULL;
}

/* Finds the newest block of the request's bin that is settled for its stream, of those at the ends
 * of lanes. */
static clpi_found find_settled_locked(const clpi_request *wanted)
{
  clpi_found found = {.block = NULL};
  clpi_each_slot (&wanted->pool->shards, wanted->bin->index, shard, slot)
    clpi_each_lane (slot, newest) {
      clp_buffer *block = settled_end_locked(slot, newest, wanted->stream);
      if (block && (!found.block || block->age > found.block->age))
        found = (clpi_found){slot, newest, block};
    }
  return found;
}

clp_buffer *clpi_take_settled(const clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  clpi_shards_lock_all(&pool->shards);
  clp_buffer *block = take_locked(pool, find_settled_locked(wanted));
  clpi_shards_unlock_all(&pool->shards);
  return block;
}

void clpi_hand_out(const clpi_request *wanted, clp_buffer *block)
{
  clp_pool *pool = wanted->pool;
  clpi_shards *shards = &pool->shards;
  uint32_t index = wanted->bin->index;
  clpi_shard *shard = clpi_shards_lock(shards, index);
  clpi_come_to_rest_locked(pool, block);
  if (block->noted)
    block->noted->count = 0;
  clpi_hand_out_locked(shard, clpi_slot_at(shard, index), block, index, wanted->bytes);
  pool->pins += pool->references == 0;
  clpi_shards_unlock(shards, shard);
}

/* Streams whose blocks could not be settled in this search; and the only one whose may be. */
enum { MOST_TRIED = 4 };
typedef struct tried {
  const clpi_stream *streams[MOST_TRIED], *only;
  size_t count;
} tried;

static bool may_try(const clp_buffer *oldest, const tried *before)
{
  for (size_t i = 0; i < before->count; i++)
    if (before->streams[i] == oldest->use.stream)
      return false;
  return !before->only || before->only == oldest->use.stream;
}

/* The oldest block of the request's bin that may be tried. */
static clpi_found find_oldest_locked(const clpi_request *wanted, const tried *before)
{
  clpi_found found = {.block = NULL};
  clpi_each_slot (&wanted->pool->shards, wanted->bin->index, shard, slot)
    clpi_each_lane (slot, newest) {
      clp_buffer *oldest = clpi_lane_oldest(slot, newest);
      if ((!found.block || oldest->age < found.block->age) && may_try(oldest, before))
        found = (clpi_found){slot, newest, oldest};
    }
  return found;
}

/* Tries to settle the block, which is leaving; if that fails, it is held again. A failure does not
 * become the thread's last error. */
static bool try_block(clp_pool *pool, clp_buffer *block, clpi_stream *stream, unsigned ways)
{
  CLPI_KEEPS_ERROR;
  bool settled = clpi_buffer_settle(block, &pool->shards.streams, stream, ways);
  if (!settled)
    clpi_put_back(pool, block);
  return settled;
}

/* Oldest first: the work of blocks that were released long ago is likely to be done. */
static clp_buffer *settle_oldest(const clpi_request *wanted, unsigned ways, size_t most,
                                 const clpi_stream *only)
{
  clp_pool *pool = wanted->pool;
  tried before = {.only = only};
  while (before.count < most) {
    clpi_shards_lock_all(&pool->shards);
    clp_buffer *block = take_locked(pool, find_oldest_locked(wanted, &before));
    clpi_shards_unlock_all(&pool->shards);
    if (!block)
      return NULL;
    before.streams[before.count++] = block->use.stream;
    if (try_block(pool, block, wanted->stream, ways))
      return block;
  }
  return NULL;
}

clp_buffer *clpi_take_other(const clpi_request *wanted)
{
  unsigned flags = wanted->pool->options.reuse_flags;
  clp_buffer *block = clpi_take_settled(wanted);
  if (!block && flags & CLP_REUSE_OPPORTUNISTIC)
    block = settle_oldest(wanted, CLPI_POLL, MOST_TRIED, NULL);
  if (!block && flags & CLP_REUSE_INTERNAL_DEPENDENCIES && wanted->stream->is_ordered)
    block = settle_oldest(wanted, CLPI_WAIT, 1, NULL);
  if (!block && !flags && !wanted->stream->is_in_order)
    block = settle_oldest(wanted, CLPI_POLL, 1, wanted->stream);
  if (block)
    clpi_hand_out(wanted, block);
  return block;
}
