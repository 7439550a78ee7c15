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

/* Fields that one thread stores and others may load at any time. */
#define clpi_relaxed(field)            atomic_load_explicit(&(field), memory_order_relaxed)
#define clpi_set_relaxed(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

enum {
  CLPI_CACHE_SWEEP_INTERVAL = 1 << 13 /* warm releases between two sweeps (transfer.h) */
};

/* One bin's blocks in one cache. An array of pointers, not a list, so that batches move without
 * touching the blocks, whose cache lines may belong to other processors.
 *
 * A slot's room grows as long as what it gave to the store comes back. The slot of an owner that
 * releases what others allocate is an outlet: it keeps blocks only until there are enough of them
 * for a batch. */
typedef struct clpi_cache_slot {
  alignas(64) clp_buffer **blocks; /* `count` of them, the oldest first */
  atomic_uint count;  /* stored by the owner or the claimer; others load it as a hint; relaxed */
  unsigned room;      /* a release that finds as many blocks here takes the slow path */
  unsigned own_room;  /* what `room` is while the owner allocates from the bin */
  unsigned capacity;  /* of `blocks`; at least `room` */
  unsigned batch;     /* of an outlet: as many blocks go to the store at a time; 0: no outlet */
  unsigned given;     /* blocks that went to the store, less twice those that came back */
  uint32_t allocated; /* low bits of the owner's allocations when blocks last went to the store, */
  uint32_t swept;     /* and at the last sweep */
  clpi_tally tally;   /* the owner's counts for the bin */
} clpi_cache_slot;

enum { CLPI_RECENT_STREAMS = 4 };

typedef struct clpi_cache {
  alignas(128) atomic_bool busy; /* the owner is inside; stored by the owner only */
  atomic_bool claimed; /* another thread wants in or is in; stored under the stock's lock only */
  uint32_t slot_count;
  clpi_cache_slot *slots;      /* indexed by clpi_bin.index */
  _Atomic size_t active_bytes; /* allocated less released by the owners, wrapped; stored by them,
                                  others load it; relaxed */
  size_t peak_active;          /* its highest value since it was last noted (counts.h) */
  size_t ceiling;              /* an allocation that passes it takes the slow path, to be noted */
  _Atomic uint64_t tick; /* a Lamport clock, so that ages of blocks can be compared across caches;
                            stored by the owner or the claimer; others load it; relaxed */
  uint64_t sweep_tick;   /* when the next sweep is due */
  const void *owner;     /* its clpi_lookups, which identifies the thread; NULL: that has ended */
  clpi_stream *recent[CLPI_RECENT_STREAMS]; /* streams that the owner used last; NULL: none */
  atomic_bool is_slow; /* the owner is on the slow path, or waits for the lock; relaxed */
  alignas(64) struct clpi_cache *next; /* link in clpi_stock.caches */
  struct clpi_slab *open_slabs;        /* its slabs that have spare buffers */
  uint64_t refilled;                   /* blocks taken from the store */
  uint64_t adopted;                    /* those of them that were given another buffer */
  size_t others_active, grant;         /* bytes active elsewhere, and up to the ceiling, when it was
                                          last noted */
  uint64_t seen_tick;                  /* these, when another thread last looked (search.c) */
  size_t seen_active;
} clpi_cache;

#define clpi_each_cache(stock, cache)                                                              \
  for (clpi_cache *cache = (stock)->caches; cache; cache = cache->next)

/* The calling thread's cache, made or taken over from a thread that has ended if need be, with a
 * slot for the bin if there is host memory for it; `bin` may be NULL. NULL when the stock holds no
 * more or there is no host memory, which is no error. */
clpi_cache *clpi_cache_of_thread_locked(clpi_stock *stock, const clpi_bin *bin);

/* A cache of this owner, a thread's clpi_lookups, or NULL; NULL: there is none. */
clpi_cache *clpi_cache_find_of_locked(const clpi_stock *stock, const void *owner);

/* Whether the calling thread owns the cache. */
bool clpi_cache_is_own(const clpi_cache *cache);

/* Locks the stock for a call of the owner's, which is not idle meanwhile. Returns its cache, for
 * clpi_cache_end_call_locked; NULL: it has none yet. */
clpi_cache *clpi_stock_begin_call(clpi_stock *stock);
void clpi_cache_end_call_locked(clpi_cache *cache);

/* Whether blocks seem to be in the slot of this index, which the cache need not have: a hint. */
bool clpi_cache_seems_to_keep_locked(const clpi_cache *cache, uint32_t index);

/* Gives the slot an array for `capacity` blocks at least, if there is host memory for it. */
bool clpi_slot_reserve(clpi_cache_slot *slot, unsigned capacity);

/* Removes an empty cache from the stock and frees it. */
void clpi_cache_free_locked(clpi_stock *stock, clpi_cache *cache);

/* Frees the caches of a stock that nobody can reach any more. */
void clpi_caches_end(clpi_stock *stock);

#endif
