/* SPDX-License-Identifier: MIT */
/* The driver itself and its devices. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_COUNT = 2 };
static const size_t first_bytes = (size_t)1 << 30;

fake_device fake_devices[FAKE_MOST_DEVICES];
bool fake_host_numa = true;

static int device_count = FIRST_COUNT;
static bool are_peers = true;
static bool is_set_up; /* whether the devices are as they are at first, or as a test wants them */

static void set_up_locked(int count, size_t bytes)
{
  device_count = count;
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
  return device >= 0 && device < device_count ? &fake_devices[device] : NULL;
}

bool fake_can_access_locked(CUdevice device, CUdevice memory)
{
  return device == memory || are_peers;
}

void fake_devices_reset_locked(void)
{
  memset(fake_devices, 0, sizeof(fake_devices));
  are_peers = fake_host_numa = true;
  set_up_locked(FIRST_COUNT, first_bytes);
}

/* --- the driver's calls --- */

CUresult cuInit(unsigned flags)
{
  FAKE_ENTER(cuInit);
  if (flags)
    return CLPI_CUDA_INVALID_VALUE;
  fake_initialized = fake_initialized || device_count > 0;
  return device_count > 0 ? CLPI_CUDA_SUCCESS : CLPI_CUDA_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
  FAKE_ENTER(cuDriverGetVersion);
  *version = fake_version;
  return CLPI_CUDA_SUCCESS;
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
    {CLPI_CUDA_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {CLPI_CUDA_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CLPI_CUDA_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"},
    {CLPI_CUDA_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CLPI_CUDA_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
    {CLPI_CUDA_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {FAKECUDA_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

CUresult cuGetErrorName(CUresult asked, const char **name)
{
  FAKE_ENTER(cuGetErrorName);
  *name = NULL;
  for (size_t i = 0; i < sizeof(error_names) / sizeof(error_names[0]); i++)
    if (error_names[i].code == asked)
      *name = error_names[i].name;
  return *name ? CLPI_CUDA_SUCCESS : CLPI_CUDA_INVALID_VALUE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
  FAKE_ENTER(cuDeviceGet);
  if (!fake_device_locked(ordinal))
    return CLPI_CUDA_INVALID_DEVICE;
  *device = ordinal;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
  FAKE_ENTER(cuDeviceGetCount);
  *count = device_count;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetName);
  if (!fake_device_locked(device))
    return CLPI_CUDA_INVALID_DEVICE;
  if (size <= 0)
    return CLPI_CUDA_INVALID_VALUE;
  (void)snprintf(name, (size_t)size, "Fake device %d", device);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, clpi_cuda_device_attribute attribute, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetAttribute);
  const fake_device *found = fake_device_locked(device);
  bool is_of_host = attribute == CLPI_CUDA_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS;
  if (!found)
    return CLPI_CUDA_INVALID_DEVICE;
  if (attribute == CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS)
    *value = found->mempools;
  else if (attribute == CLPI_CUDA_ATTRIBUTE_MEMPOOL_HANDLE_TYPES)
    *value = found->mempools ? found->handle_types : 0;
  else if (is_of_host && fake_version >= 12020)
    *value = found->mempools && fake_host_numa;
  else
    return CLPI_CUDA_INVALID_VALUE;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
  FAKE_ENTER(cuDeviceTotalMem);
  const fake_device *found = fake_device_locked(device);
  if (!found)
    return CLPI_CUDA_INVALID_DEVICE;
  *bytes = found->bytes;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
  FAKE_ENTER(cuDeviceCanAccessPeer);
  if (!fake_device_locked(device) || !fake_device_locked(peer))
    return CLPI_CUDA_INVALID_DEVICE;
  *can = device != peer && are_peers;
  return CLPI_CUDA_SUCCESS;
}

/* --- what tests set --- */

void fakecuda_set_devices(int count, size_t bytes_each)
{
  FAKE_LOCK;
  set_up_locked(count, bytes_each);
}

void fakecuda_set_mempools_supported(int device, bool supported)
{
  FAKE_LOCK;
  fake_device_locked(device)->mempools = supported;
}

void fakecuda_set_handle_types(int device, int handle_types)
{
  FAKE_LOCK;
  fake_device_locked(device)->handle_types = handle_types;
}

void fakecuda_set_host_numa_supported(bool supported)
{
  FAKE_LOCK;
  fake_host_numa = supported;
}

void fakecuda_set_peers(bool can_access)
{
  FAKE_LOCK;
  are_peers = can_access;
}
