/* SPDX-License-Identifier: MIT */
/* The warm path: an owner that is inside its cache has it to itself. The warm path touches the
 * cache, the slot and one cache line of the buffer, and counts in the slot. Whatever is unusual
 * takes the slow path, under the lock. */
#ifndef CLPOOL_CORE_CACHE_WARM_PATH_H
#define CLPOOL_CORE_CACHE_WARM_PATH_H

#include "core/cache/fence.h"
#include "core/cache/thread_cache.h"
#include "core/store/bin.h"

/* The number of registered hooks. While it is not 0, each call checks for hooks first. */
extern atomic_uint clpi_watchers __attribute__((visibility("hidden")));

static inline bool clpi_is_watched(void)
{
  /* Relaxed: a thread that learns of a registration from the one that made it sees the count. */
  return __builtin_expect(atomic_load_explicit(&clpi_watchers, memory_order_relaxed) != 0, 0);
}

/* Where a thread finds its cache for a pool: the slot clpi_stock.lookup of its own table. Ids are
 * never reused, so the entry of a stock that has ended matches no other. */
enum { CLPI_LOOKUPS = 16 };
typedef struct clpi_lookup {
  uint64_t stock_id; /* 0: none */
  clpi_cache *cache;
} clpi_lookup;

/* Small enough for the static TLS that dlopen keeps in reserve, so no use needs a call of
 * __tls_get_addr. */
