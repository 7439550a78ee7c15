/* SPDX-License-Identifier: MIT */
/* The pool: its parts and its pins. */
#ifndef CLPOOL_CORE_POOL_POOL_H
#define CLPOOL_CORE_POOL_POOL_H

#include "core/allocator/allocator.h"
#include "core/cache/stock.h"
#include "core/hooks/hook.h"

#include <clpool/buffer.h>
#include <clpool/pool.h>

struct clp_pool {
  clpi_stock stock; /* stock.lock is the pool's lock, and guards the members from `leaving` on */
  clp_pool_options options;
  clp_allocator *allocator;   /* retained */
  clpi_list on_allocator;     /* on allocator->pools, guarded by allocator->pools_lock */
  const clp_hook *first_hook; /* CLPOOL_TRACE's, one of `hooks`; NULL: none */
  size_t leaving;             /* the number of leaving blocks (leaving.h) */
  pthread_cond_t left;        /* broadcast when one of them comes to rest */
  clpi_pool_hooks hooks;
  size_t limit;          /* 0: none */
  size_t reserved_bytes; /* requested from the device, not yet managed */
  size_t references;     /* the users' */
  size_t pins; /* keep a pool without references alive: operations, and then active buffers */
  bool ended;  /* no reference and no pin is left, and none may be added any more */
};

/* Drops a pin and unlocks the pool. The last pin of a pool without references ends it. */
void clpi_pool_unpin_and_unlock(clp_pool *pool);

/* The buffer's memory, if its allocator's memory is of this kind or of an unstated one. Otherwise 0
 * with an error that says that the memory is no `type`, on behalf of `function`. */
clp_memory clpi_buffer_memory_of(const clp_buffer *buffer, clp_memory_kind kind,
                                 const char *function, const char *type);

#endif
