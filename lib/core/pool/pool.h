/* SPDX-License-Identifier: MIT */
/* The pool: what it is made of, and its life. */
#ifndef CLPOOL_CORE_POOL_POOL_H
#define CLPOOL_CORE_POOL_POOL_H

#include "core/allocator/allocator.h"
#include "core/cache/stock.h"
#include "core/hooks/hook.h"

#include <clpool/buffer.h>
#include <clpool/pool.h>

struct clp_pool {
  clpi_stock stock; /* its lock is the pool's, and guards the rest from `leaving` on */
  clp_pool_options options;
  clp_allocator *allocator;   /* retained */
  clpi_list on_allocator;     /* on allocator->pools, guarded by allocator->pools_lock */
  const clp_hook *first_hook; /* one of `hooks`; NULL: none */
  size_t leaving;             /* blocks on their way to the device, or being settled */
  pthread_cond_t left;        /* signalled when one of them has come to rest */
  clpi_pool_hooks hooks;
  size_t limit;          /* 0: none */
  size_t reserved_bytes; /* being asked of the device, beyond what is managed */
  size_t references;     /* the users' */
  size_t pins;           /* what keeps a pool without references: active buffers, operations */
  bool ended;            /* no reference and no pin is left, and none may be added */
};

/* Drops a pin and the pool's lock. The last pin of a pool without references ends the pool. */
void clpi_pool_unpin_and_unlock(clp_pool *pool);

/* The buffer's memory if it is of the kind, or if its allocator does not say; else 0, and the last
 * error says that `function` wants `type`. */
clp_memory clpi_buffer_memory_of(const clp_buffer *buffer, clp_memory_kind kind,
                                 const char *function, const char *type);

#endif
