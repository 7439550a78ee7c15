/* SPDX-License-Identifier: MIT */
/* An asynchronous pool: what it is made of, and the device that a call is for. */
#ifndef CLPOOL_CUDA_ASYNC_POOL_H
#define CLPOOL_CUDA_ASYNC_POOL_H

#include "core/base/map.h"
#include "cuda/context.h"

#include <clpool/cuda.h>
#include <clpool/hook.h>
#include <pthread.h>
#include <stdatomic.h>

/* A device, as one pool sees it. */
typedef struct clpi_cuda_pool_device {
  int ordinal;
  char name[24]; /* for messages */
  clpi_cuda_device handle;
  size_t total_bytes;
  clp_cuda_mempool mempool;  /* NULL: the pool has none here */
  atomic_size_t limit;       /* 0: none; relaxed, set at any time */
  size_t used_bytes;         /* handed out, rounded up; or about to be */
  clpi_map live;             /* pointers that are the users', with the bytes asked for */
  clpi_cuda_context context; /* with ctx NULL until a call finds no current context */
} clpi_cuda_pool_device;

/* So many pointers are remembered when they were freed, so that a second free can be told from a
 * foreign pointer. */
enum { CLPI_CUDA_FREED_KEPT = 256 };

struct clp_cuda_async_pool {
  const clpi_cuda_driver *driver;
  atomic_size_t references; /* the users', and one for each live pointer */
  const clp_hook *trace;    /* CLPOOL_TRACE's; NULL: there is none */
  bool is_of_one_handle;    /* so that other devices than its have no mempool */
  int device_count;
  pthread_mutex_t lock; /* guards the devices' used_bytes, live and context, and the freed */
  unsigned long long freed[CLPI_CUDA_FREED_KEPT]; /* a ring of the pointers freed last */
  size_t freed_count;                             /* ever */
  clpi_cuda_pool_device devices[];
};

/* The device that a call is for: that of the thread's current context, or the first. */
clp_status clpi_cuda_current_device(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device);

/* The same, which has to have a mempool, for `function`. CLP_NOT_SUPPORTED; CLP_INVALID_ARGUMENT:
 * the pool is NULL. */
clp_status clpi_cuda_current_mempool(const char *function, clp_cuda_async_pool *pool,
                                     clpi_cuda_pool_device **device);

/* Sees to it that the calling thread's current context is one of the device: where it is not, the
 * primary one is entered, which the caller leaves. `*entered` is NULL where it was already. */
clp_status clpi_cuda_stay(clp_cuda_async_pool *pool, clpi_cuda_pool_device *device,
                          const clpi_cuda_context **entered);
void clpi_cuda_stay_end(const clpi_cuda_context *entered);

#endif
