/* SPDX-License-Identifier: MIT */
/* Devices of CUDA for tests, on the fake driver (tests/fakecuda) or a real one (tests/gpu). */
#ifndef CLPT_CUDA_DEVICE_H
#define CLPT_CUDA_DEVICE_H

#include "fakecuda/fakecuda.h"
#include "suite.h"

#include <clpool/cuda_mempool.h>

/** The driver's functions. */
#define CLPT_CUDA_MEMBER(name, suffix, version, parameters) CUresult(*name) parameters;
typedef struct clpt_cuda_calls {
  FAKECUDA_FUNCTIONS(CLPT_CUDA_MEMBER)
} clpt_cuda_calls;
#undef CLPT_CUDA_MEMBER
extern clpt_cuda_calls cu;

/** Loads the driver for the test, and tells the library to load it, too: before it is first used,
 * so in main. False: there is none that has all functions. */
bool clpt_cuda_load(const char *library);
void clpt_cuda_use_fake(void);

/** The driver's call succeeds; else its code is shown. */
#define clpt_cuda_ok(call)                                                                         \
  do {                                                                                             \
    CUresult clpt_code_ = (call);                                                                  \
    ck_assert_msg(clpt_code_ == CLPI_CUDA_SUCCESS, "%s gave %d", #call, clpt_code_);               \
  } while (0)

/** Options of a type: those that are not 0. */
#define CLPT_WITH(type, ...) (&(const type){.struct_size = sizeof(type), __VA_ARGS__})
#define CLPT_MEMPOOL(...)    CLPT_WITH(clp_cuda_mempool_options, __VA_ARGS__)

enum { CLPT_CUDA_STREAMS = 3 };

/** A device as a program has it that uses CUDA itself: its primary context, and streams that the
 * legacy one does not wait for. */
typedef struct clpt_cuda {
  CUdevice device;
  CUcontext ctx;
  CUstream streams[CLPT_CUDA_STREAMS];
} clpt_cuda;

/** No context is current then. */
void clpt_cuda_open(clpt_cuda *cuda, int ordinal);
/** Destroys what open made. */
void clpt_cuda_close(clpt_cuda *cuda);

/** Retains the device's primary context and makes it current; the other way round. */
CUcontext clpt_cuda_retain(CUdevice device);
void clpt_cuda_release(CUdevice device);

CUcontext clpt_cuda_current(void);
/** No context is current any more, or the one before; the one that was. */
CUcontext clpt_cuda_pop(void);

/** A stream of the current context that the legacy one does not wait for. */
CUstream clpt_cuda_stream(void);

/** An allocator on a device and home stream (NULL: the legacy one), with the default memory pool.
 */
clp_allocator *clpt_cuda_allocator(int ordinal, clp_stream home);

/** Memory straight from the driver; and back, which is waited for. */
CUdeviceptr clpt_cuda_take(CUmemoryPool mempool, size_t bytes, CUstream stream);
void clpt_cuda_give(CUdeviceptr memory, CUstream stream);

/** Gives the stream work that fills the memory; waits for nothing. */
void clpt_cuda_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

/** Waits for the stream and asserts that all bytes are `byte`. */
void clpt_cuda_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

#endif
