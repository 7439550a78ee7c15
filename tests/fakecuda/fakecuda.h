/* SPDX-License-Identifier: MIT */
/* A stand-in for CUDA's driver (libfakecuda.so), and the driver's calls that tests make themselves.
 *
 * It has devices of made-up size, contexts, streams that run late on threads of their own, events
 * and memory pools. Memory is host memory that only the streams' commands can reach: to touch a
 * device pointer on the host is a segmentation fault. What its caller does wrong it finds when the
 * call is made, whatever the streams have done by then: see fakecuda_features.
 *
 * The tests on a real driver (tests/gpu) use the declarations of the first half, too. */
#ifndef FAKECUDA_H
#define FAKECUDA_H

#include "cuda/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the driver's interface --- */

typedef clpi_cuda_result CUresult;
typedef clpi_cuda_device CUdevice;
typedef clpi_cuda_pointer CUdeviceptr;
typedef clpi_cuda_ctx CUcontext;
typedef clpi_cuda_stream CUstream;
typedef clpi_cuda_event CUevent;
typedef clpi_cuda_mempool CUmemoryPool;
typedef clpi_cuda_location CUmemLocation;
typedef clpi_cuda_access CUmemAccessDesc;
typedef clpi_cuda_mempool_props CUmemPoolProps;
typedef clpi_cuda_shared_pointer CUmemPoolPtrExportData;
typedef struct CUgraph_st *CUgraph;
typedef void (*CUhostFn)(void *user_data);

/* Codes and values that the library does not need, but tests do; the others are CLPI_CUDA_... */
enum {
  FAKECUDA_UNKNOWN = 999,
  FAKECUDA_ILLEGAL_ADDRESS = 700,
  FAKECUDA_STREAM_CAPTURE_INVALIDATED = 901,
};
enum { FAKECUDA_STREAM_DEFAULT = 0, FAKECUDA_STREAM_NON_BLOCKING = 1 };
enum { FAKECUDA_CAPTURE_GLOBAL = 0, FAKECUDA_CAPTURE_THREAD_LOCAL = 1 };
enum { FAKECUDA_CAPTURE_ACTIVE = 1, FAKECUDA_CAPTURE_INVALIDATED = 2 };
#define FAKECUDA_STREAM_LEGACY     ((CUstream)1)
#define FAKECUDA_STREAM_PER_THREAD ((CUstream)2)

/* As cuda.h has it: the plain name is the newest version. */
#define cuDeviceTotalMem          cuDeviceTotalMem_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuCtxCreate               cuCtxCreate_v2
#define cuCtxDestroy              cuCtxDestroy_v2
#define cuCtxPushCurrent          cuCtxPushCurrent_v2
#define cuCtxPopCurrent           cuCtxPopCurrent_v2
#define cuStreamDestroy           cuStreamDestroy_v2
#define cuStreamBeginCapture      cuStreamBeginCapture_v2
#define cuEventDestroy            cuEventDestroy_v2
#define cuMemAlloc                cuMemAlloc_v2
#define cuMemFree                 cuMemFree_v2
#define cuMemcpyDtoHAsync         cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoDAsync         cuMemcpyDtoDAsync_v2
#define cuGetProcAddress          cuGetProcAddress_v2

