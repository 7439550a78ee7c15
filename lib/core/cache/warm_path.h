/* SPDX-License-Identifier: MIT */
/* The warm path: an owner that is inside its cache has it to itself. The warm path touches the
 * cache, the slot and one cache line of the buffer, and counts in the slot. Whatever is unusual
 * takes the slow path, under the lock. */
#ifndef CLPOOL_CORE_CACHE_WARM_PATH_H
#define CLPOOL_CORE_CACHE_WARM_PATH_H

#include "core/cache/thread_cache.h"
#include "core/store/bin.h"

/* The number of registered hooks. */
extern atomic_uint clpi_watchers __attribute__((visibility("hidden")));

static inline bool clpi_is_watched(void)
{
  /* Relaxed: a thread that learns of a registration from the one that made it sees the count. */
  return __builtin_expect(atomic_load_explicit(&clpi_watchers, memory_order_relaxed) != 0, 0);
}

enum { CLPI_NO_NUMBER = INT_MAX, CLPI_WATCHED = CLPI_NO_NUMBER - 1 };

/* What a thread is to the library. In static TLS, of which dlopen keeps little in reserve, and
 * without a call of __tls_get_addr. */
typedef struct clpi_thread {
  uint32_t number;      /* its place in each stock, or CLPI_NO_NUMBER; that of one that has ended
                           serves another */
  uint32_t warm_number; /* the same, but CLPI_WATCHED, of no place, while the thread has hooks */
  clpi_list caches;     /* of clpi_cache.on_thread; guarded by the registry's lock */
} clpi_thread;

extern _Thread_local clpi_thread clpi_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Whether the calling thread owns the cache. */
static inline bool clpi_cache_is_own(const clpi_cache *cache)
{
  return cache->owner == &clpi_self;
}

/* The cache of the thread of this number for the stock; NULL: it has none. */
static inline clpi_cache *clpi_cache_of_number(const clpi_stock *stock, size_t number)
{
  /* Acquire: pairs with make_place_locked. */
  const clpi_place *places = clpi_acquired(stock->places);
  if (__builtin_expect(number >= CLPI_LEAST_PLACES, 0) && number >= places->count)
    return NULL;
  return clpi_relaxed(places[number].cache);
}

/* The calling thread's. */
static inline clpi_cache *clpi_cache_find(const clpi_stock *stock)
{
  return clpi_cache_of_number(stock, clpi_self.number);
}

static inline bool clpi_cache_must_sweep(const clpi_cache *cache, uint64_t tick)
{
  return tick >= cache->sweep_tick;
}

/* What the owners have active, a hint unless the cache is claimed. Acquire: pairs with
 * clpi_cache_set_peak, so that a new peak is not seen with what was below the one before. */
static inline size_t clpi_cache_active_bytes(const clpi_cache *cache)
{
  size_t peak = clpi_acquired(cache->peak_active);
  return peak - clpi_relaxed(cache->below_peak);
}

/* So much is active, and that is the peak. */
static inline void clpi_cache_set_peak(clpi_cache *cache, size_t active)
{
  clpi_set_relaxed(cache->below_peak, 0);
  clpi_publish(cache->peak_active, active);
}

/* Counts an allocation of the owner's. Where there are other threads, a rise above the ceiling has
 * the next release note the peak. */
static inline void clpi_cache_count_active(clpi_stock *stock, clpi_cache *cache, size_t bytes)
{
  size_t below_peak;
  bool is_peak = __builtin_sub_overflow(clpi_relaxed(cache->below_peak), bytes, &below_peak);
  if (!is_peak) { /* nor above the ceiling, which is no lower than the peak */
    clpi_set_relaxed(cache->below_peak, below_peak);
    return;
  }
  size_t active = clpi_relaxed(cache->peak_active) - below_peak;
  clpi_cache_set_peak(cache, active);
  bool rises = (ptrdiff_t)(active - cache->ceiling) > 0;
  if (rises)
    cache->ceiling = active + clpi_relaxed(stock->grant);
  const clpi_cache *first = clpi_relaxed(stock->caches);
  bool has_others = clpi_relaxed(first->next);
  if (rises && has_others && !(clpi_relaxed(stock->unusual) & CLPI_MAY_PEAK))
    atomic_fetch_or_explicit(&stock->unusual, CLPI_MAY_PEAK, memory_order_relaxed);
}

