/* SPDX-License-Identifier: MIT */
/* The pool: what it is made of, its lock, and its life. */
#ifndef CLPOOL_CORE_POOL_POOL_H
#define CLPOOL_CORE_POOL_POOL_H

#include "core/allocator/allocator.h"
#include "core/base/list.h"
#include "core/cache/handles.h"
#include "core/hooks/hook.h"
#include "core/store/block_store.h"
#include "core/store/buffer.h"

#include <clpool/pool.h>
#include <pthread.h>

struct clp_pool {
  /* Set at create. The warm path reads these and the bins. */
  uint64_t id;     /* of all pools ever, never 0 */
  unsigned lookup; /* where threads look for their cache (clpi_lookups) */
  clp_pool_options options;
  clp_allocator *allocator; /* retained */
  clpi_list on_allocator;   /* on allocator->pools, guarded by allocator->pools_lock */
  const clp_hook *trace;    /* CLPOOL_TRACE's, one of `hooks`; NULL: there is none */
  clpi_list on_registry;    /* on the list of all pools, guarded by the registry's lock */
  clpi_streams streams; /* guarded by `lock`, but for what the warm path reads of the home stream */

  alignas(64) pthread_mutex_t
      lock; /* guards everything below, and every block and bin outside of a cache */
  clpi_block_store store;
  clpi_list caches; /* of clpi_cache.on_pool, one for each thread */
  size_t cache_count;
  uint64_t steals; /* looks into other threads' caches */
  clpi_handles handles;
  size_t leaving;      /* blocks on their way to the device, or being settled */
  pthread_cond_t left; /* signalled when one of them has come to rest */
  clpi_tally empty;    /* of buffers of zero bytes, which have no bin */
  uint64_t tick;       /* clock of the ages of blocks */
  uint64_t cached_age; /* no block in a cache is older, as far as ages can be compared */
  clpi_pool_hooks hooks;
  size_t limit;          /* 0: none */
  size_t reserved_bytes; /* being asked of the device, beyond what is managed */
  size_t references;     /* the users' */
  size_t pins;           /* what keeps a pool without references: active buffers, operations */
  bool holding;          /* false: released blocks go to the device, and caches are retired */
  bool ended;            /* no reference and no pin is left, and none may be added */
  ptrdiff_t
      active_bytes; /* beyond what caches have not folded in; below 0 while others are above */
  clp_pool_stats figures; /* those that are not summed up when asked for: managed_bytes, both peaks,
                             and the counts of the device */
};

/* Drops a pin and the pool's lock. The last pin of a pool without references ends the pool. */
void clpi_pool_unpin_and_unlock(clp_pool *pool);

#endif
