/* SPDX-License-Identifier: MIT */
/* Of CUDA's driver, what a program calls that allocates from it without clpool. It is loaded when
 * the program runs, so that nothing of CUDA's is needed to build it. */
#ifndef BENCH_CUDA_DRIVER_H
#define BENCH_CUDA_DRIVER_H

#include <clpool/cuda.h>
#include <stdbool.h>
#include <stddef.h>

typedef int cuda_result;
typedef unsigned long long cuda_pointer;
typedef struct cuda_context *cuda_context;
typedef struct cuda_stream *cuda_stream;
enum { CUDA_STREAM_NON_BLOCKING = 1 };

/** The one list of functions: X(member, name in the library, parameters). */
#define CUDA_DRIVER_FUNCTIONS(X)                                                                   \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(device_get, "cuDeviceGet", (int *device, int ordinal))                                         \
  X(context_retain, "cuDevicePrimaryCtxRetain", (cuda_context * context, int device))              \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                 \
  X(context_set, "cuCtxSetCurrent", (cuda_context context))                                        \
  X(stream_create, "cuStreamCreate", (cuda_stream * stream, unsigned flags))                       \
  X(stream_wait, "cuStreamSynchronize", (cuda_stream stream))                                      \
  X(stream_destroy, "cuStreamDestroy_v2", (cuda_stream stream))                                    \
  X(allocate_async, "cuMemAllocAsync", (cuda_pointer * memory, size_t bytes, cuda_stream stream))  \
  X(allocate_from, "cuMemAllocFromPoolAsync",                                                      \
    (cuda_pointer * memory, size_t bytes, clp_cuda_mempool mempool, cuda_stream stream))           \
  X(free_async, "cuMemFreeAsync", (cuda_pointer memory, cuda_stream stream))                       \
  X(allocate, "cuMemAlloc_v2", (cuda_pointer * memory, size_t bytes))                              \
  X(free, "cuMemFree_v2", (cuda_pointer memory))

typedef struct cuda_driver {
#define CUDA_DRIVER_MEMBER(member, name, parameters) cuda_result(*member) parameters;
  CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_MEMBER)
#undef CUDA_DRIVER_MEMBER
} cuda_driver;

/** Loads the driver, the one that clpool takes. False: it cannot be, which it has said. */
bool cuda_driver_load(cuda_driver *driver);

#endif
