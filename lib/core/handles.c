/* SPDX-License-Identifier: MIT */
/* The handles of a pool: made many at a time, recycled, and freed with the pool. */
#include "core/pool.h"

#include <stdlib.h>

enum { HANDLES_PER_SLAB = 63 };

struct clpi_handle_slab {
  clpi_handle_slab *next;
  clp_buffer handles[HANDLES_PER_SLAB];
};

static bool add_slab_locked(clp_pool *pool)
{
  clpi_handle_slab *slab = calloc(1, sizeof(*slab));
  if (!slab)
    return false;
  slab->next = pool->slabs;
  pool->slabs = slab;
  for (size_t i = 0; i < HANDLES_PER_SLAB; i++) {
    slab->handles[i].pool = pool;
    clpi_handle_put_locked(pool, &slab->handles[i]);
  }
  return true;
}

clp_buffer *clpi_handle_take_locked(clp_pool *pool)
{
  if (!pool->spare && !add_slab_locked(pool))
    return NULL;
  clp_buffer *handle = pool->spare;
  pool->spare = handle->older;
  handle->older = NULL;
  return handle;
}

void clpi_handle_put_locked(clp_pool *pool, clp_buffer *handle)
{
  /* `pool` stays untouched: a second release of the handle reads it before it has the lock. */
  handle->memory = 0;
  handle->size = handle->capacity = 0;
  handle->bin = NULL;
  atomic_store_explicit(&handle->state, CLPI_BUFFER_SPARE, memory_order_relaxed);
  handle->older = pool->spare;
  pool->spare = handle;
}

void clpi_handles_end(clp_pool *pool)
{
  while (pool->slabs) {
    clpi_handle_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    free(slab);
  }
}
