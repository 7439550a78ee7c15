/* SPDX-License-Identifier: MIT */
/* A simulated device: made-up addresses and a capacity. */
#include "core/allocator/allocator.h"
#include "core/base/error.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { ALIGNMENT = 256 };

typedef struct simulated {
  size_t capacity;
  atomic_size_t used;
} simulated;

/* Shared by all simulated devices, so that no two blocks of a trace have the same address. */
static atomic_uintptr_t next_offset = ALIGNMENT;

/* Atomics are relaxed throughout: the counters guard no other memory. */

static bool take(simulated *device, size_t bytes, size_t *used)
{
  *used = atomic_load_explicit(&device->used, memory_order_relaxed);
  do {
    if (bytes > device->capacity - *used)
      return false;
  } while (!atomic_compare_exchange_weak_explicit(&device->used, used, *used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed));
  return true;
}

/* Addresses stay in the lower half of the address space, wrap around at its end, and are never
 * 0. */
static clp_memory next_address(size_t bytes)
{
  uintptr_t span = (bytes / ALIGNMENT + 1) * ALIGNMENT;
  uintptr_t offset = atomic_fetch_add_explicit(&next_offset, span, memory_order_relaxed);
  uintptr_t address = offset & (UINTPTR_MAX >> 1);
  return address ? address : ALIGNMENT;
}

static clp_status simulated_allocate(void *self, size_t bytes, clp_memory *out)
{
  simulated *device = self;
  size_t used;
  if (!take(device, bytes, &used))
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0,
                      "simulated: no memory for %zu bytes: %zu of %zu bytes are in use", bytes,
                      used, device->capacity);
  *out = next_address(bytes);
  return CLP_SUCCESS;
}

static clp_status simulated_free(void *self, clp_memory memory, size_t bytes)
{
  (void)memory;
  simulated *device = self;
  size_t used = atomic_load_explicit(&device->used, memory_order_relaxed);
  do {
    if (bytes > used)
      return clpi_error(CLP_INVALID_ARGUMENT, 0,
                        "simulated: freeing %zu bytes, but only %zu are in use", bytes, used);
  } while (!atomic_compare_exchange_weak_explicit(&device->used, &used, used - bytes,
                                                  memory_order_relaxed, memory_order_relaxed));
  return CLP_SUCCESS;
}

clp_status clp_simulated_allocator_create(size_t capacity, clp_allocator **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_simulated_allocator_create: out is NULL");
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  ops.name = "simulated";
  ops.allocate = simulated_allocate;
  ops.free = simulated_free;
  ops.destroy = clpi_allocator_free_self;
  ops.split = clpi_split_address;
  ops.unsplit = clpi_unsplit_address;
  ops.memory_kind = CLP_MEMORY_SIMULATED;
  ops.alignment = ALIGNMENT;
  ops.device_bytes = capacity;
  simulated device = {.capacity = capacity ? capacity : SIZE_MAX};
  atomic_init(&device.used, 0);
  return clpi_allocator_create_with(&ops, &device, sizeof(device), out);
}
