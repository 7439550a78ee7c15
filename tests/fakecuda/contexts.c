/* SPDX-License-Identifier: MIT */
/* Contexts, the stack of them that each thread has, and the primary context of each device. */
#include "fake.h"

#include <stdlib.h>

enum { DEEPEST_STACK = 32 };

/* A thread's stack, as of one reset: older ones are empty. */
typedef struct ctx_stack {
  unsigned long reset;
  unsigned depth;
  CUcontext at[DEEPEST_STACK];
} ctx_stack;

static _Thread_local ctx_stack own_stack;
static unsigned long resets;
static CUcontext contexts; /* all since the reset, those that ended too */

static ctx_stack *stack_locked(void)
{
  if (own_stack.reset != resets)
    own_stack = (ctx_stack){.reset = resets};
  return &own_stack;
}

static CUcontext top_locked(void)
{
  const ctx_stack *stack = stack_locked();
  return stack->depth > 0 ? stack->at[stack->depth - 1] : NULL;
}

CUcontext fake_current_locked(void)
{
  CUcontext ctx = top_locked();
  if (ctx && ctx->alive)
    return ctx;
  (void)fake_violation_locked(0, "no context is current, or one that is no more");
  return NULL;
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
  ctx->legacy = NULL;
  ctx->alive = false;
}

void fake_contexts_reset_locked(void)
{
  if (stack_locked()->depth > 0)
    (void)fake_violation_locked(0, "a context is still current");
  while (contexts) {
    CUcontext ctx = contexts;
    if (ctx->alive)
      (void)fake_violation_locked(0, "a context of device %d is left, retained %u times",
                                  ctx->device, ctx->retains);
    contexts = ctx->next;
    free(ctx);
  }
  resets++;
}

/* --- primary contexts --- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
  FAKE_ENTER(cuDevicePrimaryCtxRetain);
  fake_device *found = fake_device_locked(device);
  if (!found)
    return CLPI_CUDA_INVALID_DEVICE;
  if (!found->primary)
    found->primary = new_locked(device, true);
  found->primary->alive = true;
  found->primary->retains++;
  *out = found->primary;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
  FAKE_ENTER(cuDevicePrimaryCtxRelease);
  const fake_device *found = fake_device_locked(device);
  if (!found)
    return CLPI_CUDA_INVALID_DEVICE;
  if (!found->primary || !found->primary->retains)
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT,
                                 "the primary context of device %d is released too often", device);
  if (--found->primary->retains == 0)
    end_locked(found->primary);
  return CLPI_CUDA_SUCCESS;
}

/* --- contexts that programs make --- */

static CUresult push_locked(CUcontext ctx)
{
  ctx_stack *stack = stack_locked();
  if (!is_alive_locked(ctx))
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT,
                                 "a context that is none, or is no more");
  if (stack->depth == DEEPEST_STACK)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "too many contexts are pushed");
  if (fake_defect == FAKECUDA_ANOTHER_CONTEXT_IS_PUSHED && stack->depth > 0)
    ctx = stack->at[0];
  stack->at[stack->depth++] = ctx;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *out, unsigned flags, CUdevice device)
{
  FAKE_ENTER(cuCtxCreate);
  if (!fake_device_locked(device))
    return CLPI_CUDA_INVALID_DEVICE;
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
  if (top_locked() == ctx)
    stack_locked()->depth--;
  return CLPI_CUDA_SUCCESS;
}

/* --- the stack --- */

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
  FAKE_ENTER(cuCtxGetCurrent);
  *ctx = top_locked();
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
  FAKE_ENTER(cuCtxSetCurrent);
  stack_locked()->depth -= stack_locked()->depth > 0;
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
  ctx_stack *stack = stack_locked();
  if (!stack->depth)
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT, "no context is left to pop");
  *ctx = stack->at[--stack->depth];
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
  FAKE_ENTER(cuCtxGetDevice);
  const struct CUctx_st *ctx = top_locked();
  if (!ctx)
    return CLPI_CUDA_INVALID_CONTEXT; /* no violation: it is how to find out */
  *device = ctx->device;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
  FAKE_ENTER(cuCtxSynchronize);
  CUcontext ctx = fake_current_locked();
  if (!ctx)
    return CLPI_CUDA_INVALID_CONTEXT;
  code = fake_capture_of_context_locked(ctx);
  if (!code)
    fake_reach_all_locked(ctx);
  return code;
}
