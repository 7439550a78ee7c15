/* SPDX-License-Identifier: MIT */
/* Tests on the fake driver (tests/fakecuda): the library finds it, and a device is open. */
#ifndef CLPT_CUDA_DEVICE_H
#define CLPT_CUDA_DEVICE_H

#include "fakecuda/fakecuda.h"

#include <clpool/cuda_mempool.h>

enum { CLPT_CUDA_STREAMS = 3 };

/** A device as a program has it that uses CUDA itself: its primary context, and streams that the
 * legacy one does not wait for. No context is current. */
typedef struct clpt_cuda {
  CUdevice device;
  CUcontext ctx;
  CUstream streams[CLPT_CUDA_STREAMS];
} clpt_cuda;

/** Tells the library to load the fake driver: before it is first used, so in main. */
void clpt_cuda_use_fake(void);

/** Asserts that a call of the driver's succeeded. */
void clpt_cuda_ok(CUresult code);

void clpt_cuda_open(clpt_cuda *cuda, int ordinal);

/** Destroys what open made. */
void clpt_cuda_close(clpt_cuda *cuda);

/** Makes the device's context current, and no more. */
void clpt_cuda_enter(const clpt_cuda *cuda);
void clpt_cuda_leave(void);

/** The context that is current to this thread. */
CUcontext clpt_cuda_current(void);

/** An allocator on a device and home stream (NULL: the legacy one), with the default memory pool.
 */
clp_allocator *clpt_cuda_allocator(int ordinal, clp_stream home);

/** Gives a stream work: each byte of [pointer, pointer + bytes) is set. */
void clpt_cuda_fill(const clpt_cuda *cuda, CUstream stream, CUdeviceptr pointer, size_t bytes,
                    unsigned char byte);

/** Memory of a memory pool, in the device's first stream; and frees it there, and waits for that.
 */
CUdeviceptr clpt_cuda_allocated(const clpt_cuda *cuda, CUmemoryPool mempool, size_t bytes);
void clpt_cuda_freed(const clpt_cuda *cuda, CUdeviceptr pointer);

/** The library takes the driver for one of another version, though it loaded it before. Returns the
 * version so far. */
int clpt_cuda_pretend_version(int version);

#endif
