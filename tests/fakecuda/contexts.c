/* SPDX-License-Identifier: MIT */
/* Contexts, the stack of them that each thread has, and the primary context of each device. */
#include "fake.h"

#include <stdlib.h>

/* A thread's stack, as of one reset: older ones are empty. */
typedef struct ctx_stack {
  unsigned long reset;
  unsigned depth;
  CUcontext at[FAKE_DEEPEST_STACK];
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

CUcontext fake_current_locked(const char *what_for)
{
  CUcontext ctx = top_locked();

  if (ctx == NULL)
    (void)fake_violation_locked(0, "%s: no context is current", what_for);
  else if (!ctx->alive)
    (void)fake_violation_locked(0, "%s: the current context is no more", what_for);
  else
    return ctx;
  return NULL;
}

static CUcontext new_locked(CUdevice device, bool primary)
{
  CUcontext ctx = fake_new(sizeof(*ctx));

  ctx->device = device;
  ctx->primary = primary;
  ctx->next = contexts;
  contexts = ctx;
  return ctx;
}

static bool is_alive_locked(const struct CUctx_st *ctx)
{
  for (CUcontext known = contexts; known != NULL; known = known->next)
    if (known == ctx)
      return known->alive;
  return false;
}

static void end_locked(CUcontext ctx)
{
  fake_streams_end_of_locked(ctx);
  fake_events_end_of_locked(ctx);
  ctx->legacy = NULL;
  ctx->alive = false;
}

void fake_contexts_check_locked(void)
{
  for (CUcontext ctx = contexts; ctx != NULL; ctx = ctx->next) {
    if (ctx->alive && ctx->primary)
      (void)fake_violation_locked(0, "the primary context of device %d is still retained %u times",
                                  ctx->device, ctx->retains);
    else if (ctx->alive)
      (void)fake_violation_locked(0, "a context of device %d was not destroyed", ctx->device);
  }
  if (stack_locked()->depth > 0)
    (void)fake_violation_locked(0, "a context is still current");
}

void fake_contexts_reset_locked(void)
{
  while (contexts != NULL) {
    CUcontext ctx = contexts;

    contexts = ctx->next;
    free(ctx);
  }
  resets++;
}

/* --- primary contexts --- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuDevicePrimaryCtxRetain);
  fake_device *found = fake_device_locked(device);

  if (code == CLPI_CUDA_SUCCESS && found == NULL)
    code = CLPI_CUDA_INVALID_DEVICE;
  if (code == CLPI_CUDA_SUCCESS) {
    if (found->primary == NULL)
      found->primary = new_locked(device, true);
    found->primary->alive = true;
    found->primary->retains++;
    *out = found->primary;
  }
  return fake_leave(code);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuDevicePrimaryCtxRelease);
  const fake_device *found = fake_device_locked(device);

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  if (found == NULL)
    return fake_leave(CLPI_CUDA_INVALID_DEVICE);
  if (found->primary == NULL || found->primary->retains == 0)
    return fake_leave(
        fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT,
                              "the primary context of device %d is released too often", device));
  if (--found->primary->retains == 0)
    end_locked(found->primary);
  return fake_leave(CLPI_CUDA_SUCCESS);
}

/* --- contexts that programs make --- */

static CUresult push_locked(CUcontext ctx)
{
  ctx_stack *stack = stack_locked();

  if (!is_alive_locked(ctx))
    return fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT,
                                 "a context that is none, or is no more");
  if (stack->depth == FAKE_DEEPEST_STACK)
    return fake_violation_locked(CLPI_CUDA_INVALID_VALUE, "too many contexts are pushed");
  stack->at[stack->depth++] = ctx;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext *out, unsigned flags, CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuCtxCreate);

  if (code == CLPI_CUDA_SUCCESS && fake_device_locked(device) == NULL)
    code = CLPI_CUDA_INVALID_DEVICE;
  if (code == CLPI_CUDA_SUCCESS && flags != 0)
    code = CLPI_CUDA_INVALID_VALUE; /* no test needs any */
  if (code == CLPI_CUDA_SUCCESS) {
    CUcontext ctx = new_locked(device, false);

    ctx->alive = true;
    code = push_locked(ctx);
    *out = ctx;
  }
  return fake_leave(code);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
  CUresult code = fake_enter(FAKE_cuCtxDestroy);

  if (code == CLPI_CUDA_SUCCESS && (!is_alive_locked(ctx) || ctx->primary))
    code = fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT, "a context destroyed that cannot be");
  if (code == CLPI_CUDA_SUCCESS) {
    end_locked(ctx);
    if (top_locked() == ctx)
      stack_locked()->depth--;
  }
  return fake_leave(code);
}

/* --- the stack --- */

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
  CUresult code = fake_enter(FAKE_cuCtxGetCurrent);

  if (code == CLPI_CUDA_SUCCESS)
    *ctx = top_locked();
  return fake_leave(code);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
  CUresult code = fake_enter(FAKE_cuCtxSetCurrent);
  ctx_stack *stack = stack_locked();

  if (code == CLPI_CUDA_SUCCESS) {
    stack->depth -= stack->depth > 0;
    if (ctx != NULL)
      code = push_locked(ctx);
  }
  return fake_leave(code);
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
  CUresult code = fake_enter(FAKE_cuCtxPushCurrent);

  if (code == CLPI_CUDA_SUCCESS)
    code = push_locked(ctx);
  return fake_leave(code);
}

CUresult cuCtxPopCurrent(CUcontext *ctx)
{
  CUresult code = fake_enter(FAKE_cuCtxPopCurrent);
  ctx_stack *stack = stack_locked();

  if (code == CLPI_CUDA_SUCCESS && stack->depth == 0)
    code = fake_violation_locked(CLPI_CUDA_INVALID_CONTEXT, "no context is left to pop");
  if (code == CLPI_CUDA_SUCCESS) {
    stack->depth--;
    if (ctx != NULL)
      *ctx = stack->at[stack->depth];
  }
  return fake_leave(code);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
  CUresult code = fake_enter(FAKE_cuCtxGetDevice);
  const struct CUctx_st *ctx = top_locked();

  if (code == CLPI_CUDA_SUCCESS && ctx == NULL)
    code = CLPI_CUDA_INVALID_CONTEXT; /* no violation: it is how to find out */
  if (code == CLPI_CUDA_SUCCESS)
    *device = ctx->device;
  return fake_leave(code);
}

CUresult cuCtxSynchronize(void)
{
  CUresult code = fake_enter(FAKE_cuCtxSynchronize);
  CUcontext ctx = code == CLPI_CUDA_SUCCESS ? fake_current_locked("cuCtxSynchronize") : NULL;

  if (code == CLPI_CUDA_SUCCESS && ctx == NULL)
    code = CLPI_CUDA_INVALID_CONTEXT;
  if (code == CLPI_CUDA_SUCCESS)
    code = fake_capture_of_context_locked(ctx);
  if (code == CLPI_CUDA_SUCCESS)
    fake_reach_all_locked(ctx);
  return fake_leave(code);
}
