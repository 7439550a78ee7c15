/* SPDX-License-Identifier: MIT */
/* Calling the driver while streams, the program's or this library's, are captured into graphs. */
#ifndef CLPOOL_CUDA_CAPTURE_H
#define CLPOOL_CUDA_CAPTURE_H

#include "cuda/context.h"

#include <clpool/allocator.h>

/* Returns the thread's mode before, for clpi_cuda_unrelax. */
clpi_cuda_capture_mode clpi_cuda_relax(void);
void clpi_cuda_unrelax(const clpi_cuda_capture_mode *before);

/* Until the end of the block that begins with it, the calling thread may ask and wait for events,
 * and take and give back memory, while any thread captures a stream. CUDA refuses that otherwise,
 * and ends the capture: a graph that needs it each time it runs would be wrong. None needs what
 * stands behind this: it is on streams that are not captured (clpi_cuda_enter_stream). */
#define CLPI_CUDA_RELAXED                                                                          \
  const clpi_cuda_capture_mode clpi_cuda_mode                                                      \
      __attribute__((unused, cleanup(clpi_cuda_unrelax))) = clpi_cuda_relax()

/* Waits for all work of the current context; while a stream is captured, which CUDA does not wait
 * for, for none. CLP_BACKEND_ERROR. */
clp_status clpi_cuda_synchronize(void);

/* As clpi_cuda_enter, before the stream gets work. CLP_NOT_SUPPORTED: the stream is being captured,
 * so that the work would be the graph's; or it is the legacy one, which waits for all blocking
 * streams, while one of those is. The capture goes on. CLP_BACKEND_ERROR. */
clp_status clpi_cuda_enter_stream(const clpi_cuda_context *context, clp_stream stream);

#endif
