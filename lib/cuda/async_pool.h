/* SPDX-License-Identifier: MIT */
/* An asynchronous pool: what it is made of, and the device that a call is for. */
#ifndef CLPOOL_CUDA_ASYNC_POOL_H
#define CLPOOL_CUDA_ASYNC_POOL_H

#include "cuda/context.h"
#include "cuda/live_pointers.h"

#include <clpool/cuda.h>
#include <clpool/hook.h>
#include <pthread.h>
#include <stdatomic.h>

/* A device, as one pool sees it. */
typedef struct clpi_cuda_pool_device {
  int ordinal;
  clpi_cuda_device handle;
  size_t total_bytes;
  clp_cuda_mempool mempool;  /* NULL: the pool has none here */
  size_t limit;              /* 0: none */
  size_t used_bytes;         /* handed out, rounded up; or about to be */
  clpi_cuda_context context; /* with ctx NULL until a call finds no current context */
} clpi_cuda_pool_device;

struct clp_cuda_async_pool {
  const clpi_cuda_driver *driver;
  atomic_size_t references; /* the users', and one for each live pointer */
  const clp_hook *trace;    /* CLPOOL_TRACE's; NULL: there is none */
  bool is_of_one_handle;    /* so that other devices than its have no mempool */
  int device_count;
  pthread_mutex_t lock; /* guards the devices' limit, used_bytes and context, and the pointers */
  clpi_cuda_live_pointers pointers;
  clpi_cuda_pool_device devices[];
};

/* The device that a call is for: that of the thread's current context, or the first. */
clp_status clpi_cuda_current_device(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device);

/* The same, which has to have a mempool. CLP_NOT_SUPPORTED. */
clp_status clpi_cuda_current_mempool(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device);

/* Sees to it that the calling thread has a current context: where it has none, the device's primary
 * one, until leave. */
typedef struct clpi_cuda_stay {
  const clpi_cuda_context *entered; /* NULL: there is a current context already */
} clpi_cuda_stay;

clp_status clpi_cuda_stay_begin(clpi_cuda_stay *stay, clp_cuda_async_pool *pool,
                                clpi_cuda_pool_device *device);
void clpi_cuda_stay_end(const clpi_cuda_stay *stay);

/* Bytes as the driver rounds them up; what cannot be, for so many, are as many as can. */
size_t clpi_cuda_rounded(size_t bytes);

#endif