static inline void clpi_cache_count_inactive(clpi_cache *cache, size_t bytes)
{
  clpi_set_relaxed(cache->below_peak, clpi_relaxed(cache->below_peak) + bytes);
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

/* How many blocks it has; to others a hint of whether it has any. */
static inline unsigned clpi_slot_count(const clpi_slot *slot)
{
  return (unsigned)(clpi_relaxed(slot->top) - clpi_relaxed(slot->blocks));
}

static inline void clpi_slot_set_count(clpi_slot *slot, unsigned count)
{
  clpi_set_relaxed(slot->top, clpi_relaxed(slot->blocks) + count);
}

/* A release that finds as many blocks here takes the slow path. At most the capacity. */
static inline unsigned clpi_slot_room(const clpi_slot *slot)
{
  return (unsigned)(clpi_relaxed(slot->limit) - clpi_relaxed(slot->blocks));
}

static inline void clpi_slot_set_room(clpi_slot *slot, unsigned room)
{
  clpi_set_relaxed(slot->limit, clpi_relaxed(slot->blocks) + room);
}

static inline unsigned clpi_slot_capacity(const clpi_slot *slot)
{
  return (1u << slot->capacity_log) - 1;
}

static inline bool clpi_slot_is_full(const clpi_slot *slot, clp_buffer **top)
{
  return top >= clpi_relaxed(slot->limit);
}

/* Takes the newest block that the stream used last, wherever it is in the slot; NULL: there is
 * none. */
clp_buffer *clpi_slot_search(clpi_slot *slot, const clpi_stream *stream);

/* Takes the newest block if the stream used it last; else searches for one, or not. NULL: none. The
 * caller counts the hit. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_slot_take(clpi_slot *slot, const clpi_stream *stream, bool searches)
{
  clp_buffer **top = clpi_relaxed(slot->top);
  if (!top)
    return NULL;
  clp_buffer **newest = top - 1, *block = *newest;
  if (block->use.stream != stream)
    return searches && block != &clpi_no_block ? clpi_slot_search(slot, stream) : NULL;
  CLPI_STEP();
  clpi_set_relaxed(slot->top, newest);
  return block;
}

/* Puts a block into a slot that has a place for it. The slot's `top` and the cache's `tick` are
 * what the caller has loaded, lest a warm release load them again. */
__attribute__((always_inline)) static inline void clpi_slot_push(clpi_cache *cache, uint64_t tick,
                                                                 clpi_slot *slot, clp_buffer **top,
                                                                 clp_buffer *block)
{
  clpi_set_state(block, CLPI_BUFFER_HELD);
  clpi_set_relaxed(cache->tick, tick + 1);
  block->age = tick + 1;
  *top = block;
  CLPI_STEP();
  clpi_set_relaxed(slot->top, top + 1);
}

/* The slot of this index; one of zeros or NULL: the cache has none. */
static inline clpi_slot *clpi_slot_peek(const clpi_cache *cache, uint32_t index)
{
  if (__builtin_expect(index < CLPI_MOST_NEAR, 1))
    return (clpi_slot *)&cache->near[index];
  uint32_t at = index - CLPI_MOST_NEAR;
  if (at >= cache->far_count)
    return NULL;
  clpi_slot *slot = clpi_acquired(cache->far[at]); /* pairs with add_far_locked */
  if (!slot)
    __builtin_unreachable(); /* so that callers test once */
  return slot;
}

/* The slot of this index; NULL: the cache has none. For whoever may look at the cache's slots. */
static inline clpi_slot *clpi_slot_at(const clpi_cache *cache, uint32_t index)
{
  clpi_slot *slot = clpi_slot_peek(cache, index);
  return slot && clpi_acquired(slot->blocks) ? slot : NULL; /* pairs with init_slot */
}

/* The index behind the last of a cache's slots. */
static inline uint32_t clpi_slots_end(const clpi_cache *cache)
{
  return cache->far_count ? CLPI_MOST_NEAR + cache->far_count : cache->near_end;
}

#define clpi_each_slot(cache, index, slot)                                                         \
  for (uint32_t index = 1, end = clpi_slots_end(cache); index < end; index++)                      \
    for (clpi_slot *slot = clpi_slot_at(cache, index); slot; slot = NULL)

/* The slot for buffers of so many bytes, and its bin. NULL: the cache has none. */
static inline clpi_slot *clpi_slot_for(clpi_stock *stock, const clpi_cache *cache, size_t bytes,
                                       clpi_bin **bin)
{
  const clpi_block_store *store = &stock->store;
  clpi_bin_parts parts = clpi_bin_parts_of(store->leading_bits, bytes);
  clpi_slot *slot = clpi_slot_at(cache, clpi_relaxed(*clpi_bin_index(&store->indexes, bytes)));
  if (!slot)
    return NULL;
  *bin = &store->levels[parts.level].bins[parts.mantissa];
  return slot;
}

/* From the calling thread's cache, which may be NULL. NULL: take the slow path. `searches`: as for
 * clpi_slot_take. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_allocate_cached(clpi_stock *stock, clpi_cache *cache, size_t bytes, clpi_given given,
                     bool searches)
{
  if (!cache)
    return NULL;
  /* Relaxed: the thread uses the index only to find a slot in its own cache, and such a slot exists
   * only after the thread has held the lock since the bin got its index. */
  uint32_t index = clpi_relaxed(*clpi_bin_index(&stock->store.indexes, bytes));
  if (!clpi_door_enter(&cache->door))
    return NULL;
  const clpi_stream *stream = clpi_recall_stream(stock, cache, given);
  clpi_slot *slot = clpi_slot_peek(cache, index);
  clp_buffer *block = slot && stream ? clpi_slot_take(slot, stream, searches) : NULL;
  if (block) {
    clpi_set_relaxed(block->index, index);
    block->size = bytes;
    slot->hits++;
    clpi_cache_count_active(stock, cache, bytes);
  }
  clpi_door_leave(&cache->door);
  return block;
}

