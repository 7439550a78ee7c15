/* SPDX-License-Identifier: MIT */
/* Devices and their primary contexts. */
#include "cuda/context.h"

#include "core/base/error.h"
#include "cuda/cuda_error.h"

#include <stdbool.h>

clp_status clpi_cuda_device_get(int ordinal, clpi_cuda_device *device)
{
  int count = 0;
  clp_status status = clpi_cuda_load();
  if (!status)
    status = clpi_cuda_call(cuDeviceGetCount, &count);
  if (status)
    return status;
  if (ordinal < 0 || ordinal >= count)
    return clpi_error(CLP_INVALID_ARGUMENT, CLPI_CUDA_INVALID_DEVICE,
                      "there is no CUDA device %d: this machine has %d, numbered from 0", ordinal,
                      count);
  return clpi_cuda_call(cuDeviceGet, device, ordinal);
}

clp_status clpi_cuda_context_retain(int ordinal, clpi_cuda_context *out)
{
  clpi_cuda_context context = {.ordinal = ordinal};
  clp_status status = clpi_cuda_device_get(ordinal, &context.device);
  if (!status)
    status = clpi_cuda_call(cuDevicePrimaryCtxRetain, &context.ctx, context.device);
  if (!status)
    *out = context;
  return status;
}

void clpi_cuda_context_release(clpi_cuda_context *context)
{
  clpi_cuda.cuDevicePrimaryCtxRelease(context->device);
  context->ctx = NULL;
}

/* A stack of bits, the innermost lowest: whether each clpi_cuda_enter that this thread has not left
 * yet pushed the context. Usually the context is current already, which saves the push and pop. */
static _Thread_local uint64_t pushed __attribute__((tls_model("initial-exec")));

clp_status clpi_cuda_enter(const clpi_cuda_context *context)
{
  clpi_cuda_ctx current = NULL;
  clp_status status = clpi_cuda_call(cuCtxGetCurrent, &current);
  bool must_push = current != context->ctx;
  if (!status && must_push)
    status = clpi_cuda_call(cuCtxPushCurrent, context->ctx);
  if (!status)
    pushed = pushed << 1 | must_push;
  return status;
}

void clpi_cuda_leave(void)
{
  clpi_cuda_ctx left;
  if (pushed & 1)
    clpi_cuda.cuCtxPopCurrent(&left);
  pushed >>= 1;
}

clp_status clpi_cuda_leave_after(clp_status status)
{
  clpi_cuda_leave();
  return status;
}
