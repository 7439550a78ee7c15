/* SPDX-License-Identifier: MIT */
/* The stock of a pool: its held blocks, in the store and in the caches of threads, their counts,
 * and the pool's lock. The code in this folder knows no more of a pool. */
#ifndef CLPOOL_CORE_CACHE_STOCK_H
#define CLPOOL_CORE_CACHE_STOCK_H

#include "core/base/list.h"
#include "core/cache/slabs.h"
#include "core/store/block_store.h"
#include "core/streams/stream.h"

#include <clpool/pool.h>
#include <pthread.h>

/* Why a release is not warm, whatever its buffer; flags. */
#define CLPI_IS_DIRECT  1u /* see pool/direct.h; stored under the lock */
#define CLPI_IS_WATCHED 2u /* the pool has hooks; stored under the lock */
#define CLPI_MAY_PEAK   4u /* the next release notes the peak of active bytes (counts.h) */

typedef struct clpi_stock {
  /* Most is set at create, and read without the lock. */
  clp_pool *pool;                   /* whose stock it is */
  union clpi_place *_Atomic places; /* where threads find their caches; replaced under the lock */
  _Atomic size_t warm_bytes; /* the warm path allocates no more; 0 where the home stream is out of
                                order, the pool direct or watched; stored under the lock */
  atomic_uint unusual;       /* these flags; relaxed */
  _Atomic size_t grant;      /* a thread's active bytes may grow by so much before that; relaxed */
  unsigned visits;           /* of threads that are ending; guarded by the registry's lock */
  clpi_streams streams; /* guarded by `lock`, except what the warm path reads of the home stream */

  alignas(64) pthread_mutex_t lock;  /* guards everything below, the rest of the pool, and every bin
                                        and every block outside of caches */
  clpi_block_store store;            /* begins on a cache line of its own */
  struct clpi_cache *_Atomic caches; /* by `next`, at most one for each thread */
  struct clpi_place_table *tables;   /* with `places`, and former ones */
  size_t cache_count, ended_count;   /* of them all, and of those whose threads have ended */
  struct clpi_cache *spare_caches;   /* not among them, by `next` */
  struct clpi_cache *cache_batches;  /* caches are made in batches; by the first of each, which has
                                        the one before as its former_batch */
  bool holding;    /* false: released blocks go to the device, and caches are retired */
  bool counts_all; /* misses take the lock, but in a direct pool: there is a limit, or hardly a
                      size_t for so many bytes; stored where all caches are claimed, and read in
                      them */

  /* Apart from what threads read that miss. */
  alignas(64) clpi_slabs slabs;
  /* When owners' blocks may be taken again, and how often, and when the owners were last looked at
   * (search.c). */
  uint64_t next_turn, turn_ns, looked_at;
  clpi_tally tally;             /* of all bins and of buffers of zero bytes: what no cache counts */
  uint64_t tick;                /* the clock that ages are taken from */
  size_t active_bytes;          /* what no cache counts; may be negative, wrapped, as the next */
  _Atomic size_t managed_bytes; /* stored under the lock; relaxed, as the next */
  _Atomic uint64_t device_frees;
  _Atomic size_t noted_managed_bytes; /* in the peak, as far as a direct release must know */
  clp_pool_stats figures; /* only both peaks and out_of_memory_reactions; the others are summed up
                             on request */
} clpi_stock;

/* A direct pool holds nothing, and where there are hooks, all calls are shown to them: the warm
 * path asks for neither. Sets or clears the flag. */
static inline void clpi_stock_set_cold_locked(clpi_stock *stock, unsigned flag, bool is)
{
  unsigned before = is ? atomic_fetch_or_explicit(&stock->unusual, flag, memory_order_relaxed)
                       : atomic_fetch_and_explicit(&stock->unusual, ~flag, memory_order_relaxed);
  unsigned now = is ? before | flag : before & ~flag;
  bool is_cold = now & (CLPI_IS_DIRECT | CLPI_IS_WATCHED) || !stock->streams.home.is_in_order;
  clpi_set_relaxed(stock->warm_bytes, is_cold ? 0 : stock->store.max_block_bytes);
}

#endif