/* All functions there are: the library's (lib/cuda/driver.h), and those that programs call. */
#define FAKECUDA_FUNCTIONS(X)                                                                      \
  CLPI_CUDA_FUNCTIONS(X)                                                                           \
  X(cuCtxCreate, _v2, 3020, (CUcontext * ctx, unsigned flags, CUdevice device))                    \
  X(cuCtxDestroy, _v2, 4000, (CUcontext ctx))                                                      \
  X(cuCtxSetCurrent, , 4000, (CUcontext ctx))                                                      \
  X(cuStreamCreate, , 2000, (CUstream * stream, unsigned flags))                                   \
  X(cuStreamDestroy, _v2, 4000, (CUstream stream))                                                 \
  X(cuLaunchHostFunc, , 10000, (CUstream stream, CUhostFn function, void *user_data))              \
  X(cuStreamBeginCapture, _v2, 10010, (CUstream stream, clpi_cuda_capture_mode mode))              \
  X(cuStreamEndCapture, , 10000, (CUstream stream, CUgraph * graph))                               \
  X(cuGraphDestroy, , 10000, (CUgraph graph))                                                      \
  X(cuMemAlloc, _v2, 3020, (CUdeviceptr * pointer, size_t bytes))                                  \
  X(cuMemFree, _v2, 3020, (CUdeviceptr pointer))                                                   \
  X(cuMemAllocAsync, , 11020, (CUdeviceptr * pointer, size_t bytes, CUstream stream))              \
  X(cuMemsetD8Async, , 3020,                                                                       \
    (CUdeviceptr pointer, unsigned char byte, size_t count, CUstream stream))                      \
  X(cuMemcpyDtoHAsync, _v2, 3020, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))     \
  X(cuMemcpyDtoDAsync, _v2, 3020,                                                                  \
    (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                             \
  X(cuGetProcAddress, _v2, 12000,                                                                  \
    (const char *symbol, void **function, int version, uint64_t flags,                             \
     clpi_cuda_symbol_status *status))

#define FAKECUDA_DECLARE(name, suffix, version, parameters) CUresult name##suffix parameters;
FAKECUDA_FUNCTIONS(FAKECUDA_DECLARE)

/* --- control of the fake --- */

enum { FAKECUDA_MOST_DEVICES = 8 };

/** What the driver and its devices are like. */
typedef struct fakecuda_features {
  int version;  /**< functions that are newer are not found, and it is a violation to call them */
  int devices;  /**< with 0, cuInit fails */
  size_t bytes; /**< of each */
  bool mempools[FAKECUDA_MOST_DEVICES];    /**< whether it supports them */
  int handle_types[FAKECUDA_MOST_DEVICES]; /**< CLPI_CUDA_HANDLE_..., or-ed */
  bool host_numa;                          /**< memory pools of NUMA node 0 can be made */
  bool peers;                              /**< devices can access each other's memory */
  const char *hidden; /**< cuGetProcAddress does not find this one (the plain name) */
  /** Who is told what the caller did wrong, under the fake's lock: it may note it, and no more. The
   * call then fails. NULL: it is printed, and the program aborts.
   *
   * Violations are: use after free, double free, freeing foreign memory; handles that are none, or
   * no more; no or a wrong current context where the driver needs one, and a context released too
   * often; a stream's use of memory that the order of streams, events and what the host has waited
   * for puts before its allocation, after its free, or beside another stream's use, where one of
   * them writes; memory of a device that has no access; work for a stream that is being captured or
   * waits for one that is, and a thread's capture mode that is left changed; events recorded on a
   * stream of another context; calls of the driver inside of a host function; calls of functions of
   * another version; and what is left at fakecuda_reset. */
  void (*on_violation)(const char *what);
} fakecuda_features;

/** At first and after a reset: 12080, 2 devices of 1 GiB, which can do all of this, and export
 * memory pools as POSIX file descriptors. To be set while no call is under way. */
extern fakecuda_features fakecuda_has;

/** For between tests: lets all streams finish, ends them, and makes everything new; no call is to
 * fail, and none is counted. It is a violation if anything is left that was not given back: memory,
 * events, streams, memory pools, contexts, or a context current to the calling thread. That the
 * driver was initialized stays. */
void fakecuda_reset(void);

/** Makes calls of this function (the plain name, cuEventDestroy) fail with `result`, without any
 * effect: first `after` calls succeed, then `times` fail; 0: all from then on. NULL: calls of any
 * function that takes or waits for something, counted together; what gives back (destroy, release,
 * free, pop, exchange) and cuGetErrorName do not fail then. It takes the place of what was asked
 * for before; with a result of 0, nothing fails. */
void fakecuda_fail(const char *function, int result, unsigned after, unsigned times);

/** The function that failed last since fakecuda_fail was called to make one fail. NULL: none. */
const char *fakecuda_failed(void);

/** Stops the stream before its next command, and lets it go on. NULL and the legacy stream are
 * those of the current context. A stream can be held before it has work. */
void fakecuda_hold(CUstream stream);
void fakecuda_go_on(CUstream stream);

/** How many commands the stream has left. */
size_t fakecuda_commands_left(CUstream stream);

/** How often the function was called (the plain name; NULL: all together), failed calls too. */
unsigned long fakecuda_calls(const char *function);

/** Allocations that live; those that were freed in stream order do not count any more. */
size_t fakecuda_live_allocations(void);

#endif
