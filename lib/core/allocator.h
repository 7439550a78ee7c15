/* SPDX-License-Identifier: MIT */
/* An allocator, and the pools that stand on it. */
#ifndef CLPOOL_CORE_ALLOCATOR_H
#define CLPOOL_CORE_ALLOCATOR_H

#include "core/list.h"

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

/* What the library's own allocators share: for a self from malloc, `destroy` is this. */
void clpi_allocator_free_self(void *self);

/* Creates an allocator whose `self` is `self_bytes` of memory, a copy of `self`. */
clp_status clpi_allocator_create_with(const clp_allocator_ops *ops, const void *self,
                                      size_t self_bytes, clp_allocator **out);

#endif
