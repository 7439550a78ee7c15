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
  for (CUmemoryPool known = mempools; known != NULL; known = known->next)
    if (known == handle && known->alive)
      return known;
  (void)fake_violation_locked(0, "a memory pool that is none, or is no more");
  return NULL;
}

CUmemoryPool fake_mempool_new_locked(const clpi_cuda_mempool_props *props)
{
  CUmemoryPool mempool = fake_new(sizeof(*mempool));

  mempool->alive = true;
  mempool->props = *props;
  mempool->fd = -1;
  for (int i = 0; i < 3; i++)
    mempool->reuse[i] = 1;
  if (props->location.type == CLPI_CUDA_LOCATION_DEVICE)
    mempool->access[props->location.id] = CLPI_CUDA_ACCESS_READ_WRITE;
  mempool->next = mempools;
  mempools = mempool;
  return mempool;
}

int fake_mempool_device(const struct CUmemPoolHandle_st *mempool)
{
  bool of_device = mempool->props.location.type == CLPI_CUDA_LOCATION_DEVICE;

  return of_device && !mempool->imported ? mempool->props.location.id : -1;
}

bool fake_mempool_allows(const struct CUmemPoolHandle_st *mempool, CUdevice device)
{
  return mempool->access[device] == CLPI_CUDA_ACCESS_READ_WRITE;
}

/* The file's name tells an importing process where the memory is. */
int fake_mempool_file_locked(CUmemoryPool mempool)
{
  char name[64];

  if (mempool->fd >= 0)
    return mempool->fd;
  (void)snprintf(name, sizeof(name), "fakecuda-%d-%d", mempool->props.location.type,
                 mempool->props.location.id);
  mempool->fd = memfd_create(name, MFD_CLOEXEC);
  return mempool->fd;
}

void fake_mempools_settle_locked(void)
{
  for (CUmemoryPool mempool = mempools; mempool != NULL; mempool = mempool->next)
    fake_mempool_release_locked(mempool, mempool->alive ? mempool->threshold : 0);
}

void fake_mempools_check_locked(void)
{
  for (CUmemoryPool mempool = mempools; mempool != NULL; mempool = mempool->next)
    if (mempool->alive && !mempool->is_default)
      (void)fake_violation_locked(0, "a memory pool was not destroyed");
}

void fake_mempools_reset_locked(void)
{
  while (mempools != NULL) {
    CUmemoryPool mempool = mempools;

    mempools = mempool->next;
    if (mempool->fd >= 0)
      close(mempool->fd);
    free(mempool);
  }
}

/* --- making and destroying --- */

static bool are_zero(const unsigned char *bytes, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != 0)
      return false;
  return true;
}

static CUresult check_location_locked(const clpi_cuda_mempool_props *props)
{
  const fake_device *device = fake_device_locked(props->location.id);

  if (props->location.type == CLPI_CUDA_LOCATION_HOST_NUMA) {
    if (!fake_host_numa)
      return CLPI_CUDA_NOT_SUPPORTED;
    return props->location.id == 0 ? CLPI_CUDA_SUCCESS : CLPI_CUDA_INVALID_VALUE;
  }
  if (props->location.type != CLPI_CUDA_LOCATION_DEVICE || device == NULL)
    return CLPI_CUDA_INVALID_VALUE;
  if (!device->mempools || (props->handle_types & ~device->handle_types) != 0)
    return CLPI_CUDA_NOT_SUPPORTED;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *mempool, const CUmemPoolProps *props)
{
  CUresult code = fake_enter(FAKE_cuMemPoolCreate);

  if (code == CLPI_CUDA_SUCCESS && (props->allocation_type != CLPI_CUDA_ALLOCATION_PINNED ||
                                    props->win32_security_attributes != NULL || props->usage != 0 ||
                                    !are_zero(props->reserved, sizeof(props->reserved))))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    code = check_location_locked(props);
  if (code == CLPI_CUDA_SUCCESS)
    *mempool = fake_mempool_new_locked(props);
  return fake_leave(code);
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
  CUresult code = fake_enter(FAKE_cuMemPoolDestroy);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS && (mempool == NULL || mempool->is_default))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code != CLPI_CUDA_SUCCESS)
    return fake_leave(code);
  mempool->alive = false;
  for (int i = 0; i < FAKE_MOST_DEVICES; i++)
    if (fake_devices[i].mempool == mempool)
      fake_devices[i].mempool = fake_devices[i].default_mempool;
  fake_mempool_release_locked(mempool, 0);
  return fake_leave(CLPI_CUDA_SUCCESS);
}