/* Puts an active buffer, which is released, into a slot that has a place for it, at `top`. False:
 * nothing was done. */
__attribute__((always_inline)) static inline bool
clpi_release_inside(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot, clp_buffer **top,
                    clp_buffer *buffer, clpi_given given)
{
  clpi_stream *stream = clpi_recall_stream(stock, cache, given);
  uint64_t tick = clpi_relaxed(cache->tick);
  if (!stream || clpi_cache_must_sweep(cache, tick))
    return false;
  slot->releases++;
  clpi_cache_count_inactive(cache, buffer->size);
  buffer->use = clpi_use_now(stream);
  clpi_slot_push(cache, tick, slot, top, buffer);
  return true;
}

/* Whether caches take releases, shown to hooks or not. */
static inline bool clpi_stock_takes_releases(const clpi_stock *stock)
{
  return !(clpi_relaxed(stock->unusual) & (CLPI_IS_DIRECT | CLPI_MAY_PEAK));
}

/* Into the calling thread's cache, which may be NULL; for a stock whose caches take releases.
 * False: nothing was done; take the slow path. */
__attribute__((always_inline)) static inline bool
clpi_release_cached(clpi_stock *stock, clpi_cache *cache, clp_buffer *buffer, clpi_given given)
{
  if (!cache || !clpi_door_enter(&cache->door))
    return false;
  clpi_slot *slot = clpi_slot_peek(cache, clpi_relaxed(buffer->index));
  clp_buffer **top = slot ? clpi_relaxed(slot->top) : NULL;
  bool released = slot && !clpi_slot_is_full(slot, top) &&
                  clpi_release_inside(stock, cache, slot, top, buffer, given);
  clpi_door_leave(&cache->door);
  return released;
}

static inline void clpi_slab_open(clpi_slab *_Atomic *open, clpi_slab *slab)
{
  slab->next_open = clpi_relaxed(*open);
  clpi_set_relaxed(*open, slab);
}

/* Takes a spare buffer from the first of a cache's open slabs; NULL: there is none at hand. The
 * caller owns the cache, and is inside or has the lock. */
static inline clp_buffer *clpi_slab_take(clpi_slab *_Atomic *open)
{
  clpi_slab *slab = clpi_relaxed(*open);
  if (!slab)
    return NULL;
  clp_buffer *buffer = slab->spare;
  slab->spare = buffer->older;
  buffer->older = NULL;
  if (!slab->spare)
    clpi_set_relaxed(*open, slab->next_open);
  return buffer;
}

/* Puts a spare buffer back into its slab, which belongs to the same cache; likewise. */
static inline void clpi_slab_put(clpi_slab *_Atomic *open, clp_buffer *buffer)
{
  clpi_slab *slab = buffer->slab;
  buffer->older = slab->spare;
  slab->spare = buffer;
  if (!buffer->older)
    clpi_slab_open(open, slab);
}

/* What makes a buffer spare. `pool` and `bin` stay: a second release reads them without the lock.
 */
static inline void clpi_buffer_clear(clp_buffer *buffer)
{
  buffer->memory = 0;
  buffer->size = 0;
  clpi_set_state(buffer, CLPI_BUFFER_SPARE);
  buffer->bound = NULL;
  if (buffer->noted)
    buffer->noted->count = 0;
}

/* Unpins the stream of a call. If it is in order, the thread's warm path finds it from now on. */
void clpi_given_unpin_locked(clpi_stock *stock, clpi_stream *stream);

#endif
