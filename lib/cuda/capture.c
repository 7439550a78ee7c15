/* SPDX-License-Identifier: MIT */
/* Stream capture: modes of threads, and streams that are captured. */
#include "cuda/capture.h"

#include "core/base/error.h"
#include "cuda/cuda_error.h"

/* A failure is ignored: the call that needs the mode tells it. */
clpi_cuda_relaxed clpi_cuda_relax(const clpi_cuda_driver *driver)
{
  clpi_cuda_capture_mode mode = CLPI_CUDA_CAPTURE_RELAXED;
  clpi_cuda_result code = driver->thread_exchange_capture_mode(&mode);
  return (clpi_cuda_relaxed){code ? NULL : driver, mode};
}

void clpi_cuda_unrelax(const clpi_cuda_relaxed *relaxed)
{
  clpi_cuda_capture_mode mode = relaxed->before;
  if (relaxed->driver)
    relaxed->driver->thread_exchange_capture_mode(&mode);
}

static clp_status refuse_captured(const clpi_cuda_driver *driver, clp_stream stream)
{
  clpi_cuda_capture_status capturing = CLPI_CUDA_CAPTURE_NONE;
  clpi_cuda_result code = driver->stream_is_capturing(stream, &capturing);
  if (code == CLPI_CUDA_STREAM_CAPTURE_IMPLICIT)
    return clpi_error(CLP_NOT_SUPPORTED, code,
                      "the legacy default stream cannot be used while a blocking stream is being "
                      "captured into a graph");
  if (code)
    return clpi_cuda_call_error(driver, "cuStreamIsCapturing", code);
  if (capturing != CLPI_CUDA_CAPTURE_NONE)
    return clpi_error(CLP_NOT_SUPPORTED, CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED,
                      "the stream is being captured into a graph, and memory of a pool is not the "
                      "graph's: it is neither allocated nor freed nor waited for there");
  return CLP_SUCCESS;
}

clp_status clpi_cuda_enter_stream(const clpi_cuda_context *context, clp_stream stream)
{
  clp_status status = clpi_cuda_enter(context);
  if (status)
    return status;
  status = refuse_captured(context->driver, stream);
  if (status)
    clpi_cuda_leave(context);
  return status;
}
