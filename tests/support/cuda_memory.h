/* SPDX-License-Identifier: MIT */
/* What tests of memory pools do with the fake driver. */
#ifndef CLPT_CUDA_MEMORY_H
#define CLPT_CUDA_MEMORY_H

#include "cuda_device.h"

#include <clpool/cuda_mempool.h>

/** Memory of a pool, in the device's first stream. */
CUdeviceptr clpt_cuda_allocated(const clpt_cuda *cuda, CUmemoryPool mempool, size_t bytes);

/** Frees it there, and waits for that. */
void clpt_cuda_freed(const clpt_cuda *cuda, CUdeviceptr pointer);

/** The library takes the driver for one of another version, though it loaded it before. Returns the
 * version so far. */
int clpt_cuda_pretend_version(int version);

#endif
