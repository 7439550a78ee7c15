/* SPDX-License-Identifier: MIT */
/* Reuse of held blocks: those that are settled for a stream, and those that must be settled
 * first. */
#include "core/pool/reuse.h"

#include "core/base/error.h"
#include "core/pool/leaving.h"
#include "core/store/buffer_uses.h"
#include "core/store/runs.h"

static bool is_settled_locked(clp_buffer *block, const clpi_stream *stream)
{
  clpi_uses all = clpi_uses_of(block);
  for (size_t i = 0; i < all.count; i++)
    if (!clpi_use_is_settled_locked(&all.uses[i], stream))
      return false;
  return true;
}

/* A settled block of a run: the newest of it, or else the oldest; NULL: none is. */
static clp_buffer *find_settled_locked(clp_buffer *oldest, const clpi_stream *stream)
{
  clp_buffer *newest = clpi_run_newest(oldest);
  if (is_settled_locked(newest, stream))
    return newest;
  return is_settled_locked(oldest, stream) ? oldest : NULL;
}

clp_buffer *clpi_take_settled_locked(clp_pool *pool, clpi_bin *bin, const clpi_stream *stream)
{
  clpi_store_list(&pool->stock.store, bin);
  clp_buffer *found = NULL;
  clpi_each_run (bin, oldest) {
    clp_buffer *block = find_settled_locked(oldest, stream);
    if (block && (!found || block->age > found->age))
      found = block;
  }
  if (found)
    clpi_store_remove(&pool->stock.store, found);
  return found;
}

/* Settles the block's uses for `stream`. When polling, goes through all of them even if one is
 * still at work, so that those that are done need no wait later. */
static bool settle(clp_pool *pool, clp_buffer *block, clpi_stream *stream, unsigned ways)
{
  clpi_uses all = clpi_uses_of(block);
  bool settled = true;
  for (size_t i = 0; i < all.count && (settled || ways == CLPI_POLL); i++)
    settled = clpi_use_settle(&pool->stock.streams, &all.uses[i], stream, ways) && settled;
  return settled;
}

/* Streams whose blocks could not be settled in this search. */
enum { MOST_TRIED = 4 };
typedef struct tried {
  const clpi_stream *streams[MOST_TRIED];
  size_t count;
} tried;

static bool was_tried(const tried *before, const clpi_stream *stream)
{
  for (size_t i = 0; i < before->count; i++)
    if (before->streams[i] == stream)
      return true;
  return false;
}

/* The oldest block of the bin whose last stream was not tried before. */
static clp_buffer *find_oldest_locked(clp_pool *pool, clpi_bin *bin, const tried *before)
{
  clpi_store_list(&pool->stock.store, bin);
  clp_buffer *found = NULL;
  clpi_each_run (bin, oldest)
    if (!was_tried(before, oldest->use.stream) && (!found || oldest->age < found->age))
      found = oldest;
  return found;
}

/* Tries to settle the block, which leaves meanwhile; if that fails, it is held again. Releases the
 * lock. A failure does not become the thread's last error. */
static bool try_block_locked(clp_pool *pool, clp_buffer *block, clpi_stream *stream, unsigned ways)
{
  clpi_store_remove(&pool->stock.store, block);
  clpi_leave_locked(pool, block);
  pthread_mutex_unlock(&pool->stock.lock);
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  bool settled = settle(pool, block, stream, ways);
  pthread_mutex_lock(&pool->stock.lock);
  if (settled)
    clpi_come_to_rest_locked(pool, block);
  else
    clpi_put_back_locked(pool, block);
  clpi_error_restore(&kept);
  return settled;
}

/* Oldest first: what was released long ago is likely to be done. */
static clp_buffer *settle_oldest_locked(clp_pool *pool, clpi_bin *bin, clpi_stream *stream,
                                        unsigned ways, size_t most)
{
  tried before = {.count = 0};
  while (before.count < most) {
    clp_buffer *block = find_oldest_locked(pool, bin, &before);
    if (!block)
      return NULL;
    before.streams[before.count++] = block->use.stream;
    if (try_block_locked(pool, block, stream, ways))
      return block;
  }
  return NULL;
}

/* The oldest block that this stream alone used last, if its work is done. */
static clp_buffer *settle_own_locked(clp_pool *pool, clpi_bin *bin, clpi_stream *stream)
{
  clpi_store_list(&pool->stock.store, bin);
  clpi_each_run (bin, oldest)
    if (oldest->use.stream == stream)
      return try_block_locked(pool, oldest, stream, CLPI_POLL) ? oldest : NULL;
  return NULL;
}

clp_buffer *clpi_take_other_locked(clp_pool *pool, clpi_bin *bin, clpi_stream *stream)
{
  unsigned flags = pool->options.reuse_flags;
  clp_buffer *block = NULL;
  if (flags & CLP_REUSE_OPPORTUNISTIC)
    block = settle_oldest_locked(pool, bin, stream, CLPI_POLL, MOST_TRIED);
  if (!block && (flags & CLP_REUSE_INTERNAL_DEPENDENCIES) && stream->is_ordered)
    block = settle_oldest_locked(pool, bin, stream, CLPI_WAIT, 1);
  if (!flags && !stream->is_in_order)
    block = settle_own_locked(pool, bin, stream);
  return block;
}

bool clpi_is_done(clp_pool *pool, clp_buffer *block)
{
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  bool done = settle(pool, block, NULL, CLPI_POLL);
  clpi_error_restore(&kept);
  return done;
}
