/* SPDX-License-Identifier: MIT */
/* The handles of a pool: made many at a time, recycled, and freed with the pool. */
#include "core/pool.h"

#include <stdlib.h>
#include <string.h>

enum { SLAB_BYTES = 4096, HANDLES_PER_SLAB = SLAB_BYTES / sizeof(clp_buffer) - 1 };

/* A page, since processors fetch ahead within one, and threads then would wait for each other's
 * handles. */
struct clpi_handle_slab {
  alignas(SLAB_BYTES) clpi_handle_slab *next;
  clp_buffer handles[HANDLES_PER_SLAB];
};

/* Makes a slab for the list. */
static bool add_slab_locked(clp_pool *pool, clp_buffer **spare)
{
  clpi_handle_slab *slab = aligned_alloc(alignof(clpi_handle_slab), sizeof(*slab));
  if (!slab)
    return false;
  memset(slab, 0, sizeof(*slab));
  slab->next = pool->slabs;
  pool->slabs = slab;
  for (size_t i = 0; i < HANDLES_PER_SLAB; i++) {
    slab->handles[i].pool = pool;
    slab->handles[i].older = *spare;
    *spare = &slab->handles[i];
  }
  return true;
}

clp_buffer *clpi_handle_take_locked(clp_pool *pool, clp_buffer **own)
{
  clp_buffer **spare = *own ? own : &pool->spare;
  if (!*spare && !add_slab_locked(pool, spare = own))
    return NULL;
  clp_buffer *handle = *spare;
  *spare = handle->older;
  handle->older = NULL;
  return handle;
}

void clpi_handle_put_locked(clp_pool *pool, clp_buffer *handle)
{
  /* `pool` and `bin` stay: a second release of the handle reads them before it has the lock. */
  handle->memory = 0;
  handle->size = 0;
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
