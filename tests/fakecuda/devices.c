/* SPDX-License-Identifier: MIT */
/* The driver itself, its devices, contexts, and the stack of them that each thread has. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

fake_device fake_devices[FAKECUDA_MOST_DEVICES];

CUresult fake_device_locked(CUdevice device)
{
  return device >= 0 && device < fakecuda_has.devices ? CLPI_CUDA_SUCCESS
                                                      : CLPI_CUDA_INVALID_DEVICE;
}

CUresult cuInit(unsigned flags)
{
  FAKE_ENTER(cuInit);
  if (flags)
    return CLPI_CUDA_INVALID_VALUE;
  fake_initialized = fake_initialized || fakecuda_has.devices > 0;
  return fakecuda_has.devices > 0 ? CLPI_CUDA_SUCCESS : CLPI_CUDA_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
  FAKE_ENTER(cuDriverGetVersion);
  *version = fakecuda_has.version;
  return CLPI_CUDA_SUCCESS;
}

#define CASE(word)                                                                                 \
  case CLPI_CUDA_##word:                                                                           \
    return "CUDA_ERROR_" #word

static const char *name_of(CUresult code)
{
  switch (code) {
    CASE(INVALID_VALUE);
    CASE(OUT_OF_MEMORY);
    CASE(NOT_INITIALIZED);
    CASE(DEINITIALIZED);
    CASE(INVALID_DEVICE);
    CASE(INVALID_CONTEXT);
    CASE(PEER_ACCESS_UNSUPPORTED);
    CASE(INVALID_HANDLE);
    CASE(NOT_PERMITTED);
    CASE(NOT_SUPPORTED);
    CASE(STREAM_CAPTURE_UNSUPPORTED);
  default:
    return code == FAKECUDA_UNKNOWN ? "CUDA_ERROR_UNKNOWN" : NULL;
  }
}

CUresult cuGetErrorName(CUresult asked, const char **name)
{
  FAKE_ENTER(cuGetErrorName);
  *name = name_of(asked);
  return *name ? CLPI_CUDA_SUCCESS : CLPI_CUDA_INVALID_VALUE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
  FAKE_ENTER(cuDeviceGet);
  FAKE_TRY(fake_device_locked(ordinal));
  *device = ordinal;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
  FAKE_ENTER(cuDeviceGetCount);
  *count = fakecuda_has.devices;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetName);
  FAKE_TRY(fake_device_locked(device));
  if (size <= 0)
    return CLPI_CUDA_INVALID_VALUE;
  (void)snprintf(name, (size_t)size, "Fake device %d", device);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, clpi_cuda_device_attribute attribute, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetAttribute);
  FAKE_TRY(fake_device_locked(device));
  if (attribute == CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS)
    *value = 1;
  else if (attribute == CLPI_CUDA_ATTRIBUTE_MEMPOOL_HANDLE_TYPES)
    *value = fakecuda_has.handle_types[device];
  else if (attribute == CLPI_CUDA_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS && fakecuda_has.version >= 12020)
    *value = fakecuda_has.host_numa;
  else
    return CLPI_CUDA_INVALID_VALUE;
  *value = fakecuda_has.mempools[device] ? *value : 0;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
  FAKE_ENTER(cuDeviceTotalMem);
  FAKE_TRY(fake_device_locked(device));
  *bytes = fakecuda_has.bytes;
  return CLPI_CUDA_SUCCESS;
}

/* --- contexts --- */

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
  return fake_wrong(CLPI_CUDA_INVALID_CONTEXT, "no context is current, or one that is no more");
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
  ctx->legacy = ctx->per_thread = NULL;
  ctx->alive = false;
}

void fake_contexts_reset_locked(void)
{
  if (stack.depth > 0)
    (void)fake_wrong(0, "a context is still current");
  stack.depth = 0;
  while (contexts) {
    CUcontext ctx = contexts;
    if (ctx->alive)
      (void)fake_wrong(0, "a context of device %d is left", ctx->device);
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
    return fake_wrong(CLPI_CUDA_INVALID_CONTEXT, "primary context %d is released too often",
                      device);
  if (--primary->retains == 0)
    end_locked(primary);
  return CLPI_CUDA_SUCCESS;
}

/* --- contexts that programs make --- */

static CUresult push_locked(CUcontext ctx)
{
  if (!is_alive_locked(ctx) || stack.depth == DEEPEST_STACK)
    return fake_wrong(CLPI_CUDA_INVALID_CONTEXT, "a context that is none or no more, or too many");
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
    return fake_wrong(CLPI_CUDA_INVALID_CONTEXT, "a context destroyed that cannot be");
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
    return fake_wrong(CLPI_CUDA_INVALID_CONTEXT, "no context is left to pop");
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
