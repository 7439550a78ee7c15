/* SPDX-License-Identifier: MIT */
/* Blocks kept by a thread, so that a warm allocate and release needs no lock and no atomic
 * read-modify-write. doc/thread-cache.md gives the invariants and why no block is lost.
 *
 * A cache belongs to one stock and one thread, its owner. There are two ways in:
 *   - the owner enters, works on it and leaves (warm_path.h);
 *   - any thread that has the stock's lock claims the caches of the others (claim.h).
 * Its own cache a thread may touch as it is while it has the lock. */
#ifndef CLPOOL_CORE_CACHE_THREAD_CACHE_H
#define CLPOOL_CORE_CACHE_THREAD_CACHE_H

#include "core/cache/stock.h"

#include <stdatomic.h>

enum {
  CLPI_CACHE_BLOCKS_PER_BIN = 2 * CLPI_BATCH_BLOCKS,
  CLPI_CACHE_BYTES = 64 << 20,        /* a block that would pass it goes to the store */
  CLPI_CACHE_SWEEP_INTERVAL = 1 << 13 /* warm releases between two looks for what is not used */
};

/* One bin's blocks in one cache: pointers, so that blocks that other threads had last are looked at
 * by their users alone, and batches move without being looked at. */
typedef struct clpi_cache_slot {
  clp_buffer **blocks; /* `count` of them, the oldest first */
  size_t block_bytes;  /* as the bin's */
  atomic_uint count;   /* stored by whoever is in; loaded by others as a hint, relaxed */
  unsigned capacity;   /* grows to CLPI_CACHE_BLOCKS_PER_BIN */
  unsigned swept;      /* the low bits of tally.hits at the last sweep */
  clpi_tally tally;    /* what the owner did with the bin */
} clpi_cache_slot;

enum { CLPI_RECENT_STREAMS = 4 };

typedef struct clpi_cache {
  alignas(128) atomic_bool busy; /* the owner is inside; stored by it alone */
  atomic_bool claimed;           /* others want in or are in; stored under the lock alone */
  unsigned until_sweep;          /* warm releases until then */
  uint32_t slot_count;
  clpi_cache_slot *slots; /* by clpi_bin.index */
  size_t cached_bytes;
  ptrdiff_t active_bytes; /* what the owner's calls added since the last fold */
  ptrdiff_t peak_active;  /* the most that this was, at least 0 */
  uint64_t tick;          /* a Lamport clock: ages of blocks, comparable over caches */
  const void *owner;      /* the owner's token */
  clpi_stream *recent[CLPI_RECENT_STREAMS]; /* that the owner used last, or NULL */
  alignas(64) struct clpi_cache *next;      /* on clpi_stock.caches */
  struct clpi_slab *open_slabs;             /* of its slabs, those with spare buffers */
  uint64_t refilled, adopted; /* blocks from the store; of them, those that got a new buffer */
} clpi_cache;

#define clpi_each_cache(stock, cache)                                                              \
  for (clpi_cache *cache = (stock)->caches; cache; cache = cache->next)

/* The calling thread's cache, with a slot for the bin unless that is NULL, made if need be. NULL
 * when the stock holds no more or there is no host memory, which is no error. */
clpi_cache *clpi_cache_of_thread_locked(clpi_stock *stock, const clpi_bin *bin);

/* Whether it is the calling thread's. */
bool clpi_cache_is_own(const clpi_cache *cache);

/* Makes a slot larger: few blocks at first, for most bins of most threads never have more at once.
 * False: it is as large as it may be, or there is no host memory. */
bool clpi_slot_grow(clpi_cache_slot *slot);

/* Takes a cache off the stock and frees it. It keeps no block. */
void clpi_cache_free_locked(clpi_stock *stock, clpi_cache *cache);

#endif
