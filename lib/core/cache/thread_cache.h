/* SPDX-License-Identifier: MIT */
/* Blocks kept by a thread, so that a warm allocate and release needs no lock and no atomic
 * read-modify-write. doc/thread-cache.md gives the invariants and why no block is lost.
 *
 * A cache belongs to one stock and one thread, its owner. There are two ways in:
 *   - the owner enters, works on it and leaves (warm_path.h);
 *   - any thread that has the stock's lock claims the caches of the others (claim.h).
 * While a thread has the lock, it may use its own cache without either. */
#ifndef CLPOOL_CORE_CACHE_THREAD_CACHE_H
#define CLPOOL_CORE_CACHE_THREAD_CACHE_H

#include "core/cache/stock.h"

#include <stdatomic.h>

enum {
  CLPI_CACHE_BLOCKS_PER_BIN = 2 * CLPI_BATCH_BLOCKS,
  CLPI_CACHE_BYTES = 64 << 20,        /* blocks beyond that go to the store */
  CLPI_CACHE_SWEEP_INTERVAL = 1 << 13 /* warm releases between two sweeps (transfer.h) */
};

/* One bin's blocks in one cache. An array of pointers, not a list, so that batches move without
 * touching the blocks, whose cache lines may belong to other processors. */
typedef struct clpi_cache_slot {
  clp_buffer **blocks; /* `count` of them, the oldest first */
  size_t block_bytes;
  atomic_uint count; /* stored by the owner or the claimer; others load it as a hint; relaxed */
  unsigned capacity; /* grows to CLPI_CACHE_BLOCKS_PER_BIN */
  unsigned swept;    /* low bits of tally.hits at the last sweep */
  clpi_tally tally;  /* the owner's counts for the bin */
} clpi_cache_slot;

enum { CLPI_RECENT_STREAMS = 4 };

typedef struct clpi_cache {
  alignas(128) atomic_bool busy; /* the owner is inside; stored by the owner only */
  atomic_bool claimed;  /* another thread wants in or is in; stored under the stock's lock only */
  unsigned until_sweep; /* warm releases left until the next sweep is due */
  uint32_t slot_count;
  clpi_cache_slot *slots; /* indexed by clpi_bin.index */
  size_t cached_bytes;
  ptrdiff_t active_bytes; /* change by the owner's calls since the last fold */
  ptrdiff_t peak_active;  /* the highest value of active_bytes since then, at least 0 */
  uint64_t tick;     /* a Lamport clock, so that ages of blocks can be compared across caches */
  const void *owner; /* its clpi_lookups, which identifies the thread */
  clpi_stream *recent[CLPI_RECENT_STREAMS]; /* streams that the owner used last; NULL: none */
  alignas(64) struct clpi_cache *next;      /* link in clpi_stock.caches */
  struct clpi_slab *open_slabs;             /* its slabs that have spare buffers */
  uint64_t refilled;                        /* blocks taken from the store */
  uint64_t adopted;                         /* those of them that were given another buffer */
} clpi_cache;

#define clpi_each_cache(stock, cache)                                                              \
  for (clpi_cache *cache = (stock)->caches; cache; cache = cache->next)

/* The calling thread's cache, made if need be, with a slot for the bin if there is host memory for
 * it; `bin` may be NULL. NULL when the stock holds no more or there is no host memory, which is no
 * error.
 */
clpi_cache *clpi_cache_of_thread_locked(clpi_stock *stock, const clpi_bin *bin);

/* Whether the calling thread owns the cache. */
bool clpi_cache_is_own(const clpi_cache *cache);

/* Makes a slot larger. It starts small, since most bins of most threads never have many blocks at
 * once. False: it has its full size, or host memory ran out. */
bool clpi_slot_grow(clpi_cache_slot *slot);

/* Removes an empty cache from the stock and frees it. */
void clpi_cache_free_locked(clpi_stock *stock, clpi_cache *cache);

#endif
