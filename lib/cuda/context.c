/* SPDX-License-Identifier: MIT */
/* Devices and their primary contexts. */
#include "cuda/context.h"

#include "core/base/error.h"
#include "cuda/cuda_error.h"

#include <stdbool.h>

clp_status clpi_cuda_device_get(int ordinal, const clpi_cuda_driver **driver,
                                clpi_cuda_device *device)
{
  clp_status status = clpi_cuda_driver_get(driver);
  if (status)
    return status;
  int count = 0;
  clpi_cuda_result code = (*driver)->device_get_count(&count);
  if (code)
    return clpi_cuda_call_error(*driver, "cuDeviceGetCount", code);
  if (ordinal < 0 || ordinal >= count)
    return clpi_error(CLP_INVALID_ARGUMENT, CLPI_CUDA_INVALID_DEVICE,
                      "there is no CUDA device %d: there are %d, counted from 0", ordinal, count);
  code = (*driver)->device_get(device, ordinal);
  return code ? clpi_cuda_call_error(*driver, "cuDeviceGet", code) : CLP_SUCCESS;
}

clp_status clpi_cuda_context_retain(int ordinal, clpi_cuda_context *out)
{
  clpi_cuda_context context = {.ordinal = ordinal};
  clp_status status = clpi_cuda_device_get(ordinal, &context.driver, &context.device);
  if (status)
    return status;
  clpi_cuda_result code = context.driver->primary_ctx_retain(&context.ctx, context.device);
  if (code)
    return clpi_cuda_call_error(context.driver, "cuDevicePrimaryCtxRetain", code);
  *out = context;
  return CLP_SUCCESS;
}

void clpi_cuda_context_release(clpi_cuda_context *context)
{
  context->driver->primary_ctx_release(context->device);
  context->ctx = NULL;
}

/* A stack of bits, the innermost lowest: whether each clpi_cuda_enter that this thread has not left
 * yet pushed the context. Mostly the context is current already, so that push and pop are saved. */
static _Thread_local uint64_t pushed __attribute__((tls_model("initial-exec")));

clp_status clpi_cuda_enter(const clpi_cuda_context *context)
{
  clpi_cuda_ctx current = NULL;
  clpi_cuda_result code = context->driver->ctx_get_current(&current);
  if (code)
    return clpi_cuda_call_error(context->driver, "cuCtxGetCurrent", code);
  bool must_push = current != context->ctx;
  code = must_push ? context->driver->ctx_push(context->ctx) : CLPI_CUDA_SUCCESS;
  if (code)
    return clpi_cuda_call_error(context->driver, "cuCtxPushCurrent", code);
  pushed = pushed << 1 | must_push;
  return CLP_SUCCESS;
}

void clpi_cuda_leave(const clpi_cuda_context *context)
{
  clpi_cuda_ctx left;
  if (pushed & 1)
    context->driver->ctx_pop(&left);
  pushed >>= 1;
}

clp_status clpi_cuda_leave_after(const clpi_cuda_context *context, const char *call,
                                 clpi_cuda_result code)
{
  clpi_cuda_leave(context);
  return code ? clpi_cuda_call_error(context->driver, call, code) : CLP_SUCCESS;
}
