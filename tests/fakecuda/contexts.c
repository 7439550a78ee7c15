/* SPDX-License-Identifier: MIT */
/* Contexts, the stack of them that each thread has, and the primary context of each device. */
#include "fake.h"

#include <stdlib.h>

enum { DEEPEST_STACK = 32 };

static _Thread_local struct {
  unsigned depth;
  CUcontext at[DEEPEST_STACK];
} stack;

static CUcontext contexts; /* all since the reset, those that ended too */

static CUcontext top(void)
{
  return stack.depth > 0 ? stack.at[stack.depth - 1] : NULL;
}

CUresult fake_current_locked(CUcontext *ctx)
{
  *ctx = top();
  if (*ctx && (*ctx)->alive)
    return CLPI_CUDA_SUCCESS;
  return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT,
                               "no context is current, or one that is no more");
}

static CUcontext new_locked(CUdevice device, bool primary)
{
  CUcontext ctx = fake_new(sizeof(*ctx));
  *ctx = (struct CUctx_st){.device = device, .primary = primary, .next = contexts};
  return contexts = ctx;
}

static bool is_alive_locked(const struct CUctx_st *ctx)
{
  CUcontext known = contexts;
  while (known && known != ctx)
    known = known->next;
  return known && known->alive;
}

static void end_locked(CUcontext ctx)
{
  fake_streams_end_of_locked(ctx);
  fake_events_end_of_locked(ctx);
  ctx->legacy = ctx->per_thread = NULL;
  ctx->alive = false;
}

void fake_contexts_reset_locked(void)
{
  if (stack.depth > 0)
    (void)fake_violation_locked(0, "a context is still current");
  stack.depth = 0;
  while (contexts) {
    CUcontext ctx = contexts;
    if (ctx->alive)
      (void)fake_violation_locked(0, "a context of device %d is left, retained %u times",
                                  ctx->device, ctx->retains);
    contexts = ctx->next;
    free(ctx);
  }
}

/* --- primary contexts --- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
  FAKE_ENTER(cuDevicePrimaryCtxRetain);
  FAKE_TRY(fake_device_locked(device));
  if (!fake_devices[device].primary)
    fake_devices[device].primary = new_locked(device, true);
  *out = fake_devices[device].primary;
  (*out)->alive = true;
  (*out)->retains++;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
  FAKE_ENTER(cuDevicePrimaryCtxRelease);
  FAKE_TRY(fake_device_locked(device));
  CUcontext primary = fake_devices[device].primary;
  if (!primary || !primary->retains)
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT,
                                 "the primary context of device %d is released too often", device);
  if (--primary->retains == 0)
    end_locked(primary);
  return CLPI_CUDA_SUCCESS;
}

/* --- contexts that programs make --- */

static CUresult push_locked(CUcontext ctx)
{
  if (!is_alive_locked(ctx) || stack.depth == DEEPEST_STACK)
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT,
                                 "a context that is none, or is no more, or too many");
  if (fakecuda_planted == FAKECUDA_ANOTHER_CONTEXT_IS_PUSHED && stack.depth > 0)
    ctx = stack.at[0];
  stack.at[stack.depth++] = ctx;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *out, unsigned flags, CUdevice device)
{
  FAKE_ENTER(cuCtxCreate);
  FAKE_TRY(fake_device_locked(device));
  if (flags)
    return CLPI_CUDA_INVALID_VALUE; /* no test needs any */
  *out = new_locked(device, false);
  (*out)->alive = true;
  return push_locked(*out);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
  FAKE_ENTER(cuCtxDestroy);
  if (!is_alive_locked(ctx) || ctx->primary)
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT, "a context destroyed that cannot be");
  end_locked(ctx);
  stack.depth -= top() == ctx;
  return CLPI_CUDA_SUCCESS;
}

/* --- the stack --- */

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
  FAKE_ENTER(cuCtxGetCurrent);
  *ctx = top();
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
  FAKE_ENTER(cuCtxSetCurrent);
  stack.depth -= stack.depth > 0;
  return ctx ? push_locked(ctx) : CLPI_CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
  FAKE_ENTER(cuCtxPushCurrent);
  return push_locked(ctx);
}

CUresult cuCtxPopCurrent(CUcontext *ctx)
{
  FAKE_ENTER(cuCtxPopCurrent);
  if (!stack.depth)
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT, "no context is left to pop");
  *ctx = stack.at[--stack.depth];
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
  FAKE_ENTER(cuCtxGetDevice);
  const struct CUctx_st *ctx = top();
  if (!ctx)
    return CLPI_CUDA_INVALID_CONTEXT; /* no violation: it is how to find out */
  *device = ctx->device;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
  FAKE_ENTER(cuCtxSynchronize);
  CUcontext ctx;
  FAKE_TRY(fake_current_locked(&ctx));
  FAKE_TRY(fake_end_captures_locked(ctx));
  fake_reach_all_locked(ctx);
  return CLPI_CUDA_SUCCESS;
}
