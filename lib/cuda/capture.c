/* SPDX-License-Identifier: MIT */
/* Stream capture: modes of threads, and streams that are captured. */
#include "cuda/capture.h"

#include "core/base/error.h"
#include "cuda/cuda_error.h"

/* Ignores a failure: the call that needs the mode reports it. There is then no mode to restore. */
clpi_cuda_capture_mode clpi_cuda_relax(void)
{
  clpi_cuda_capture_mode mode = CLPI_CUDA_CAPTURE_RELAXED;
  return clpi_cuda.cuThreadExchangeStreamCaptureMode(&mode) ? CLPI_CUDA_CAPTURE_RELAXED : mode;
}

void clpi_cuda_unrelax(const clpi_cuda_capture_mode *before)
{
  clpi_cuda_capture_mode mode = *before;
  if (mode != CLPI_CUDA_CAPTURE_RELAXED)
    clpi_cuda.cuThreadExchangeStreamCaptureMode(&mode);
}

clp_status clpi_cuda_synchronize(void)
{
  clpi_cuda_result code = clpi_cuda.cuCtxSynchronize();
  return clpi_cuda_is_of_capture(code) ? CLP_SUCCESS : clpi_cuda_check("cuCtxSynchronize", code);
}

static clp_status refuse_captured(clp_stream stream)
{
  clpi_cuda_capture_status capturing = CLPI_CUDA_CAPTURE_NONE;
  clpi_cuda_result code = clpi_cuda.cuStreamIsCapturing(stream, &capturing);
  if (code == CLPI_CUDA_STREAM_CAPTURE_IMPLICIT)
    return clpi_error(CLP_NOT_SUPPORTED, code,
                      "the legacy default stream cannot be used while a blocking stream is being "
                      "captured into a graph");
  if (!code && capturing != CLPI_CUDA_CAPTURE_NONE)
    return clpi_error(CLP_NOT_SUPPORTED, CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED,
                      "the stream is being captured into a graph, where a pool cannot allocate, "
                      "free or wait: do so before or after the capture");
  return clpi_cuda_check("cuStreamIsCapturing", code);
}

clp_status clpi_cuda_enter_stream(const clpi_cuda_context *context, clp_stream stream)
{
  clp_status status = clpi_cuda_enter(context);
  if (status)
    return status;
  status = refuse_captured(stream);
  if (status)
    clpi_cuda_leave();
  return status;
}
