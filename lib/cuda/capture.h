/* SPDX-License-Identifier: MIT */
/* Calling the driver while streams are captured into graphs. */
#ifndef CLPOOL_CUDA_CAPTURE_H
#define CLPOOL_CUDA_CAPTURE_H

#include "cuda/context.h"

#include <clpool/allocator.h>

/* Enters the relaxed mode. Returns the thread's mode before, for clpi_cuda_unrelax. */
clpi_cuda_capture_mode clpi_cuda_relax(void);
void clpi_cuda_unrelax(const clpi_cuda_capture_mode *before);

/* Enters the relaxed mode until the end of the block that begins with it. The thread may then query
 * and wait for events, and allocate and free memory, while any thread captures a stream. Otherwise
 * CUDA refuses such calls and ends the capture, because the graph would lack them. Calls in these
 * blocks are not a graph's: their streams are not captured (clpi_cuda_enter_stream). */
#define CLPI_CUDA_RELAXED                                                                          \
  const clpi_cuda_capture_mode clpi_cuda_mode                                                      \
      __attribute__((unused, cleanup(clpi_cuda_unrelax))) = clpi_cuda_relax()

/* Waits for all work of the current context. While a stream is captured, CUDA refuses, and the call
 * succeeds without a wait. CLP_BACKEND_ERROR. */
clp_status clpi_cuda_synchronize(void);

/* As clpi_cuda_enter, before the stream gets work. CLP_NOT_SUPPORTED: the stream is being captured,
 * so the work would be the graph's; or it is the legacy stream, and a blocking stream is being
 * captured, which it would wait for. The capture goes on. CLP_BACKEND_ERROR. */
clp_status clpi_cuda_enter_stream(const clpi_cuda_context *context, clp_stream stream);

#endif
