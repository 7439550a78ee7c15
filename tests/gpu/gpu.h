/* SPDX-License-Identifier: MIT */
/* What holds on each CUDA driver. The cases in this folder are built into two programs:
 *
 *   tests/gpu/test_gpu     on NVIDIA's driver; exits with 77 where there is none, or no device
 *   tests/cuda/test_cuda   on the fake one
 *
 * Each runs in one process, as CUDA does not survive a fork. The device is the first that the
 * driver shows; CUDA_VISIBLE_DEVICES chooses it. */
#ifndef CLPT_GPU_H
#define CLPT_GPU_H

#include "fakecuda/fakecuda.h"
#include "support/suite.h"

#include <clpool/cuda_mempool.h>
#include <clpool/pool.h>
#include <semaphore.h>

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

/** main() of both programs. `library` is the driver's file; `add` (or NULL) adds a program's own
 * cases. `reset` (or NULL) is called before and after each test. */
int clpt_gpu_main(int argument_count, char **arguments, const char *library,
                  void (*add)(Suite *suite), void (*reset)(void));

/** @name The cases, a file each @{ */
void clpt_gpu_add_driver(Suite *suite);
void clpt_gpu_add_allocator(Suite *suite);
void clpt_gpu_add_async_pool(Suite *suite);
void clpt_gpu_add_capture(Suite *suite);
void clpt_gpu_add_mempool(Suite *suite);
void clpt_gpu_add_two(Suite *suite);
void clpt_gpu_add_share(Suite *suite);
/** @} */

/** Starts the other process of the share case. Before the first call of CUDA. */
void clpt_gpu_start_importer(void);
/** main() of that process. */
int clpt_gpu_import(void (*reset)(void));

/** A case in each of whose tests the device's primary context is current. */
TCase *clpt_gpu_case(Suite *suite, const char *name);

/** Streams of that context, new for each test, which the legacy one does not wait for. */
extern CUstream clpt_stream, clpt_other;

/** Retains the device's primary context and makes it current; the other way round. */
void clpt_gpu_open(CUdevice device);
void clpt_gpu_close(CUdevice device);

/** A stream like clpt_stream, which the test destroys. */
CUstream clpt_gpu_stream(void);

/** Stops a stream before all that it is given from now on, until it may go on, or the test ends.
 * The semaphore is static: a test that fails may leave it behind. */
void clpt_gpu_stop(sem_t *may_go_on, CUstream stream);
void clpt_gpu_go(sem_t *may_go_on);

/** Gives the stream work that fills the memory; waits for nothing. */
void clpt_gpu_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

/** Waits for the stream and asserts that all bytes are `byte`. */
void clpt_gpu_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

#endif
