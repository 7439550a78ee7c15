/* SPDX-License-Identifier: MIT */
/* The driver itself and its devices. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_COUNT = 2 };
static const size_t first_bytes = (size_t)1 << 30;

fake_device fake_devices[FAKE_MOST_DEVICES];
int fake_device_count = FIRST_COUNT;
bool fake_peers = true, fake_host_numa = true;

static bool is_set_up; /* whether the devices are as they are at first, or as a test wants them */

static void set_up_locked(int count, size_t bytes)
{
  fake_device_count = count;
  for (int i = 0; i < FAKE_MOST_DEVICES; i++) {
    fake_devices[i].bytes = bytes;
    fake_devices[i].mempools = true;
    fake_devices[i].handle_types = CLPI_CUDA_HANDLE_POSIX_FD;
  }
  is_set_up = true;
}

fake_device *fake_device_locked(CUdevice device)
{
  if (!is_set_up)
    set_up_locked(FIRST_COUNT, first_bytes);
  return device >= 0 && device < fake_device_count ? &fake_devices[device] : NULL;
}

bool fake_can_access_locked(CUdevice device, CUdevice memory)
{
  return device == memory || fake_peers;
}

void fake_devices_reset_locked(void)
{
  memset(fake_devices, 0, sizeof(fake_devices));
  fake_peers = fake_host_numa = true;
  set_up_locked(FIRST_COUNT, first_bytes);
}

/* --- the driver's calls --- */

CUresult cuInit(unsigned flags)
{
  CUresult code = fake_enter(FAKE_cuInit);

  if (code == CLPI_CUDA_SUCCESS && flags != 0)
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS && fake_device_count == 0)
    code = CLPI_CUDA_NO_DEVICE;
  if (code == CLPI_CUDA_SUCCESS)
    fake_initialized = true;
  return fake_leave(code);
}

CUresult cuDriverGetVersion(int *version)
{
  CUresult code = fake_enter(FAKE_cuDriverGetVersion);

  if (code == CLPI_CUDA_SUCCESS)
    *version = fake_version;
  return fake_leave(code);
}

static const struct {
  CUresult code;
  const char *name;
} error_names[] = {
    {CLPI_CUDA_SUCCESS, "CUDA_SUCCESS"},
    {CLPI_CUDA_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CLPI_CUDA_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CLPI_CUDA_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
    {CLPI_CUDA_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED"},
    {CLPI_CUDA_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CLPI_CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {CLPI_CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CLPI_CUDA_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {CLPI_CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CLPI_CUDA_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {FAKECUDA_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {FAKECUDA_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {CLPI_CUDA_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
    {CLPI_CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {FAKECUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

CUresult cuGetErrorName(CUresult asked, const char **name)
{
  CUresult code = fake_enter(FAKE_cuGetErrorName);
  const char *found = NULL;

  for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++)
    if (error_names[i].code == asked)
      found = error_names[i].name;
  if (code == CLPI_CUDA_SUCCESS && found == NULL)
    code = CLPI_CUDA_INVALID_VALUE;
  *name = code == CLPI_CUDA_SUCCESS ? found : NULL;
  return fake_leave(code);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
  CUresult code = fake_enter(FAKE_cuDeviceGet);

  if (code == CLPI_CUDA_SUCCESS && fake_device_locked(ordinal) == NULL)
    code = CLPI_CUDA_INVALID_DEVICE;
  if (code == CLPI_CUDA_SUCCESS)
    *device = ordinal;
  return fake_leave(code);
}

CUresult cuDeviceGetCount(int *count)
{
  CUresult code = fake_enter(FAKE_cuDeviceGetCount);

  if (code == CLPI_CUDA_SUCCESS)
    *count = fake_device_count;
  return fake_leave(code);
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuDeviceGetName);

  if (code == CLPI_CUDA_SUCCESS && fake_device_locked(device) == NULL)
    code = CLPI_CUDA_INVALID_DEVICE;
  if (code == CLPI_CUDA_SUCCESS && size <= 0)
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    (void)snprintf(name, (size_t)size, "Fake device %d", device);
  return fake_leave(code);
}

CUresult cuDeviceGetAttribute(int *value, clpi_cuda_device_attribute attribute, CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuDeviceGetAttribute);
  const fake_device *found = fake_device_locked(device);

  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  if (found == NULL)
    return fake_leave(CLPI_CUDA_INVALID_DEVICE);
  switch (attribute) {
  case CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS:
    *value = found->mempools;
    break;
  case CLPI_CUDA_ATTRIBUTE_MEMPOOL_HANDLE_TYPES:
    *value = found->mempools ? found->handle_types : 0;
    break;
  case CLPI_CUDA_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS:
    if (fake_version < 12020)
      code = CLPI_CUDA_INVALID_VALUE; /* as of what a driver does not know yet */
    else
      *value = found->mempools && fake_host_numa;
    break;
  default:
    code = CLPI_CUDA_INVALID_VALUE;
    break;
  }
  return fake_leave(code);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuDeviceTotalMem);
  const fake_device *found = fake_device_locked(device);

  if (code == CLPI_CUDA_SUCCESS && found == NULL)
    code = CLPI_CUDA_INVALID_DEVICE;
  if (code == CLPI_CUDA_SUCCESS)
    *bytes = found->bytes;
  return fake_leave(code);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
  CUresult code = fake_enter(FAKE_cuDeviceCanAccessPeer);

  if (code == CLPI_CUDA_SUCCESS &&
      (fake_device_locked(device) == NULL || fake_device_locked(peer) == NULL))
    code = CLPI_CUDA_INVALID_DEVICE;
  if (code == CLPI_CUDA_SUCCESS)
    *can = device != peer && fake_peers;
  return fake_leave(code);
}

CUresult cuMemGetInfo(size_t *free, size_t *total)
{
  CUresult code = fake_enter(FAKE_cuMemGetInfo);
  CUcontext ctx = code == CLPI_CUDA_SUCCESS ? fake_current_locked("cuMemGetInfo") : NULL;

  if (code == CLPI_CUDA_SUCCESS && ctx == NULL)
    code = CLPI_CUDA_INVALID_CONTEXT;
  if (code == CLPI_CUDA_SUCCESS) {
    *total = fake_devices[ctx->device].bytes;
    *free = *total - fake_devices[ctx->device].taken;
  }
  return fake_leave(code);
}

/* --- what tests set --- */

void fakecuda_set_devices(int count, size_t bytes_each)
{
  fake_lock_it();
  set_up_locked(count < FAKE_MOST_DEVICES ? count : FAKE_MOST_DEVICES, bytes_each);
  fake_unlock_it();
}

void fakecuda_set_mempools_supported(int device, bool supported)
{
  fake_lock_it();
  fake_device_locked(device)->mempools = supported;
  fake_unlock_it();
}

void fakecuda_set_handle_types(int device, int handle_types)
{
  fake_lock_it();
  fake_device_locked(device)->handle_types = handle_types;
  fake_unlock_it();
}

void fakecuda_set_host_numa_supported(bool supported)
{
  fake_lock_it();
  fake_host_numa = supported;
  fake_unlock_it();
}

void fakecuda_set_peers(bool can_access)
{
  fake_lock_it();
  fake_peers = can_access;
  fake_unlock_it();
}
