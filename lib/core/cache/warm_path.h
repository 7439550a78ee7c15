/* SPDX-License-Identifier: MIT */
/* The warm path: inside the cache, which makes its owner alone with it. It looks at the cache, the
 * slot and one line of the buffer, and counts in the slot; whatever is not as usual goes the slow
 * way, under the lock. */
#ifndef CLPOOL_CORE_CACHE_WARM_PATH_H
#define CLPOOL_CORE_CACHE_WARM_PATH_H

#include "core/cache/fence.h"
#include "core/cache/thread_cache.h"
#include "core/store/bin.h"

/* Who wants to see each call: while there are any, calls ask the hooks first. */
extern atomic_uint clpi_watchers __attribute__((visibility("hidden")));

static inline bool clpi_is_watched(void)
{
  /* Relaxed: whoever was told of a registration by its thread sees it counted. */
  return __builtin_expect(atomic_load_explicit(&clpi_watchers, memory_order_relaxed) != 0, 0);
}

/* Where a thread finds its cache for a pool: a slot of this table, by clpi_stock.lookup. Ids are
 * never used twice, so an entry of a stock that has ended matches no other. */
enum { CLPI_LOOKUPS = 16 };
typedef struct clpi_lookup {
  uint64_t stock_id; /* 0: none */
  clpi_cache *cache;
} clpi_lookup;

/* Small enough for the static TLS that dlopen keeps in reserve, which saves a call at each use. */
extern _Thread_local clpi_lookup clpi_lookups[CLPI_LOOKUPS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The calling thread's cache for the stock, if it is at hand; else the slow way finds it. */
static inline clpi_cache *clpi_cache_find(const clpi_stock *stock)
{
  const clpi_lookup *lookup = &clpi_lookups[stock->lookup];
  return lookup->stock_id == stock->id ? lookup->cache : NULL;
}

static inline void clpi_cache_leave(clpi_cache *cache)
{
  /* Release: pairs with the acquiring load in clpi_caches_claim_locked, which then sees what the
   * owner did. Nothing of the pool may be touched after it. */
  CLPI_STEP();
  atomic_store_explicit(&cache->busy, false, memory_order_release);
  CLPI_STEP();
}

/* The owner's way in; false: claimed, go the slow way. */
static inline bool clpi_cache_enter(clpi_cache *cache)
{
  clpi_fence_light_set(&cache->busy);
  /* Acquires what the last claimer did, from its release in clpi_caches_disclaim_locked;
   * sequentially consistent for the fence without membarrier, where it pairs with the store of
   * `claimed`. */
  bool claimed = atomic_load_explicit(&cache->claimed, memory_order_seq_cst);
  CLPI_STEP();
  if (!claimed)
    return true;
  clpi_cache_leave(cache);
  return false;
}

static inline unsigned clpi_slot_count(const clpi_cache_slot *slot)
{
  return atomic_load_explicit(&slot->count, memory_order_relaxed);
}

static inline void clpi_slot_set_count(clpi_cache_slot *slot, unsigned count)
{
  atomic_store_explicit(&slot->count, count, memory_order_relaxed);
}

/* The stream that a call was given. */
typedef struct clpi_given {
  bool is_given; /* else the home stream counts */
  clp_stream handle;
} clpi_given;

/* Streams that are in order alone are remembered. NULL: the slow way. */
static inline clpi_stream *clpi_recall_stream(clpi_stock *stock, const clpi_cache *cache,
                                              clpi_given given)
{
  if (!given.is_given)
    return &stock->streams.home;
  for (size_t i = 0; i < CLPI_RECENT_STREAMS && cache->recent[i]; i++)
    if (cache->recent[i]->handle == given.handle)
      return cache->recent[i];
  return NULL;
}

/* The index of a bin; 0 if it was never used. Needs no lock. */
static inline uint32_t clpi_bin_index(const clpi_block_store *store, clpi_bin_parts parts)
{
  /* Acquire: pairs with the release in make_level, after which the indexes are there. */
  _Atomic uint32_t *indexes =
      atomic_load_explicit(&store->levels[parts.level].indexes, memory_order_acquire);
  /* Relaxed: a thread uses the index only to look into its own cache, where it finds no such slot
   * until it has been under the lock. */
  return indexes ? atomic_load_explicit(&indexes[parts.mantissa], memory_order_relaxed) : 0;
}

/* Takes the newest of a slot's `count` blocks, of which there is one, if the stream was the last to
 * use it; else NULL. The figures are the caller's to count. */
static inline clp_buffer *clpi_slot_pop(clpi_cache *cache, clpi_cache_slot *slot, unsigned count,
                                        const clpi_stream *stream)
{
  clp_buffer *block = slot->blocks[count - 1];
  if (block->use.stream != stream)
    return NULL;
  CLPI_STEP();
  clpi_slot_set_count(slot, count - 1);
  cache->cached_bytes -= slot->block_bytes;
  return block;
}

/* The same for the newest of those that the stream was the last to use. */
clp_buffer *clpi_slot_search(clpi_cache *cache, clpi_cache_slot *slot, unsigned count,
                             const clpi_stream *stream);

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

typedef clp_buffer *clpi_take_from_slot(clpi_cache *cache, clpi_cache_slot *slot, unsigned count,
                                        const clpi_stream *stream);

/* NULL: the slow way. `take` is one of the two above. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_allocate_cached(clpi_stock *stock, size_t bytes, clpi_given given, clpi_take_from_slot *take)
{
  clpi_cache *cache = clpi_cache_find(stock);
  if (!cache)
    return NULL;
  uint32_t index =
      clpi_bin_index(&stock->store, clpi_bin_parts_of(stock->store.leading_bits, bytes));
  if (!index || !clpi_cache_enter(cache))
    return NULL;
  const clpi_stream *stream = clpi_recall_stream(stock, cache, given);
  clpi_cache_slot *slot = clpi_slot_at(cache, index);
  unsigned count = slot ? clpi_slot_count(slot) : 0;
  clp_buffer *block = count && stream ? take(cache, slot, count, stream) : NULL;
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
clpi_release_cached(clpi_stock *stock, clp_buffer *buffer, clpi_given given)
{
  clpi_cache *cache = clpi_cache_find(stock);
  if (!cache || !buffer->index || !clpi_cache_enter(cache))
    return false;
  clpi_stream *stream = clpi_recall_stream(stock, cache, given);
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

/* Unpins the stream that a call was given; the thread's warm path finds it from now on. */
void clpi_given_unpin_locked(clpi_stock *stock, clpi_stream *stream);

#endif
