/* SPDX-License-Identifier: MIT */
/* Tests on a GPU: the real driver, which the tests call themselves, too. Each runs in one process,
 * as CUDA does not survive a fork, and exits 77 where there is no driver or no device. */
#ifndef CLPT_GPU_H
#define CLPT_GPU_H

#include "fakecuda/fakecuda.h"
#include "support/suite.h"

#include <clpool/cuda_mempool.h>
#include <clpool/pool.h>
#include <semaphore.h>
#include <stdbool.h>

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

/** As clpt_run; 77, with a line that says why, where there are fewer than `devices` of them. */
int clpt_gpu_run(Suite *suite, int devices);

/** Loads the driver's functions. False: there is no driver. */
bool clpt_gpu_load(void);

/** Retains the device's primary context and makes it current; the other way round. */
void clpt_gpu_open(CUdevice device);
void clpt_gpu_close(CUdevice device);

/** A stream of the current context that the legacy one does not wait for. */
CUstream clpt_gpu_stream(void);

/** Stops a stream before all that it is given from now on, until it may go on. */
void clpt_gpu_stop(sem_t *may_go_on, CUstream stream);
void clpt_gpu_go(sem_t *may_go_on);

/** Gives the stream work that fills the memory; waits for nothing. */
void clpt_gpu_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

/** Waits for the stream and asserts that all bytes are `byte`. */
void clpt_gpu_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream);

#endif
