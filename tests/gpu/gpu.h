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

#include "fakecuda/fakecuda.h"
#include "support/suite.h"

#include <clpool/cuda_mempool.h>
#include <clpool/pool.h>

enum { CLPT_MIB = 1 << 20 };

/** The driver's functions. */
#define CLPT_GPU_MEMBER(name, suffix, version, parameters) CUresult(*name) parameters;
typedef struct clpt_gpu_calls {
  FAKECUDA_FUNCTIONS(CLPT_GPU_MEMBER)
} clpt_gpu_calls;
#undef CLPT_GPU_MEMBER

extern clpt_gpu_calls cu;

/** The driver's call succeeds; else its code is shown. */
#define clpt_gpu_ok(call)                                                                          \
  do {                                                                                             \
    CUresult clpt_code_ = (call);                                                                  \
    ck_assert_msg(clpt_code_ == CLPI_CUDA_SUCCESS, "%s gave %d", #call, clpt_code_);               \
  } while (0)

/** main() of both programs. `library` is the driver's file. `reset` (or NULL) is called before and
 * after each test. */
int clpt_gpu_main(int argument_count, char **arguments, const char *library, void (*reset)(void));

/** Starts the other process of the share case. Before the first call of CUDA. */
void clpt_gpu_start_importer(void);
/** main() of that process. */
int clpt_gpu_import(void (*reset)(void));

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

/** Retains the device's primary context and makes it current; the other way round. */
CUcontext clpt_gpu_open(CUdevice device);
void clpt_gpu_close(CUdevice device);

CUcontext clpt_gpu_current(void);
/** No context is current any more, or the one before; the one that was. */
CUcontext clpt_gpu_pop(void);

/** A stream like those of `gpu`, which the test destroys. */
CUstream clpt_gpu_stream(void);

/** Stops a stream before all that it is given from now on, and lets all go on that were stopped. At
 * the end of the test they go on anyhow. */
void clpt_gpu_stop(CUstream stream);
void clpt_gpu_go(void);

/** Gives the stream work that fills the memory; waits for nothing. */
void clpt_gpu_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

/** Waits for the stream and asserts that all bytes are `byte`. */
void clpt_gpu_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

/** @name Calls that must succeed, and leave the last error alone @{ */
clp_buffer *clpt_gpu_allocate(size_t bytes, CUstream stream); /**< of gpu.pool */
void clpt_gpu_release(clp_buffer *buffer, CUstream stream);
unsigned long long clpt_gpu_take(size_t bytes, CUstream stream); /**< of gpu.async */
void clpt_gpu_give(unsigned long long memory, CUstream stream);
CUdeviceptr clpt_gpu_take_from(clp_cuda_mempool mempool, size_t bytes, CUstream stream);
void clpt_gpu_give_back(CUdeviceptr memory, CUstream stream); /**< and waits for the stream */
clp_cuda_mempool_usage clpt_gpu_usage(clp_cuda_mempool mempool);
/** @} */

/** Options of a memory pool. */
#define CLPT_MEMPOOL(...)                                                                          \
  (&(const clp_cuda_mempool_options){.struct_size = sizeof(clp_cuda_mempool_options), __VA_ARGS__})

#endif
