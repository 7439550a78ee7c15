/* SPDX-License-Identifier: MIT */
/* The driver's memory pools: handles, attributes, access, and which is whose current one. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static CUmemoryPool mempools; /* all since the reset, those that were destroyed too */

CUmemoryPool fake_mempool_locked(CUmemoryPool handle)
{
  for (CUmemoryPool known = mempools; known; known = known->next)
    if (known == handle && known->alive)
      return known;
  (void)fake_violation_locked(0, "a memory pool that is none, or is no more");
  return NULL;
}

CUmemoryPool fake_mempool_new_locked(const clpi_cuda_mempool_props *props)
{
  CUmemoryPool mempool = fake_new(sizeof(*mempool));
  *mempool = (struct CUmemPoolHandle_st){
      .alive = true, .props = *props, .fd = -1, .reuse = {1, 1, 1}, .next = mempools};
  if (props->location.type == CLPI_CUDA_LOCATION_DEVICE)
    mempool->access[props->location.id] = CLPI_CUDA_ACCESS_READ_WRITE;
  return mempools = mempool;
}

int fake_mempool_device(const struct CUmemPoolHandle_st *mempool)
{
  bool of_device = mempool->props.location.type == CLPI_CUDA_LOCATION_DEVICE;
  return of_device && !mempool->imported ? mempool->props.location.id : -1;
}

/* The file's name tells an importing process where the memory is. */
int fake_mempool_file_locked(CUmemoryPool mempool)
{
  char name[64];
  if (mempool->fd >= 0)
    return mempool->fd;
  (void)snprintf(name, sizeof(name), "fakecuda-%d-%d", mempool->props.location.type,
                 mempool->props.location.id);
  return mempool->fd = memfd_create(name, MFD_CLOEXEC);
}

void fake_mempools_settle_locked(void)
{
  for (CUmemoryPool mempool = mempools; mempool; mempool = mempool->next)
    fake_mempool_release_locked(mempool, mempool->alive ? mempool->threshold : 0);
}

void fake_mempools_reset_locked(void)
{
  while (mempools) {
    CUmemoryPool mempool = mempools;
    if (mempool->alive && !mempool->is_default)
      (void)fake_violation_locked(0, "a memory pool was not destroyed");
    mempools = mempool->next;
    if (mempool->fd >= 0)
      close(mempool->fd);
    free(mempool);
  }
}

/* --- making and destroying --- */

CUresult cuMemPoolCreate(CUmemoryPool *mempool, const CUmemPoolProps *props)
{
  FAKE_ENTER(cuMemPoolCreate);
  const fake_device *device = fake_device_locked(props->location.id);
  bool of_host = props->location.type == CLPI_CUDA_LOCATION_HOST_NUMA;
  clpi_cuda_mempool_props known = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .handle_types = props->handle_types,
                                   .location = props->location,
                                   .max_bytes = props->max_bytes};
  if (memcmp(&known, props, sizeof(known)) != 0)
    return CLPI_CUDA_INVALID_VALUE;
  if (of_host && !fake_host_numa)
    return CLPI_CUDA_NOT_SUPPORTED;
  if (of_host ? props->location.id != 0
              : props->location.type != CLPI_CUDA_LOCATION_DEVICE || !device)
    return CLPI_CUDA_INVALID_VALUE;
  if (!of_host && (!device->mempools || props->handle_types & ~device->handle_types))
    return CLPI_CUDA_NOT_SUPPORTED;
  *mempool = fake_mempool_new_locked(props);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
  FAKE_ENTER(cuMemPoolDestroy);
  CUmemoryPool mempool = fake_mempool_locked(handle);
  if (!mempool || mempool->is_default)
    return CLPI_CUDA_INVALID_VALUE;
  mempool->alive = false;
  for (int i = 0; i < FAKE_MOST_DEVICES; i++)
    if (fake_devices[i].mempool == mempool)
      fake_devices[i].mempool = fake_devices[i].default_mempool;
  fake_mempool_release_locked(mempool, 0);
  return CLPI_CUDA_SUCCESS;
}

/* --- a device's own ones --- */

CUresult fake_default_mempool_locked(CUdevice device, fake_device **found)
{
  clpi_cuda_mempool_props props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .location = {CLPI_CUDA_LOCATION_DEVICE, device}};
  *found = fake_device_locked(device);
  if (!*found)
    return CLPI_CUDA_INVALID_DEVICE;
  if (!(*found)->mempools)
    return CLPI_CUDA_NOT_SUPPORTED;
  if (!(*found)->default_mempool) {
    (*found)->mempool = (*found)->default_mempool = fake_mempool_new_locked(&props);
    (*found)->mempool->is_default = true;
  }
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *mempool, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetDefaultMemPool);
  fake_device *found;
  code = fake_default_mempool_locked(device, &found);
  if (!code)
    *mempool = found->default_mempool;
  return code;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *mempool, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetMemPool);
  fake_device *found;
  code = fake_default_mempool_locked(device, &found);
  if (!code)
    *mempool = found->mempool;
  return code;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
  FAKE_ENTER(cuDeviceSetMemPool);
  fake_device *found;
  code = fake_default_mempool_locked(device, &found);
  if (code)
    return code;
  CUmemoryPool mempool = fake_mempool_locked(handle);
  if (!mempool || fake_mempool_device(mempool) != device)
    return CLPI_CUDA_INVALID_VALUE;
  found->mempool = mempool;
  return CLPI_CUDA_SUCCESS;
}