/* --- a device's own ones --- */

CUresult fake_default_mempool_locked(CUdevice device, fake_device **found)
{
  clpi_cuda_mempool_props props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .location = {CLPI_CUDA_LOCATION_DEVICE, device}};

  *found = fake_device_locked(device);
  if (*found == NULL)
    return CLPI_CUDA_INVALID_DEVICE;
  if (!(*found)->mempools)
    return CLPI_CUDA_NOT_SUPPORTED;
  if ((*found)->default_mempool == NULL) {
    (*found)->default_mempool = fake_mempool_new_locked(&props);
    (*found)->default_mempool->is_default = true;
    (*found)->mempool = (*found)->default_mempool;
  }
  return CLPI_CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *mempool, CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuDeviceGetDefaultMemPool);
  fake_device *found = NULL;

  if (code == CLPI_CUDA_SUCCESS)
    code = fake_default_mempool_locked(device, &found);
  if (code == CLPI_CUDA_SUCCESS)
    *mempool = found->default_mempool;
  return fake_leave(code);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *mempool, CUdevice device)
{
  CUresult code = fake_enter(FAKE_cuDeviceGetMemPool);
  fake_device *found = NULL;

  if (code == CLPI_CUDA_SUCCESS)
    code = fake_default_mempool_locked(device, &found);
  if (code == CLPI_CUDA_SUCCESS)
    *mempool = found->mempool;
  return fake_leave(code);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
  CUresult code = fake_enter(FAKE_cuDeviceSetMemPool);
  CUmemoryPool mempool = NULL;
  fake_device *found = NULL;

  if (code == CLPI_CUDA_SUCCESS)
    code = fake_default_mempool_locked(device, &found);
  if (code == CLPI_CUDA_SUCCESS)
    mempool = fake_mempool_locked(handle);
  if (code == CLPI_CUDA_SUCCESS && (mempool == NULL || fake_mempool_device(mempool) != device))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    found->mempool = mempool;
  return fake_leave(code);
}

/* --- attributes --- */

/* CUDA 11.3 has figures. */
static bool is_known_locked(clpi_cuda_mempool_attribute attribute)
{
  return attribute < CLPI_CUDA_MEMPOOL_RESERVED || fake_version >= 11030;
}

static uint64_t *high_locked(CUmemoryPool mempool, clpi_cuda_mempool_attribute attribute)
{
  if (attribute == CLPI_CUDA_MEMPOOL_RESERVED_HIGH)
    return &mempool->reserved_high;
  return attribute == CLPI_CUDA_MEMPOOL_USED_HIGH ? &mempool->used_high : NULL;
}

static CUresult set_locked(CUmemoryPool mempool, clpi_cuda_mempool_attribute attribute,
                           const void *value)
{
  uint64_t *high = high_locked(mempool, attribute);

  if (attribute >= CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS &&
      attribute <= CLPI_CUDA_MEMPOOL_REUSE_INTERNAL) {
    mempool->reuse[attribute - CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS] = *(const int *)value != 0;
    return CLPI_CUDA_SUCCESS;
  }
  if (attribute == CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD) {
    mempool->threshold = *(const uint64_t *)value;
    return CLPI_CUDA_SUCCESS;
  }
  if (high == NULL || *(const uint64_t *)value != 0)
    return CLPI_CUDA_INVALID_VALUE;
  *high = high == &mempool->used_high ? mempool->used : mempool->reserved;
  return CLPI_CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, clpi_cuda_mempool_attribute attribute,
                               void *value)
{
  CUresult code = fake_enter(FAKE_cuMemPoolSetAttribute);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS &&
      (mempool == NULL || value == NULL || mempool->imported || !is_known_locked(attribute)))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    code = set_locked(mempool, attribute, value);
  return fake_leave(code);
}