extern _Thread_local clpi_lookup clpi_lookups[CLPI_LOOKUPS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The calling thread's cache for the stock, if the table has it; NULL: the slow path looks for
 * it. */
static inline clpi_cache *clpi_cache_find(const clpi_stock *stock)
{
  const clpi_lookup *lookup = &clpi_lookups[stock->lookup];
  if (lookup->stock_id != stock->id)
    return NULL;
  if (!lookup->cache)
    __builtin_unreachable(); /* so that callers test once */
  return lookup->cache;
}

static inline void clpi_cache_leave(clpi_cache *cache)
{
  /* Release: pairs with the load in clpi_caches_claim_locked, so that the claimer sees what the
   * owner did. The owner must not touch anything of the pool after this store. */
  CLPI_STEP();
  atomic_store_explicit(&cache->busy, false, memory_order_release);
  CLPI_STEP();
}

/* Lets the owner in. False: the cache is claimed; take the slow path. */
static inline bool clpi_cache_enter(clpi_cache *cache)
{
  clpi_fence_light_set(&cache->busy);
  /* Acquire: pairs with the release in clpi_caches_disclaim_locked, so that the owner sees what the
   * last claimer did. Sequentially consistent for the fence without membarrier: pairs with the
   * store in clpi_caches_claim_locked. */
  bool claimed = atomic_load_explicit(&cache->claimed, memory_order_seq_cst);
  CLPI_STEP();
  if (!claimed)
    return true;
  clpi_cache_leave(cache);
  return false;
}

static inline bool clpi_cache_must_sweep(const clpi_cache *cache)
{
  return clpi_relaxed(cache->tick) >= cache->sweep_tick;
}

/* The stream argument of a call. */
typedef struct clpi_given {
  bool is_given; /* false: the call is for the home stream */
  clp_stream handle;
} clpi_given;

/* The record of the given stream; NULL: take the slow path. Only in-order streams are
 * remembered. */
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

/* Takes the newest of a slot's `count` blocks, at least one, if the stream used it last; otherwise
 * returns NULL. The caller counts the hit. */
static inline clp_buffer *clpi_slot_pop(clpi_cache_slot *slot, unsigned count,
                                        const clpi_stream *stream)
{
  clp_buffer *block = slot->blocks[count - 1];
  if (block->use.stream != stream)
    return NULL;
  CLPI_STEP();
  clpi_set_relaxed(slot->count, count - 1);
  return block;
}

/* As clpi_slot_pop, but takes the newest block that the stream used last, wherever it is in the
 * slot. */
clp_buffer *clpi_slot_search(clpi_cache_slot *slot, unsigned count, const clpi_stream *stream);

/* Puts a block into a slot whose array has a place for it. */
__attribute__((always_inline)) static inline void
clpi_slot_push(clpi_cache *cache, clpi_cache_slot *slot, clp_buffer *block)
{
  unsigned count = clpi_relaxed(slot->count);
  clpi_set_state(block, CLPI_BUFFER_HELD);
  uint64_t tick = clpi_relaxed(cache->tick) + 1;
  clpi_set_relaxed(cache->tick, tick);
  block->age = tick;
  slot->blocks[count] = block;
  CLPI_STEP();
  clpi_set_relaxed(slot->count, count + 1);
}

static inline bool clpi_slot_has_room(const clpi_cache_slot *slot)
{
  return clpi_relaxed(slot->count) < slot->room;
}

/* NULL: the cache has none for the bin. The slot of index 0 is never used, and always empty. */
static inline clpi_cache_slot *clpi_slot_at(const clpi_cache *cache, uint32_t index)
{
  if (index >= cache->slot_count)
    return NULL;
  clpi_cache_slot *slot = &cache->slots[index];
  if (!slot)
    __builtin_unreachable(); /* so that callers test once */
  return slot;
}

typedef clp_buffer *clpi_take_from_slot(clpi_cache_slot *slot, unsigned count,
                                        const clpi_stream *stream);

/* NULL: take the slow path. `take` is clpi_slot_pop or clpi_slot_search. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_allocate_cached(clpi_stock *stock, size_t bytes, clpi_given given, clpi_take_from_slot *take)
{
  clpi_cache *cache = clpi_cache_find(stock);
  if (!cache)
    return NULL;
  /* Relaxed: the thread uses the index only to find a slot in its own cache, and such a slot exists
   * only after the thread has held the lock since the bin got its index. */
  size_t bin_number = clpi_bin_number(stock->store.leading_bits, bytes);
  uint32_t index = clpi_relaxed(stock->store.indexes[bin_number]);
  if (!clpi_cache_enter(cache))
    return NULL;
  const clpi_stream *stream = clpi_recall_stream(stock, cache, given);
  clpi_cache_slot *slot = clpi_slot_at(cache, index);
  unsigned count = slot ? clpi_relaxed(slot->count) : 0;
  size_t active = clpi_relaxed(cache->active_bytes) + bytes;
  bool rises = (ptrdiff_t)(active - cache->peak_active) > 0;
  bool is_noted = rises && (ptrdiff_t)(active - cache->ceiling) > 0;
  clp_buffer *block = count && stream && !is_noted ? take(slot, count, stream) : NULL;
  if (block) {
    clpi_set_state(block, CLPI_BUFFER_ACTIVE);
    block->size = bytes;
    slot->tally.hits++;
    clpi_set_relaxed(cache->active_bytes, active);
    if (rises)
      cache->peak_active = active;
  }
  clpi_cache_leave(cache);
  return block;
}

/* False: nothing was done; take the slow path. */
__attribute__((always_inline)) static inline bool
clpi_release_cached(clpi_stock *stock, clp_buffer *buffer, clpi_given given)
{
  clpi_cache *cache = clpi_cache_find(stock);
  if (!cache || !clpi_cache_enter(cache))
    return false;
  clpi_stream *stream = clpi_recall_stream(stock, cache, given);
  clpi_cache_slot *slot = clpi_slot_at(cache, buffer->index);
  bool released = slot && stream && clpi_state_of(buffer) == CLPI_BUFFER_ACTIVE &&
                  clpi_slot_has_room(slot) && !clpi_cache_must_sweep(cache);
  if (released) {
    slot->tally.releases++;
    clpi_set_relaxed(cache->active_bytes, clpi_relaxed(cache->active_bytes) - buffer->size);
    buffer->use = clpi_use_now(stream);
    clpi_slot_push(cache, slot, buffer);
  }
  clpi_cache_leave(cache);
  return released;
}

/* Unpins the stream of a call. If it is in order, the thread's warm path finds it from now on. */
void clpi_given_unpin_locked(clpi_stock *stock, clpi_stream *stream);

#endif
