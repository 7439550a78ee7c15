/* SPDX-License-Identifier: MIT */
/* A device for tests: records its calls and fails on purpose. */
#include "failing_allocator.h"

#include "core/allocator/allocator.h"
#include "suite.h"

#include <stdio.h>

/* Made-up addresses: no two blocks of one device overlap. */
static const clp_memory first_memory = 0x10000,
                        most_bytes = (clp_memory)1 << (sizeof(clp_memory) > 4 ? 40 : 20);

static void note_locked(clpt_device *device, clpt_call call, size_t bytes, clp_status status)
{
  size_t room = sizeof(device->trace) - device->trace_length;
  char figure[32] = "";
  if (call == CLPT_ALLOCATE || call == CLPT_FREE || call == CLPT_CALLBACK)
    (void)snprintf(figure, sizeof(figure), "%zu", bytes);
  int length = snprintf(device->trace + device->trace_length, room, "%s%c%s%s",
                        device->trace_length > 0 ? " " : "", (int)call, figure, status ? "!" : "");
  if (length > 0 && (size_t)length < room)
    device->trace_length += (size_t)length;
  else
    device->trace[device->trace_length] = '\0'; /* full: what came first matters */
}

void clpt_device_note(clpt_device *device, clpt_call call, size_t bytes)
{
  pthread_mutex_lock(&device->lock);
  note_locked(device, call, bytes, CLP_SUCCESS);
  pthread_mutex_unlock(&device->lock);
}

void clpt_device_clear_trace(clpt_device *device)
{
  pthread_mutex_lock(&device->lock);
  device->trace_length = 0;
  device->trace[0] = '\0';
  pthread_mutex_unlock(&device->lock);
}

/* Counts a call; the status that it is to fail with, if it is one of those that do. */
clp_status clpt_fault_next(clpt_fault *fault)
{
  bool fails = !fault->after && fault->count;
  fault->count -= fails;
  fault->after -= fault->after > 0;
  return fails ? fault->status : CLP_SUCCESS;
}

/* Begins a call, under the lock; the status that it is to fail with. */
static clp_status begin(clpt_device *device, clpt_call call, size_t bytes, clpt_fault *fault)
{
  if (device->on_call != NULL)
    device->on_call(device, call, bytes);
  pthread_mutex_lock(&device->lock);
  if (device->destroyed > 0)
    device->misuses++;
  return fault ? clpt_fault_next(fault) : CLP_SUCCESS;
}

static clp_status end(clpt_device *device, clpt_call call, size_t bytes, const clpt_fault *fault,
                      clp_status status)
{
  note_locked(device, call, bytes, status);
  pthread_mutex_unlock(&device->lock);
  if (!status || fault->message == NULL)
    return status;
  return clp_set_last_error(status, fault->native_code, fault->message);
}

static bool has_room_locked(const clpt_device *device, size_t bytes)
{
  size_t taken = device->live_bytes + device->pending_bytes + device->cached_bytes;
  return device->capacity == 0 || (taken <= device->capacity && bytes <= device->capacity - taken);
}

static size_t find_locked(const clpt_device *device, clp_memory memory)
{
  size_t i = 0;
  while (i < CLPT_MAX_BLOCKS && device->blocks[i].memory != memory)
    i++;
  return i;
}

static clp_status take_locked(clpt_device *device, size_t bytes, clp_memory *out)
{
  size_t slot = find_locked(device, 0);
  if (slot == CLPT_MAX_BLOCKS || !has_room_locked(device, bytes))
    return CLP_OUT_OF_DEVICE_MEMORY;
  device->last_memory += most_bytes;
  device->blocks[slot].memory = device->last_memory;
  device->blocks[slot].bytes = bytes;
  device->live_blocks++;
  device->live_bytes += bytes;
  *out = device->last_memory;
  return CLP_SUCCESS;
}

static clp_status device_allocate(void *self, size_t bytes, clp_memory *out)
{
  clpt_device *device = self;
  clp_status status = begin(device, CLPT_ALLOCATE, bytes, &device->allocate_fault);
  device->misuses += bytes == 0;
  if (!status)
    status = take_locked(device, bytes, out);
  return end(device, CLPT_ALLOCATE, bytes, &device->allocate_fault, status);
}

static void give_locked(clpt_device *device, clp_memory memory, size_t bytes)
{
  size_t slot = find_locked(device, memory);
  if (memory == 0 || slot == CLPT_MAX_BLOCKS || device->blocks[slot].bytes != bytes) {
    device->misuses++;
    return;
  }
  device->blocks[slot].memory = 0;
  device->live_blocks--;
  device->live_bytes -= bytes;
  if (device->frees_are_pending)
    device->pending_bytes += bytes;
}

static clp_status device_free(void *self, clp_memory memory, size_t bytes)
{
  clpt_device *device = self;
  clp_status status = begin(device, CLPT_FREE, bytes, &device->free_fault);
  if (!status)
    give_locked(device, memory, bytes);
  return end(device, CLPT_FREE, bytes, &device->free_fault, status);
}

#define DEVICE_CALL(name, call, bytes)                                                             \
  static clp_status device_##name(void *self)                                                      \
  {                                                                                                \
    clpt_device *device = self;                                                                    \
    clp_status status = begin(device, call, 0, &device->name##_fault);                             \
    device->bytes = status ? device->bytes : 0;                                                    \
    return end(device, call, 0, &device->name##_fault, status);                                    \
  }
DEVICE_CALL(drain, CLPT_DRAIN, pending_bytes)
DEVICE_CALL(return_cached, CLPT_RETURN_CACHED, cached_bytes)

static void device_destroy(void *self)
{
  clpt_device *device = self;
  (void)begin(device, CLPT_DESTROY, 0, NULL);
  device->destroyed++;
  (void)end(device, CLPT_DESTROY, 0, NULL, CLP_SUCCESS);
}

void clpt_device_init(clpt_device *device)
{
  memset(device, 0, sizeof(*device));
  device->ops = (clp_allocator_ops){.struct_size = sizeof(clp_allocator_ops),
                                    .name = "test-device",
                                    .allocate = device_allocate,
                                    .free = device_free,
                                    .destroy = device_destroy,
                                    .drain = device_drain,
                                    .return_cached = device_return_cached};
  device->last_memory = first_memory;
  pthread_mutex_init(&device->lock, NULL);
}

void clpt_device_init_split(clpt_device *device)
{
  clpt_device_init(device);
  device->ops.split = clpi_split_address;
  device->ops.unsplit = clpi_unsplit_address;
}

clp_allocator *clpt_device_allocator(clpt_device *device)
{
  clp_allocator *allocator = NULL;
  clpt_ok(clp_allocator_create(&device->ops, device, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

void clpt_device_assert_ended(clpt_device *device)
{
  ck_assert_uint_eq(device->destroyed, 1);
  ck_assert_uint_eq(device->live_blocks, 0);
  ck_assert_uint_eq(device->live_bytes, 0);
  ck_assert_uint_eq(device->misuses, 0);
}
