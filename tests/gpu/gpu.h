/* SPDX-License-Identifier: MIT */
/* What holds on each CUDA driver. The cases in this folder are built into two programs:
 *
 *   tests/gpu/test_gpu     on NVIDIA's driver; exits with 77 where there is none, or no device
 *   tests/cuda/test_cuda   on the fake one
 *
 * Each runs in one process, as CUDA does not survive a fork. The device is the first that the
 * driver shows; CUDA_VISIBLE_DEVICES chooses it. Figures are of the test's own memory pool: others
 * may use the device at the same time. */
#ifndef CLPT_GPU_H
#define CLPT_GPU_H

#include "support/cuda_device.h"

#include <clpool/pool.h>

enum { CLPT_MIB = 1 << 20 };

/** main() of both programs. `library` is the driver's file. `reset` (or NULL) is called before and
 * after each test. */
int clpt_gpu_main(const char *library, void (*reset)(void));

/** What each test has anew. */
typedef struct clpt_gpu {
  CUcontext ctx;                 /**< the device's primary one; it is current */
  CUstream stream, other, third; /**< the legacy one does not wait for them */
  clp_cuda_mempool mempool;      /**< keeps what it reserved */
  clp_allocator *allocator;      /**< of `mempool`; `stream` is its home */
  clp_pool *pool;                /**< of `allocator` */
  clp_cuda_async_pool *async;    /**< of `mempool` */
} clpt_gpu;
extern clpt_gpu gpu;

/** A case each of whose tests has that. */
TCase *clpt_gpu_case(Suite *suite, const char *name);

/** Stops a stream before all that it is given from now on, and lets all go on that were stopped. At
 * the end of the test they go on anyhow. */
void clpt_gpu_stop(CUstream stream);
void clpt_gpu_go(void);

/** @name Calls that must succeed, and leave the last error alone @{ */
clp_buffer *clpt_gpu_allocate(size_t bytes, CUstream stream); /**< of gpu.pool */
void clpt_gpu_release(clp_buffer *buffer, CUstream stream);
unsigned long long clpt_gpu_take(size_t bytes, CUstream stream); /**< of gpu.async */
void clpt_gpu_give(unsigned long long memory, CUstream stream);
clp_cuda_mempool_usage clpt_gpu_usage(clp_cuda_mempool mempool);
/** @} */

#endif