static CUresult get_locked(CUmemoryPool mempool, clpi_cuda_mempool_attribute attribute, void *value)
{
  switch (attribute) {
  case CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS:
  case CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC:
  case CLPI_CUDA_MEMPOOL_REUSE_INTERNAL:
    *(int *)value = mempool->reuse[attribute - CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS];
    return CLPI_CUDA_SUCCESS;
  case CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD:
    *(uint64_t *)value = mempool->threshold;
    return CLPI_CUDA_SUCCESS;
  case CLPI_CUDA_MEMPOOL_RESERVED:
    *(uint64_t *)value = mempool->reserved;
    return CLPI_CUDA_SUCCESS;
  case CLPI_CUDA_MEMPOOL_USED:
    *(uint64_t *)value = mempool->used;
    return CLPI_CUDA_SUCCESS;
  case CLPI_CUDA_MEMPOOL_RESERVED_HIGH:
  case CLPI_CUDA_MEMPOOL_USED_HIGH:
    *(uint64_t *)value = *high_locked(mempool, attribute);
    return CLPI_CUDA_SUCCESS;
  default:
    return CLPI_CUDA_INVALID_VALUE;
  }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, clpi_cuda_mempool_attribute attribute,
                               void *value)
{
  CUresult code = fake_enter(FAKE_cuMemPoolGetAttribute);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS &&
      (mempool == NULL || value == NULL || !is_known_locked(attribute)))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    code = get_locked(mempool, attribute, value);
  return fake_leave(code);
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes)
{
  CUresult code = fake_enter(FAKE_cuMemPoolTrimTo);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS && (mempool == NULL || mempool->imported))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    fake_mempool_release_locked(mempool, bytes);
  return fake_leave(code);
}

/* --- access --- */

static CUresult check_access_locked(CUmemoryPool mempool, const CUmemAccessDesc *access)
{
  const fake_device *device = fake_device_locked(access->location.id);
  int home = mempool->props.location.type == CLPI_CUDA_LOCATION_DEVICE ? mempool->props.location.id
                                                                       : access->location.id;

  if (access->location.type != CLPI_CUDA_LOCATION_DEVICE || device == NULL)
    return CLPI_CUDA_INVALID_VALUE;
  if (access->flags == CLPI_CUDA_ACCESS_READ)
    return CLPI_CUDA_NOT_SUPPORTED;
  if (access->flags != CLPI_CUDA_ACCESS_NONE && access->flags != CLPI_CUDA_ACCESS_READ_WRITE)
    return CLPI_CUDA_INVALID_VALUE;
  if (access->flags == CLPI_CUDA_ACCESS_NONE && fake_mempool_device(mempool) == access->location.id)
    return CLPI_CUDA_INVALID_DEVICE; /* its own device keeps it */
  return fake_can_access_locked(access->location.id, home) ? CLPI_CUDA_SUCCESS
                                                           : CLPI_CUDA_INVALID_DEVICE;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *accesses, size_t count)
{
  CUresult code = fake_enter(FAKE_cuMemPoolSetAccess);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS && mempool == NULL)
    code = CLPI_CUDA_INVALID_VALUE;
  for (size_t i = 0; code == CLPI_CUDA_SUCCESS && i < count; i++)
    code = check_access_locked(mempool, &accesses[i]);
  for (size_t i = 0; code == CLPI_CUDA_SUCCESS && i < count; i++)
    mempool->access[accesses[i].location.id] = accesses[i].flags;
  return fake_leave(code);
}

CUresult cuMemPoolGetAccess(clpi_cuda_access_flags *flags, CUmemoryPool handle,
                            CUmemLocation *location)
{
  CUresult code = fake_enter(FAKE_cuMemPoolGetAccess);
  CUmemoryPool mempool = code == CLPI_CUDA_SUCCESS ? fake_mempool_locked(handle) : NULL;

  if (code == CLPI_CUDA_SUCCESS &&
      (mempool == NULL || location->type != CLPI_CUDA_LOCATION_DEVICE ||
       fake_device_locked(location->id) == NULL))
    code = CLPI_CUDA_INVALID_VALUE;
  if (code == CLPI_CUDA_SUCCESS)
    *flags = mempool->access[location->id];
  return fake_leave(code);
}
