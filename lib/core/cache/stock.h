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

typedef struct clpi_stock {
  /* Set at create; the warm path reads them without the lock. */
  uint64_t id;           /* unique among all pools ever made, never 0 */
  unsigned lookup;       /* index into clpi_lookups, by which threads find their cache */
  clp_pool *pool;        /* whose stock it is */
  clpi_list on_registry; /* link in the list of all stocks, guarded by the registry's lock */
  clpi_streams streams;  /* guarded by `lock`, except what the warm path reads of the home stream */

  alignas(64) pthread_mutex_t lock; /* guards everything below, the rest of the pool, and every bin
                                       and every block outside of caches */
  clpi_block_store store;           /* begins on a cache line of its own */
  struct clpi_cache *caches;        /* by `next`, at most one for each thread */
  size_t cache_count, ended_count;  /* of them all, and of those whose threads have ended */
  size_t excess_bytes; /* taken from the device although outlets had blocks (search.c) */
  uint64_t next_turn,
      turn_ns; /* when owners' blocks may be taken again, and how often (search.c) */
  clpi_slabs slabs;
  clpi_tally empty;    /* counts of buffers of zero bytes, which have no bin */
  uint64_t tick;       /* the clock that ages are taken from */
  uint64_t cached_age; /* no cached block is older, as far as ages of threads compare */
  bool holding;        /* false: released blocks go to the device, and caches are retired */
  _Atomic size_t
      active_bytes;       /* counted here, where no cache counts them; may be negative, wrapped */
  clp_pool_stats figures; /* only managed_bytes, both peaks, and the counts of the device; the
                             others are summed up on request */
} clpi_stock;

#endif