/* --- attributes --- */

/* The pool, if it has the attribute. CUDA 11.3 has figures. */
static CUmemoryPool with_attribute_locked(CUmemoryPool handle,
                                          clpi_cuda_mempool_attribute attribute)
{
  bool is_known = attribute >= CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS &&
                  attribute <= (fake_version >= 11030 ? CLPI_CUDA_MEMPOOL_USED_HIGH
                                                      : CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD);
  CUmemoryPool mempool = fake_mempool_locked(handle);
  return is_known ? mempool : NULL;
}

/* NULL: it is a reuse switch. */
static uint64_t *value_of(CUmemoryPool mempool, clpi_cuda_mempool_attribute attribute)
{
  uint64_t *const values[] = {&mempool->threshold, &mempool->reserved, &mempool->reserved_high,
                              &mempool->used, &mempool->used_high};
  return attribute < CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD
             ? NULL
             : values[attribute - CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD];
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, clpi_cuda_mempool_attribute attribute,
                               void *value)
{
  FAKE_ENTER(cuMemPoolSetAttribute);
  CUmemoryPool mempool = with_attribute_locked(handle, attribute);
  if (!mempool || mempool->imported)
    return CLPI_CUDA_INVALID_VALUE;
  uint64_t *number = value_of(mempool, attribute);
  if (!number) {
    mempool->reuse[attribute - CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS] = *(const int *)value != 0;
    return CLPI_CUDA_SUCCESS;
  }
  bool is_peak = number == &mempool->reserved_high || number == &mempool->used_high;
  if (number != &mempool->threshold && (!is_peak || *(const uint64_t *)value))
    return CLPI_CUDA_INVALID_VALUE; /* a peak can be set to 0, and becomes what is there */
  if (!is_peak)
    *number = *(const uint64_t *)value;
  else if (fake_defect != FAKECUDA_PEAKS_STAY)
    *number = number == &mempool->used_high ? mempool->used : mempool->reserved;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, clpi_cuda_mempool_attribute attribute,
                               void *value)
{
  FAKE_ENTER(cuMemPoolGetAttribute);
  CUmemoryPool mempool = with_attribute_locked(handle, attribute);
  if (!mempool)
    return CLPI_CUDA_INVALID_VALUE;
  const uint64_t *number = value_of(mempool, attribute);
  if (number)
    *(uint64_t *)value = *number;
  else
    *(int *)value = mempool->reuse[attribute - CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS];
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes)
{
  FAKE_ENTER(cuMemPoolTrimTo);
  CUmemoryPool mempool = fake_mempool_locked(handle);
  if (!mempool || mempool->imported)
    return CLPI_CUDA_INVALID_VALUE;
  if (fake_defect != FAKECUDA_TRIMS_DO_NOTHING)
    fake_mempool_release_locked(mempool, bytes);
  return CLPI_CUDA_SUCCESS;
}

/* --- access --- */

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *access, size_t count)
{
  FAKE_ENTER(cuMemPoolSetAccess);
  CUmemoryPool mempool = fake_mempool_locked(handle);
  int device = access->location.id;
  if (!mempool || count != 1 || access->location.type != CLPI_CUDA_LOCATION_DEVICE ||
      !fake_device_locked(device))
    return CLPI_CUDA_INVALID_VALUE;
  if (access->flags == CLPI_CUDA_ACCESS_READ)
    return CLPI_CUDA_NOT_SUPPORTED;
  if (access->flags != CLPI_CUDA_ACCESS_NONE && access->flags != CLPI_CUDA_ACCESS_READ_WRITE)
    return CLPI_CUDA_INVALID_VALUE;
  bool of_device = mempool->props.location.type == CLPI_CUDA_LOCATION_DEVICE;
  int home = of_device ? mempool->props.location.id : device;
  bool keeps = of_device && home == device && access->flags == CLPI_CUDA_ACCESS_NONE;
  if (keeps || !fake_can_access_locked(device, home)) /* its own device keeps it */
    return CLPI_CUDA_INVALID_DEVICE;
  if (fake_defect != FAKECUDA_ACCESS_IS_FORGOTTEN)
    mempool->access[device] = access->flags;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(clpi_cuda_access_flags *flags, CUmemoryPool handle,
                            CUmemLocation *location)
{
  FAKE_ENTER(cuMemPoolGetAccess);
  CUmemoryPool mempool = fake_mempool_locked(handle);
  if (!mempool || location->type != CLPI_CUDA_LOCATION_DEVICE || !fake_device_locked(location->id))
    return CLPI_CUDA_INVALID_VALUE;
  *flags = mempool->access[location->id];
  return CLPI_CUDA_SUCCESS;
}
