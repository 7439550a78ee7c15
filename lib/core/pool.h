/* SPDX-License-Identifier: MIT */
/* The pool: what it is made of, its lock, and its life. */
#ifndef CLPOOL_CORE_POOL_H
#define CLPOOL_CORE_POOL_H

#include "core/allocator.h"
#include "core/block_store.h"
#include "core/buffer.h"
#include "core/list.h"

#include <clpool/pool.h>
#include <pthread.h>

/* Handles are made by the slab and stay until the pool ends, so that a handle released twice is
 * always memory that can be looked at. */
typedef struct clpi_handle_slab clpi_handle_slab;

struct clp_pool {
  /* Set at create. */
  clp_allocator *allocator; /* retained */
  clp_pool_options options;
  clpi_list on_allocator; /* on allocator->pools, guarded by allocator->pools_lock */

  pthread_mutex_t lock; /* guards everything below, and every block and bin of the pool */
  clpi_block_store store;
  clpi_handle_slab *slabs;
  clp_buffer *spare;     /* handles without a block, chained by `older` */
  size_t limit;          /* 0: none */
  size_t reserved_bytes; /* being asked of the device, beyond what is managed */
  bool holding;          /* false: released blocks go to the device */
  bool ended;            /* no reference and no pin is left, and none may be added */
  size_t references;     /* the users' */
  size_t pins;           /* active buffers and operations under way, which keep the pool alive */
  clp_pool_stats figures;
};

/* Drops a pin and the pool's lock. The last pin of a pool without references ends the pool. */
void clpi_pool_unpin_and_unlock(clp_pool *pool);

/* Take a handle, or give one back; under the pool's lock. NULL: no host memory. */
clp_buffer *clpi_handle_take_locked(clp_pool *pool);
void clpi_handle_put_locked(clp_pool *pool, clp_buffer *handle);

/* Frees every handle, at the end of the pool. */
void clpi_handles_end(clp_pool *pool);

#endif
