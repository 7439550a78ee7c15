/* SPDX-License-Identifier: MIT */
/* clpool/cuda.h - CUDA memory: the driver's stream-ordered allocator as an allocator for pools, its
 * memory pools, and CuPy's MemoryAsyncPool.
 *
 * Always built, and needs no CUDA toolkit: the driver (libcuda.so.1, or what the environment
 * variable CLPOOL_CUDA_LIBRARY names) is loaded when it is first used. Where there is none, every
 * function here says CLP_NOT_SUPPORTED, with the reason.
 *
 * Devices are told by their ordinals, as in the runtime API, and used through their primary
 * contexts, which the runtime API, CuPy and PyTorch use too. The caller's current context is left
 * as it was. Streams are CUstreams (cudaStream_t) of that context.
 *
 * Any thread may call any function here at any time. */
#ifndef CLPOOL_CUDA_H
#define CLPOOL_CUDA_H

#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A memory pool of the driver's: the same type as CUmemoryPool and cudaMemPool_t, so that handles
 * pass freely between them and clpool. */
typedef struct CUmemPoolHandle_st *clp_cuda_mempool;

/** The default streams, by name, as NULL is no stream to clpool: CU_STREAM_LEGACY and
 * CU_STREAM_PER_THREAD. */
#define CLP_CUDA_STREAM_LEGACY     ((clp_stream)1)
#define CLP_CUDA_STREAM_PER_THREAD ((clp_stream)2)

#ifdef __cplusplus
}
#endif

#endif
