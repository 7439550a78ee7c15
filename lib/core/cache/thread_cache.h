/* SPDX-License-Identifier: MIT */
/* Blocks kept by a thread, so that a warm allocate and release needs no lock and no atomic
 * read-modify-write. doc/thread-cache.md gives the invariants and why no block is lost.
 *
 * A cache belongs to one pool and one thread, its owner. There are two ways in:
 *   - the owner enters (clpi_cache_enter), works on it and leaves;
 *   - any thread that has the pool's lock claims the caches of the others
 * (clpi_caches_claim_locked), which keeps their owners out, and disclaims them. Its own cache it
 * may touch as it is, since claims are made under that lock only. An owner that finds its cache
 * claimed goes the slow way, through the pool's lock. */
#ifndef CLPOOL_CORE_CACHE_THREAD_CACHE_H
#define CLPOOL_CORE_CACHE_THREAD_CACHE_H

#include "core/cache/fence.h"
#include "core/pool/pool.h"
#include "core/store/block_store.h"

#include <stdatomic.h>

enum {
  CLPI_CACHE_BLOCKS_PER_BIN = 2 * CLPI_BATCH_BLOCKS,
  CLPI_CACHE_BYTES = 64 << 20,        /* a block that would pass it goes to the store */
  CLPI_CACHE_SWEEP_INTERVAL = 1 << 13 /* releases between two looks for what is not used */
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

static inline unsigned clpi_slot_count(const clpi_cache_slot *slot)
{
  return atomic_load_explicit(&slot->count, memory_order_relaxed);
}

static inline void clpi_slot_set_count(clpi_cache_slot *slot, unsigned count)
{
  atomic_store_explicit(&slot->count, count, memory_order_relaxed);
}

enum { CLPI_RECENT_STREAMS = 4 };

struct clpi_cache {
  alignas(128) atomic_bool busy; /* the owner is inside; stored by it alone */
  atomic_bool claimed;           /* others want in or are in; stored under the pool's lock alone */
  unsigned until_sweep;          /* warm releases until then */
  uint32_t slot_count;
  clpi_cache_slot *slots; /* by clpi_bin.index */
  size_t cached_bytes;
  ptrdiff_t active_bytes; /* what the owner's calls added since the last fold */
  ptrdiff_t peak_active;  /* the most that this was, at least 0 */
  uint64_t tick;          /* a Lamport clock: ages of blocks, comparable over caches */
  const void *owner;      /* the owner's token */
  clpi_stream *recent[CLPI_RECENT_STREAMS]; /* that the owner used last, or NULL */
  alignas(64) clpi_list on_pool;            /* on clp_pool.caches */
  clpi_list slabs;                          /* of the pool's handles, what is this cache's */
  uint64_t refilled, adopted; /* blocks from the store; of them, those that got a new handle */
};

typedef struct clpi_cache clpi_cache;

#define clpi_each_cache(pool, cache) clpi_list_each (clpi_cache, cache, &(pool)->caches, on_pool)

/* Where a thread finds its cache for a pool: a slot of this table, by clp_pool.lookup. Ids are
 * never used twice, so an entry of a pool that has ended matches no other. */
enum { CLPI_LOOKUPS = 16 };
typedef struct clpi_lookup {
  uint64_t pool_id; /* 0: none */
  clpi_cache *cache;
} clpi_lookup;

/* Small enough for the static TLS that dlopen keeps in reserve, which saves a call at each use. */
extern _Thread_local clpi_lookup clpi_lookups[CLPI_LOOKUPS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The calling thread's cache for the pool, if it is at hand; else the slow way finds it. */
static inline clpi_cache *clpi_cache_find(const clp_pool *pool)
{
  const clpi_lookup *lookup = &clpi_lookups[pool->lookup];
  return lookup->pool_id == pool->id ? lookup->cache : NULL;
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

/* The calling thread's cache, made if need be; NULL when the pool holds no more or there is no host
 * memory, which is no error. */
clpi_cache *clpi_cache_of_thread_locked(clp_pool *pool);

/* The bin's slot, made if need be; NULL when there is no host memory, which is no error. */
clpi_cache_slot *clpi_cache_slot_locked(clpi_cache *cache, const clpi_bin *bin);

/* Makes a slot larger: few blocks at first, for most bins of most threads never have more at once.
 * False: it is as large as it may be, or there is no host memory. */
bool clpi_slot_grow(clpi_cache_slot *slot);

/* The claim on all caches of the pool but the calling thread's own. */
void clpi_caches_claim_locked(clp_pool *pool);
void clpi_caches_disclaim_locked(clp_pool *pool);

/* Moves every block that a cache keeps into the store. */
void clpi_caches_empty_locked(clp_pool *pool);

/* With nothing of the bin in the store: brings in what other threads' caches keep of it, if they
 * seem to keep any; returns whether they did. */
bool clpi_caches_steal_locked(clp_pool *pool, const clpi_bin *bin);

/* Makes the caches, which are claimed, forget the streams that their owners used. */
void clpi_caches_forget_streams_locked(clp_pool *pool);

/* Keeps owners out of their caches for good, with all blocks in the store and all counts in the
 * bins. */
void clpi_caches_retire_locked(clp_pool *pool);

/* Frees the caches of a pool that nobody can reach any more. */
void clpi_caches_end(clp_pool *pool);

/* Takes the calling thread's cache away from the pool, if it has one, as clpi_caches_retire_locked.
 * Not under the pool's lock. */
void clpi_cache_forget_thread(clp_pool *pool);

/* Gives the store all blocks of a slot. */
void clpi_cache_give_all_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot);

/* Gives the store the older half of a slot, as a batch. */
void clpi_cache_give_half_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot,
                                 clpi_bin *bin);

/* Takes newest blocks of the bin from the store, if it holds any, into an empty slot. */
void clpi_cache_refill_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot,
                              clpi_bin *bin);

/* Gives the store what the owner has not used since the last sweep. */
void clpi_cache_sweep_locked(clp_pool *pool, clpi_cache *cache);

/* Adds what a cache counted to the pool's count of active bytes and its peak. */
void clpi_cache_fold_locked(clp_pool *pool, clpi_cache *cache);

#endif
