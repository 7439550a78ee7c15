/* SPDX-License-Identifier: MIT */
/* Errors of the driver. It names them itself, including those newer than this library. */
#include "cuda/cuda_error.h"

#include "core/base/error.h"

clp_status clpi_cuda_refuse_null(const char *function, const char *argument)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: %s is NULL", function, argument);
}

bool clpi_cuda_is_of_capture(clpi_cuda_result code)
{
  return code >= CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED &&
         code <= CLPI_CUDA_STREAM_CAPTURE_WRONG_THREAD;
}

static clp_status status_of(clpi_cuda_result code)
{
  switch (code) {
  case CLPI_CUDA_OUT_OF_MEMORY:
    return CLP_OUT_OF_DEVICE_MEMORY;
  case CLPI_CUDA_INVALID_VALUE:
  case CLPI_CUDA_INVALID_DEVICE:
  case CLPI_CUDA_INVALID_CONTEXT:
  case CLPI_CUDA_INVALID_HANDLE:
    return CLP_INVALID_ARGUMENT;
  case CLPI_CUDA_PEER_ACCESS_UNSUPPORTED:
  case CLPI_CUDA_NOT_PERMITTED:
  case CLPI_CUDA_NOT_SUPPORTED:
    return CLP_NOT_SUPPORTED;
  default:
    return clpi_cuda_is_of_capture(code) ? CLP_NOT_SUPPORTED : CLP_BACKEND_ERROR;
  }
}

static const char *name_of(clpi_cuda_result code)
{
  const char *name = NULL;
  clpi_cuda_result failed = clpi_cuda.cuGetErrorName(code, &name);
  return failed || !name ? "an unknown error" : name;
}

/* What the driver's name for it does not tell. */
static const char *advice_on(clpi_cuda_result code)
{
  if (code == CLPI_CUDA_NOT_PERMITTED)
    return ": was it called from a CUDA host function (cuLaunchHostFunc, cuStreamAddCallback), "
           "which may not call CUDA?";
  return clpi_cuda_is_of_capture(code) ? ": a stream is being captured into a graph" : "";
}

clp_status clpi_cuda_check(const char *call, clpi_cuda_result code)
{
  if (!code)
    return CLP_SUCCESS;
  return clpi_error(status_of(code), code, "%s failed with %s (%d)%s", call, name_of(code), code,
                    advice_on(code));
}

clp_status clpi_cuda_memory_error(const char *call, clpi_cuda_result code, size_t bytes)
{
  return clpi_error(status_of(code), code, "%s for %zu bytes failed with %s (%d)%s", call, bytes,
                    name_of(code), code, advice_on(code));
}
