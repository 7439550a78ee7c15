/* SPDX-License-Identifier: MIT */
/* The asynchronous pool, and finding the device that a call is for. */
#ifndef CLPOOL_CUDA_ASYNC_POOL_H
#define CLPOOL_CUDA_ASYNC_POOL_H

#include "core/base/fork.h"
#include "core/base/map.h"
#include "cuda/context.h"

#include <clpool/cuda.h>
#include <clpool/hook.h>
#include <pthread.h>
#include <stdatomic.h>

/* A pool's data for one device. */
typedef struct clpi_cuda_pool_device {
  int ordinal;
  char name[24]; /* for messages */
  clpi_cuda_device handle;
  size_t total_bytes;
  clp_cuda_mempool mempool;  /* NULL: the pool has none on this device */
  atomic_size_t limit;       /* 0: none; relaxed, may be set at any time */
  size_t used_bytes;         /* handed out or reserved for it, rounded up */
  clpi_map live;             /* allocated pointers and the bytes requested for them */
  clpi_cuda_context context; /* ctx is NULL until a call must make a context current */
} clpi_cuda_pool_device;

/* How many freed pointers a pool remembers, to distinguish a second free from a foreign pointer. */
enum { CLPI_CUDA_FREED_KEPT = 256 };

struct clp_cuda_async_pool {
  unsigned forks;           /* clpi_forks when it was made */
  atomic_size_t references; /* the program's, and one for each allocated pointer */
  const clp_hook *trace;    /* CLPOOL_TRACE's; NULL: none */
  bool is_of_one_handle;    /* made with one mempool, so only its device has one */
  int device_count;
  pthread_mutex_t lock; /* guards used_bytes, live and context of the devices, and freed */
  unsigned long long freed[CLPI_CUDA_FREED_KEPT]; /* a ring of the pointers freed last */
  size_t freed_count;                             /* since the pool was made */
  clpi_cuda_pool_device devices[];
};

/* Finds the device that a call is for: that of the thread's current context, or the first.
 * CLP_NOT_SUPPORTED: the pool is inherited (base/fork.h). */
clp_status clpi_cuda_current_device(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device);

/* The same, for a call that needs a mempool; messages name `function`. CLP_NOT_SUPPORTED: also if
 * the pool has none on the device. CLP_INVALID_ARGUMENT: the pool is NULL. */
clp_status clpi_cuda_current_mempool(const char *function, clp_cuda_async_pool *pool,
                                     clpi_cuda_pool_device **device);

/* Makes sure that the calling thread's current context is one of the device's; if not, enters the
 * primary one. Then pass `*entered`, which is NULL if the call entered none, to
 * clpi_cuda_restore_current. */
clp_status clpi_cuda_make_current(clp_cuda_async_pool *pool, clpi_cuda_pool_device *device,
                                  const clpi_cuda_context **entered);
void clpi_cuda_restore_current(const clpi_cuda_context *entered);

#endif
