/* SPDX-License-Identifier: MIT */
/* The driver's memory pools: handles, attributes, access, and which is whose current one. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static CUmemoryPool mempools; /* all since the reset, those that were destroyed too */

CUresult fake_mempool_locked(CUmemoryPool handle)
{
  CUmemoryPool known = mempools;
  while (known && known != handle)
    known = known->next;
  if (known && known->alive)
    return CLPI_CUDA_SUCCESS;
  return fake_wrong(CLPI_CUDA_INVALID_VALUE, "a memory pool that is none, or is no more");
}

CUmemoryPool fake_mempool_new_locked(const clpi_cuda_mempool_props *props)
{
  CUmemoryPool mempool = fake_new(sizeof(*mempool));
  *mempool = (struct CUmemPoolHandle_st){.alive = true,
                                         .props = *props,
                                         .fd = memfd_create("fakecuda", MFD_CLOEXEC),
                                         .reuse = {1, 1, 1},
                                         .next = mempools};
  if (props->location.type == CLPI_CUDA_LOCATION_DEVICE)
    mempool->access[props->location.id] = CLPI_CUDA_ACCESS_READ_WRITE;
  return mempools = mempool;
}

int fake_mempool_device(const struct CUmemPoolHandle_st *mempool)
{
  bool of_device = mempool->props.location.type == CLPI_CUDA_LOCATION_DEVICE;
  return of_device && !mempool->imported ? mempool->props.location.id : -1;
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
      (void)fake_wrong(0, "a memory pool was not destroyed");
    mempools = mempool->next;
    close(mempool->fd);
    free(mempool);
  }
}

/* --- making and destroying --- */

CUresult cuMemPoolCreate(CUmemoryPool *mempool, const CUmemPoolProps *props)
{
  FAKE_ENTER(cuMemPoolCreate);
  int id = props->location.id;
  clpi_cuda_mempool_props known = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .handle_types = props->handle_types,
                                   .location = props->location,
                                   .max_bytes = props->max_bytes};
  if (memcmp(&known, props, sizeof(known)) != 0)
    return CLPI_CUDA_INVALID_VALUE;
  if (props->location.type == CLPI_CUDA_LOCATION_HOST_NUMA) {
    if (id != 0 || !fakecuda_has.host_numa)
      return id ? CLPI_CUDA_INVALID_VALUE : CLPI_CUDA_NOT_SUPPORTED;
  } else {
    if (props->location.type != CLPI_CUDA_LOCATION_DEVICE || fake_device_locked(id))
      return CLPI_CUDA_INVALID_VALUE;
    if (!fakecuda_has.mempools[id] || props->handle_types & ~fakecuda_has.handle_types[id])
      return CLPI_CUDA_NOT_SUPPORTED;
  }
  *mempool = fake_mempool_new_locked(props);
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool mempool)
{
  FAKE_ENTER(cuMemPoolDestroy);
  FAKE_TRY(fake_mempool_locked(mempool));
  if (mempool->is_default)
    return CLPI_CUDA_INVALID_VALUE;
  mempool->alive = false;
  for (int i = 0; i < FAKECUDA_MOST_DEVICES; i++)
    if (fake_devices[i].mempool == mempool)
      fake_devices[i].mempool = fake_devices[i].default_mempool;
  fake_mempool_release_locked(mempool, 0);
  return CLPI_CUDA_SUCCESS;
}

/* --- a device's own ones --- */

CUresult fake_default_mempool_locked(CUdevice device)
{
  clpi_cuda_mempool_props props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .location = {CLPI_CUDA_LOCATION_DEVICE, device}};
  CUresult code;
  FAKE_TRY(fake_device_locked(device));
  if (!fakecuda_has.mempools[device])
    return CLPI_CUDA_NOT_SUPPORTED;
  if (!fake_devices[device].default_mempool) {
    CUmemoryPool made = fake_mempool_new_locked(&props);
    made->is_default = true;
    fake_devices[device].mempool = fake_devices[device].default_mempool = made;
  }
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *mempool, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetDefaultMemPool);
  FAKE_TRY(fake_default_mempool_locked(device));
  *mempool = fake_devices[device].default_mempool;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *mempool, CUdevice device)
{
  FAKE_ENTER(cuDeviceGetMemPool);
  FAKE_TRY(fake_default_mempool_locked(device));
  *mempool = fake_devices[device].mempool;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool mempool)
{
  FAKE_ENTER(cuDeviceSetMemPool);
  FAKE_TRY(fake_default_mempool_locked(device));
  FAKE_TRY(fake_mempool_locked(mempool));
  if (fake_mempool_device(mempool) != device)
    return CLPI_CUDA_INVALID_VALUE;
  fake_devices[device].mempool = mempool;
  return CLPI_CUDA_SUCCESS;
}

