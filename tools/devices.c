/* SPDX-License-Identifier: MIT */
/* Finding a device in the list of them, and CUDA's part of the list. */
#include "allocators.h"

#include <clpool/cuda.h>
#include <stdio.h>
#include <string.h>

clpi_device *clpi_devices_add(clpi_devices *list)
{
  return list->count < CLPI_MOST_DEVICES ? &list->devices[list->count++] : NULL;
}

const clpi_device *clpi_devices_find(const clpi_devices *list, clpi_backend backend, const char *id)
{
  const clpi_device *first = NULL;
  for (size_t i = 0; i < list->count; i++) {
    const clpi_device *device = &list->devices[i];
    if (device->backend != backend)
      continue;
    if (id ? strcmp(id, device->id) == 0 : device->type && strcmp(device->type, "GPU") == 0)
      return device;
    first = first ? first : device;
  }
  return id ? NULL : first;
}

void clpi_list_cuda(clpi_devices *list)
{
  int version, count;
  if (clp_cuda_driver_version(&version) || clp_cuda_device_count(&count)) {
    list->missing[CLPI_CUDA] = clp_last_error()->message;
    return;
  }
  list->missing[CLPI_CUDA] = "there is no CUDA device on this machine";
  snprintf(list->cuda_version, sizeof(list->cuda_version), "%d.%d", version / 1000,
           version % 1000 / 10);
  for (int i = 0; i < count; i++) {
    clpi_device *device = clpi_devices_add(list);
    size_t bytes = 0;
    if (!device)
      return;
    clp_cuda_device_name(i, device->name, sizeof(device->name));
    clp_cuda_device_memory(i, &bytes);
    clp_cuda_device_supports_mempools(i, &device->has_mempools);
    snprintf(device->id, sizeof(device->id), "%d", i);
    device->backend = CLPI_CUDA;
    device->number = (unsigned)i;
    device->bytes = bytes;
  }
}
