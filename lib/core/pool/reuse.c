/* SPDX-License-Identifier: MIT */
/* Uses of blocks: noted, settled before another stream gets the block, waited for before it goes.
 */
#include "core/pool/reuse.h"

#include "core/base/error.h"
#include "core/cache/thread_cache.h"
#include "core/pool/pool.h"
#include "core/pool/reclaim.h"

#include <stdlib.h>

clpi_uses clpi_uses_of(clp_buffer *block)
{
  clpi_buffer_state state = clpi_state_of(block);
  bool is_kept = state == CLPI_BUFFER_HELD || state == CLPI_BUFFER_LEAVING;
  if (is_kept && block->use.stream)
    return (clpi_uses){&block->use, 1};
  if (state == CLPI_BUFFER_SPARE || !block->several)
    return (clpi_uses){0};
  return (clpi_uses){block->several->uses, block->several->count};
}

/* --- noting --- */

/* Adds a stream, or brings its use up to date. There is room. */
static void add_use(clpi_several *several, clpi_stream *stream)
{
  size_t i = 0;
  while (i < several->count && several->uses[i].stream != stream)
    i++;
  several->uses[i] = clpi_use_now(stream);
  several->count += i == several->count;
}

/* Room for two more: this use, and the release. */
static bool make_room(clp_buffer *buffer)
{
  clpi_several *several = buffer->several;
  if (several && several->count + 2 <= several->capacity)
    return true;
  size_t count = several ? several->count : 0;
  size_t capacity = 2 * count + 4;
  clpi_several *grown = realloc(several, sizeof(*grown) + capacity * sizeof(grown->uses[0]));
  if (!grown)
    return false;
  grown->count = count;
  grown->capacity = capacity;
  buffer->several = grown;
  return true;
}

clp_status clpi_order_note_use_locked(clp_buffer *buffer, clpi_stream *stream)
{
  if (!make_room(buffer))
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to note a stream");
  add_use(buffer->several, stream);
  clpi_set_state(buffer, CLPI_BUFFER_SHARED);
  return CLP_SUCCESS;
}

void clpi_order_note_release_locked(clp_buffer *buffer, clpi_stream *stream)
{
  clpi_several *several = buffer->several;
  buffer->use = clpi_use_now(stream);
  if (!several || !several->count)
    return;
  for (size_t i = 0; i < several->count; i++)
    several->uses[i] = clpi_use_now(several->uses[i].stream);
  add_use(several, stream);
  if (several->count == 1)
    several->count = 0;
  else
    buffer->use.stream = NULL;
}

/* --- settling --- */

static bool is_settled_locked(clp_buffer *block, const clpi_stream *stream)
{
  clpi_uses all = clpi_uses_of(block);
  for (size_t i = 0; i < all.count; i++)
    if (!clpi_use_is_settled_locked(&all.uses[i], stream))
      return false;
  return true;
}

clp_buffer *clpi_order_take_settled_locked(clp_pool *pool, clpi_bin *bin, const clpi_stream *stream)
{
  clpi_store_list(&pool->store, bin);
  for (clp_buffer *block = bin->newest; block; block = block->older)
    if (is_settled_locked(block, stream)) {
      clpi_store_remove(&pool->store, block);
      return block;
    }
  return NULL;
}

/* Asks for all uses, even if one is at work, so that those that are done need not be waited for. */
static bool settle(clp_pool *pool, clp_buffer *block, clpi_stream *stream, unsigned ways)
{
  clpi_uses all = clpi_uses_of(block);
  bool settled = true;
  for (size_t i = 0; i < all.count && (settled || ways == CLPI_POLL); i++)
    settled = clpi_use_settle(&pool->streams, &all.uses[i], stream, ways) && settled;
  return settled;
}

/* Streams whose blocks were looked at in vain. */
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
  clpi_store_list(&pool->store, bin);
  for (clp_buffer *block = bin->oldest; block; block = block->newer)
    if (!was_tried(before, block->use.stream))
      return block;
  return NULL;
}

void clpi_order_put_back_locked(clp_pool *pool, clp_buffer *block)
{
  if (pool->holding) {
    clpi_store_put(&pool->store, block);
    clpi_come_to_rest_locked(pool);
    return;
  }
  pthread_mutex_unlock(&pool->lock);
  (void)clpi_return_block(pool, block); /* what the device refuses is tried again at the end */
  pthread_mutex_lock(&pool->lock);
}

/* Tries to settle the block, which is in no list meanwhile; if that fails it goes back. What failed
 * is not the request's failure. */
static bool try_block_locked(clp_pool *pool, clp_buffer *block, clpi_stream *stream, unsigned ways)
{
  clpi_store_remove(&pool->store, block);
  clpi_leave_locked(pool, block);
  pthread_mutex_unlock(&pool->lock);
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  bool settled = settle(pool, block, stream, ways);
  pthread_mutex_lock(&pool->lock);
  if (settled)
    clpi_come_to_rest_locked(pool);
  else
    clpi_order_put_back_locked(pool, block);
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
  clpi_store_list(&pool->store, bin);
  for (clp_buffer *block = bin->oldest; block; block = block->newer)
    if (block->use.stream == stream)
      return try_block_locked(pool, block, stream, CLPI_POLL) ? block : NULL;
  return NULL;
}

clp_buffer *clpi_order_take_other_locked(clp_pool *pool, clpi_bin *bin, clpi_stream *stream)
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

/* --- which streams are needed --- */

/* Finds out which streams a handle needs. A held block whose uses are done needs none. */
static void note_needed(clp_buffer *handle, void *argument)
{
  clp_pool *pool = argument;
  clpi_uses uses = clpi_uses_of(handle);
  bool may_change = clpi_state_of(handle) == CLPI_BUFFER_HELD;
  bool is_active = clpi_buffer_is_active(handle);
  for (size_t i = 0; i < uses.count; i++) {
    if (may_change && clpi_use_is_settled_locked(&uses.uses[i], NULL))
      uses.uses[i] = (clpi_use){&pool->streams.home, 0};
    clpi_use_note_needed_locked(&uses.uses[i]);
    uses.uses[i].stream->is_active |= is_active;
  }
  if (handle->bound)
    handle->bound->is_needed = handle->bound->is_active = true;
}

void clpi_order_note_needed_locked(clpi_streams *streams)
{
  clp_pool *pool = clpi_list_entry(streams, clp_pool, streams);
  clpi_caches_claim_locked(pool);
  clpi_handles_each_locked(pool, note_needed, pool);
  clpi_caches_forget_streams_locked(pool);
  clpi_caches_disclaim_locked(pool);
}

/* --- giving back --- */

clp_status clpi_order_free(clp_pool *pool, clp_buffer *block)
{
  return clpi_ordered_free(&pool->streams, pool->allocator, block->memory, block->bin->block_bytes,
                           clpi_uses_of(block));
}

bool clpi_order_is_done(clp_pool *pool, clp_buffer *block)
{
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  bool done = settle(pool, block, NULL, CLPI_POLL);
  clpi_error_restore(&kept);
  return done;
}

bool clpi_order_drain(clp_pool *pool)
{
  return clpi_streams_drain(&pool->streams);
}
