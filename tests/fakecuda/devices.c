/* SPDX-License-Identifier: MIT */
/* The driver itself and its devices. */
#include "fake.h"

#include <stdio.h>

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

#define ERRORS(X)                                                                                  \
  X(INVALID_VALUE)                                                                                 \
  X(OUT_OF_MEMORY)                                                                                 \
  X(NOT_INITIALIZED)                                                                               \
  X(DEINITIALIZED)                                                                                 \
  X(INVALID_DEVICE)                                                                                \
  X(INVALID_CONTEXT)                                                                               \
  X(PEER_ACCESS_UNSUPPORTED)                                                                       \
  X(INVALID_HANDLE) X(NOT_PERMITTED) X(NOT_SUPPORTED) X(STREAM_CAPTURE_UNSUPPORTED)

CUresult cuGetErrorName(CUresult asked, const char **name)
{
  FAKE_ENTER(cuGetErrorName);
  switch (asked) {
#define NAME(word)                                                                                 \
  case CLPI_CUDA_##word:                                                                           \
    *name = "CUDA_ERROR_" #word;                                                                   \
    return CLPI_CUDA_SUCCESS;
    ERRORS(NAME)
  case FAKECUDA_UNKNOWN:
    *name = "CUDA_ERROR_UNKNOWN";
    return CLPI_CUDA_SUCCESS;
  default:
    *name = NULL;
    return CLPI_CUDA_INVALID_VALUE;
  }
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

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
  FAKE_ENTER(cuDeviceCanAccessPeer);
  FAKE_TRY(fake_device_locked(device));
  FAKE_TRY(fake_device_locked(peer));
  *can = device != peer && fakecuda_has.peers;
  return CLPI_CUDA_SUCCESS;
}
