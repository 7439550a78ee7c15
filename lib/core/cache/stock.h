/* SPDX-License-Identifier: MIT */
/* The stock of a pool: its held blocks, in bins and in the caches of threads, what is counted of
 * them, and the lock. It is what this room knows of a pool. */
#ifndef CLPOOL_CORE_CACHE_STOCK_H
#define CLPOOL_CORE_CACHE_STOCK_H

#include "core/base/list.h"
#include "core/cache/slabs.h"
#include "core/store/block_store.h"
#include "core/streams/stream.h"

#include <clpool/pool.h>
#include <pthread.h>

typedef struct clpi_stock {
  /* Set at create. The warm path reads these and the bins. */
  uint64_t id;           /* of all pools ever, never 0 */
  unsigned lookup;       /* where threads look for their cache (clpi_lookups) */
  clp_pool *pool;        /* whose stock it is */
  clpi_list on_registry; /* on the list of all stocks, guarded by the registry's lock */
  clpi_streams streams; /* guarded by `lock`, but for what the warm path reads of the home stream */

  alignas(64) pthread_mutex_t lock; /* guards everything below, the rest of the pool too, and every
                                       block and bin outside of a cache */
  clpi_block_store store;
  struct clpi_cache *caches; /* by `next`, one for each thread */
  size_t cache_count;
  uint64_t steals; /* looks into other threads' caches */
  clpi_slabs slabs;
  clpi_tally empty;    /* of buffers of zero bytes, which have no bin */
  uint64_t tick;       /* clock of the ages of blocks */
  uint64_t cached_age; /* no block in a cache is older, as far as ages can be compared */
  bool holding;        /* false: released blocks go to the device, and caches are retired */
  ptrdiff_t
      active_bytes; /* beyond what caches have not folded in; below 0 while others are above */
  clp_pool_stats figures; /* those that are not summed up when asked for: managed_bytes, both peaks,
                             and the counts of the device */
} clpi_stock;

#endif