/* --- attributes --- */

/* What the attribute is, where the pool has it; NULL: it has not. CUDA 11.3 has figures. */
static void *value_locked(CUmemoryPool mempool, clpi_cuda_mempool_attribute attribute)
{
  void *const values[] = {NULL,
                          &mempool->reuse[0],
                          &mempool->reuse[1],
                          &mempool->reuse[2],
                          &mempool->threshold,
                          &mempool->reserved,
                          &mempool->reserved_high,
                          &mempool->used,
                          &mempool->used_high};
  bool is_known = attribute > 0 && attribute <= (fakecuda_has.version >= 11030
                                                     ? CLPI_CUDA_MEMPOOL_USED_HIGH
                                                     : CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD);
  return is_known ? values[attribute] : NULL;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool mempool, clpi_cuda_mempool_attribute attribute,
                               void *value)
{
  FAKE_ENTER(cuMemPoolSetAttribute);
  FAKE_TRY(fake_mempool_locked(mempool));
  void *to = value_locked(mempool, attribute);
  bool is_peak = to == &mempool->reserved_high || to == &mempool->used_high;
  if (!to || mempool->imported || to == &mempool->reserved || to == &mempool->used ||
      (is_peak && *(const uint64_t *)value))
    return CLPI_CUDA_INVALID_VALUE; /* a peak can be set to 0, and becomes what is there */
  if (attribute < CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD)
    *(int *)to = *(const int *)value != 0;
  else if (!is_peak)
    mempool->threshold = *(const uint64_t *)value;
  else
    *(uint64_t *)to = to == &mempool->used_high ? mempool->used : mempool->reserved;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool mempool, clpi_cuda_mempool_attribute attribute,
                               void *value)
{
  FAKE_ENTER(cuMemPoolGetAttribute);
  FAKE_TRY(fake_mempool_locked(mempool));
  const void *from = value_locked(mempool, attribute);
  if (!from)
    return CLPI_CUDA_INVALID_VALUE;
  memcpy(value, from,
         attribute < CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD ? sizeof(int) : sizeof(uint64_t));
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool mempool, size_t bytes)
{
  FAKE_ENTER(cuMemPoolTrimTo);
  FAKE_TRY(fake_mempool_locked(mempool));
  if (mempool->imported)
    return CLPI_CUDA_INVALID_VALUE;
  fake_mempool_release_locked(mempool, bytes);
  return CLPI_CUDA_SUCCESS;
}

/* --- access --- */

CUresult cuMemPoolSetAccess(CUmemoryPool mempool, const CUmemAccessDesc *access, size_t count)
{
  FAKE_ENTER(cuMemPoolSetAccess);
  int device = access->location.id;
  bool of_device = mempool->props.location.type == CLPI_CUDA_LOCATION_DEVICE;
  bool is_home = of_device && mempool->props.location.id == device;
  FAKE_TRY(fake_mempool_locked(mempool));
  if (count != 1 || access->location.type != CLPI_CUDA_LOCATION_DEVICE ||
      fake_device_locked(device))
    return CLPI_CUDA_INVALID_VALUE;
  if (access->flags == CLPI_CUDA_ACCESS_READ)
    return CLPI_CUDA_NOT_SUPPORTED;
  if (is_home ? access->flags == CLPI_CUDA_ACCESS_NONE : of_device && !fakecuda_has.peers)
    return CLPI_CUDA_INVALID_DEVICE; /* its own device keeps it */
  mempool->access[device] = access->flags;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(clpi_cuda_access_flags *flags, CUmemoryPool mempool,
                            CUmemLocation *location)
{
  FAKE_ENTER(cuMemPoolGetAccess);
  FAKE_TRY(fake_mempool_locked(mempool));
  if (location->type != CLPI_CUDA_LOCATION_DEVICE || fake_device_locked(location->id))
    return CLPI_CUDA_INVALID_VALUE;
  *flags = mempool->access[location->id];
  return CLPI_CUDA_SUCCESS;
}
