/* SPDX-License-Identifier: MIT */
/* The warm path: inside the cache, which makes its owner alone with it. It looks at the cache, the
 * slot and one line of the handle, and counts in the slot; whatever is not as usual goes the slow
 * way, under the pool's lock (allocate.c, release.c). */
#ifndef CLPOOL_CORE_CACHE_WARM_PATH_H
#define CLPOOL_CORE_CACHE_WARM_PATH_H

#include "core/cache/thread_cache.h"
#include "core/store/bin.h"

/* The stream that a call was given. */
typedef struct clpi_given {
  bool is_given; /* else the home stream counts */
  clp_stream handle;
} clpi_given;

/* Streams that are in order alone are remembered. NULL: the slow way. */
static inline clpi_stream *clpi_recall_stream(clp_pool *pool, const clpi_cache *cache,
                                              clpi_given given)
{
  if (!given.is_given)
    return &pool->streams.home;
  for (size_t i = 0; i < CLPI_RECENT_STREAMS && cache->recent[i]; i++)
    if (cache->recent[i]->handle == given.handle)
      return cache->recent[i];
  return NULL;
}

/* Takes the slot's newest block, if the stream was the last to use it; else NULL. The figures are
 * the caller's to count. */
static inline clp_buffer *clpi_slot_pop(clpi_cache *cache, clpi_cache_slot *slot,
                                        const clpi_stream *stream)
{
  unsigned count = clpi_slot_count(slot);
  clp_buffer *block = count ? slot->blocks[count - 1] : NULL;
  if (!block || block->use.stream != stream)
    return NULL;
  CLPI_STEP();
  clpi_slot_set_count(slot, count - 1);
  cache->cached_bytes -= slot->block_bytes;
  return block;
}

/* The same for the newest of those that the stream was the last to use. */
clp_buffer *clpi_slot_search(clpi_cache *cache, clpi_cache_slot *slot, const clpi_stream *stream);

/* Puts a block into a slot that has room for it. */
__attribute__((always_inline)) static inline void
clpi_slot_push(clpi_cache *cache, clpi_cache_slot *slot, clp_buffer *block)
{
  unsigned count = clpi_slot_count(slot);
  clpi_set_state(block, CLPI_BUFFER_HELD);
  block->age = ++cache->tick;
  slot->blocks[count] = block;
  CLPI_STEP();
  clpi_slot_set_count(slot, count + 1);
  cache->cached_bytes += slot->block_bytes;
}

static inline bool clpi_slot_is_full(const clpi_cache_slot *slot)
{
  return clpi_slot_count(slot) >= slot->capacity;
}

/* Whether the cache may keep the bytes of one block more. */
static inline bool clpi_cache_has_bytes(const clpi_cache *cache, const clpi_cache_slot *slot)
{
  return slot->block_bytes <= CLPI_CACHE_BYTES - cache->cached_bytes;
}

static inline clpi_cache_slot *clpi_slot_at(const clpi_cache *cache, uint32_t index)
{
  return index < cache->slot_count ? &cache->slots[index] : NULL;
}

typedef clp_buffer *clpi_take_from_slot(clpi_cache *cache, clpi_cache_slot *slot,
                                        const clpi_stream *stream);

/* NULL: the slow way. `take` is one of the two above. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_allocate_cached(clp_pool *pool, size_t bytes, clpi_given given, clpi_take_from_slot *take)
{
  clpi_cache *cache = clpi_cache_find(pool);
  if (!cache)
    return NULL;
  uint32_t index =
      clpi_store_index_at(&pool->store, clpi_bin_place_of(pool->store.leading_bits, bytes));
  if (!index || !clpi_cache_enter(cache))
    return NULL;
  const clpi_stream *stream = clpi_recall_stream(pool, cache, given);
  clpi_cache_slot *slot = clpi_slot_at(cache, index);
  clp_buffer *block = slot && stream ? take(cache, slot, stream) : NULL;
  if (block) {
    clpi_set_state(block, CLPI_BUFFER_ACTIVE);
    block->size = bytes;
    slot->tally.hits++;
    slot->tally.requested_bytes += bytes;
    cache->active_bytes += (ptrdiff_t)bytes;
    if (cache->active_bytes > cache->peak_active)
      cache->peak_active = cache->active_bytes;
  }
  clpi_cache_leave(cache);
  return block;
}

/* False: the slow way. */
__attribute__((always_inline)) static inline bool
clpi_release_cached(clp_pool *pool, clp_buffer *buffer, clpi_given given)
{
  clpi_cache *cache = clpi_cache_find(pool);
  if (!cache || !buffer->index || !clpi_cache_enter(cache))
    return false;
  clpi_stream *stream = clpi_recall_stream(pool, cache, given);
  clpi_cache_slot *slot = clpi_slot_at(cache, buffer->index);
  bool released = slot && stream && clpi_state_of(buffer) == CLPI_BUFFER_ACTIVE &&
                  !clpi_slot_is_full(slot) && clpi_cache_has_bytes(cache, slot) &&
                  cache->until_sweep > 0;
  if (released) {
    cache->until_sweep--;
    slot->tally.releases++;
    slot->tally.requested_bytes -= buffer->size;
    cache->active_bytes -= (ptrdiff_t)buffer->size;
    buffer->use = clpi_use_now(stream);
    clpi_slot_push(cache, slot, buffer);
  }
  clpi_cache_leave(cache);
  return released;
}

/* --- what both slow ways have in common --- */

/* The thread's cache and its slot for the bin, or neither: then the bin itself counts. */
typedef struct clpi_place {
  clpi_cache *cache;
  clpi_cache_slot *slot;
  clpi_tally *tally;
} clpi_place;

clpi_place clpi_find_place_locked(clp_pool *pool, clpi_bin *bin);

/* The stream of a call, pinned if it was given. Under no lock. Statuses as clpi_stream_pin's.
 * Unpinned, it is found by the thread's warm path. */
clp_status clpi_given_pin(clp_pool *pool, clpi_given given, clpi_stream **stream);
void clpi_given_unpin_locked(clp_pool *pool, clpi_given given, clpi_stream *stream);

#endif
