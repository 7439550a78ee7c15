/* SPDX-License-Identifier: MIT */
/* An allocator, and the pools that stand on it. */
#ifndef CLPOOL_CORE_ALLOCATOR_ALLOCATOR_H
#define CLPOOL_CORE_ALLOCATOR_ALLOCATOR_H

#include "core/base/list.h"

#include <clpool/allocator.h>
#include <clpool/pool.h>
#include <pthread.h>
#include <stdatomic.h>

struct clp_allocator {
  clp_allocator_ops ops; /* complete: no function is NULL, no figure is 0 for "the default" */
  void *self;
  atomic_size_t references;
  pthread_mutex_t pools_lock; /* guards `pools`; taken before a pool's own lock */
  clpi_list pools;            /* of clp_pool.on_allocator */
  char name[];
};

/* Whether it has the group of operations that order streams. */
bool clpi_allocator_orders_streams(const clp_allocator *allocator);

/* Whether it has the group of operations that split blocks. */
bool clpi_allocator_splits(const clp_allocator *allocator);

/* Splitting where memory is an address: there is nothing to do but to add. */
clp_status clpi_split_address(void *self, clp_memory block, size_t offset, size_t bytes,
                              clp_memory *part);
clp_status clpi_unsplit_address(void *self, clp_memory part, size_t bytes);

/* As clp_allocator_allocate, by an allocator that keeps memory (ops.allocate_within). Bytes are not
 * 0, and no more than the largest block. */
clp_status clpi_allocator_allocate_within(const clp_allocator *allocator,
                                          const clp_memory_request *request, clp_memory *out);

/* An operation failed that was begun at `serial` of the thread's errors: if it did not say why,
 * this says at least `what` it was doing. Returns the status. */
clp_status clpi_allocator_failed(const clp_allocator *allocator, clp_status status,
                                 unsigned long serial, const char *what);

/* What the library's own allocators share: for a self from malloc, `destroy` is this. */
void clpi_allocator_free_self(void *self);

/* Creates an allocator whose `self` is `self_bytes` of memory, a copy of `self`. */
clp_status clpi_allocator_create_with(const clp_allocator_ops *ops, const void *self,
                                      size_t self_bytes, clp_allocator **out);

#endif
