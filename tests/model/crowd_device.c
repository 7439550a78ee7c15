/* SPDX-License-Identifier: MIT */
/* The device of a program of the crowd. */
#include "crowd_device.h"

#include "support/suite.h"

#include <clpool/arena.h>
#include <sched.h>

enum { CALLS_PER_YIELD = 4 };

void crowd_raise(atomic_size_t *most, size_t value)
{
  size_t before = atomic_load_explicit(most, memory_order_relaxed);

  while (value > before && !atomic_compare_exchange_weak_explicit(
                               most, &before, value, memory_order_relaxed, memory_order_relaxed))
    ;
}

static void note(crowd_device *device, const char *wrong)
{
  const char *none = NULL;

  if (wrong != NULL)
    atomic_compare_exchange_strong(&device->wrong, &none, wrong);
}

static clp_status begin_call(crowd_device *device)
{
  unsigned call = atomic_fetch_add_explicit(&device->calls, 1, memory_order_relaxed);

  if (device->yields && call % CALLS_PER_YIELD == 0)
    (void)sched_yield();
  if (device->fault_rate == 0 || atomic_load_explicit(&device->is_sound, memory_order_relaxed) ||
      call % device->fault_rate != device->fault_rate - 1)
    return CLP_SUCCESS;
  return clp_set_last_error(CLP_BACKEND_ERROR, (int)call, "the device fails on purpose");
}

/* The bytes are taken from the capacity before the memory is. */
static bool reserve(crowd_device *device, size_t bytes)
{
  size_t live = atomic_load_explicit(&device->live_bytes, memory_order_relaxed);

  do {
    if (device->capacity > 0 && bytes > device->capacity - live)
      return false;
  } while (!atomic_compare_exchange_weak_explicit(&device->live_bytes, &live, live + bytes,
                                                  memory_order_relaxed, memory_order_relaxed));
  crowd_raise(&device->most_live_bytes, live + bytes);
  return true;
}

static clp_status device_allocate(void *self, size_t bytes, clp_memory *out)
{
  crowd_device *device = self;
  clp_status status = begin_call(device);

  if (status != CLP_SUCCESS)
    return status;
  if (!reserve(device, bytes))
    return clp_set_last_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "the device is full");
  status = clp_allocator_allocate(device->upstream, bytes, out);
  if (status != CLP_SUCCESS) {
    atomic_fetch_sub_explicit(&device->live_bytes, bytes, memory_order_relaxed);
    return status;
  }
  atomic_fetch_add_explicit(&device->live_blocks, 1, memory_order_relaxed);
  if (device->ranges != NULL)
    note(device, crowd_ranges_add_region(device->ranges, *out, bytes));
  return CLP_SUCCESS;
}

static clp_status device_free(void *self, clp_memory memory, size_t bytes)
{
  crowd_device *device = self;
  clp_status status = begin_call(device);

  if (status != CLP_SUCCESS)
    return status;
  if (device->ranges != NULL)
    note(device, crowd_ranges_remove_region(device->ranges, memory, bytes));
  status = clp_allocator_free(device->upstream, memory, bytes);
  if (status != CLP_SUCCESS)
    note(device, "the library's own allocator did not take memory back");
  atomic_fetch_sub_explicit(&device->live_blocks, 1, memory_order_relaxed);
  atomic_fetch_sub_explicit(&device->live_bytes, bytes, memory_order_relaxed);
  return status;
}

/* Memory of both backends is an address. */
static clp_status device_split(void *self, clp_memory block, size_t offset, size_t bytes,
                               clp_memory *part)
{
  (void)self, (void)bytes;
  *part = block + offset;
  return CLP_SUCCESS;
}

static clp_status device_unsplit(void *self, clp_memory part, size_t bytes)
{
  (void)self, (void)part, (void)bytes;
  return CLP_SUCCESS;
}

static void device_destroy(void *self)
{
  crowd_device *device = self;

  atomic_fetch_add(&device->destroyed, 1);
}

static clp_allocator *start_counted(crowd_device *device, const crowd_plan *plan)
{
  bool is_host = plan->backend == CROWD_HOST;
  clp_allocator *allocator = NULL;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;

  ops.name = "crowd-device";
  ops.allocate = device_allocate;
  ops.free = device_free;
  ops.destroy = device_destroy;
  ops.split = device_split;
  ops.unsplit = device_unsplit;
  ops.memory_kind = is_host ? CLP_MEMORY_HOST : CLP_MEMORY_SIMULATED;
  ops.alignment = is_host ? 64 : 256;
  clpt_ok(is_host ? clp_host_allocator_create(0, &device->upstream)
                  : clp_simulated_allocator_create(plan->capacity, &device->upstream));
  clpt_ok(clp_allocator_create(&ops, device, &allocator));
  return allocator;
}

static void yield_on_call(clpt_late_device *late, clpt_late_call call)
{
  (void)late, (void)call;
  (void)sched_yield();
}

static clp_allocator *start_late(crowd_device *device, const crowd_plan *plan)
{
  clpt_late_device *late = &device->late;

  clpt_late_init(late);
  clpt_late_set_freeing(late, (clpt_late_freeing)plan->freeing);
  late->capacity = plan->capacity;
  late->streams.reuse_addresses = true;
  late->marks_are_work = plan->seed % 4 == 0;
  late->on_call = plan->yields ? yield_on_call : NULL;
  if (plan->has_home)
    late->ops.home_stream = clpt_late_stream_new(late);
  return clpt_late_allocator(late);
}

void crowd_device_start(crowd_device *device, const crowd_plan *plan, crowd_ranges *ranges)
{
  clp_allocator *bottom;

  memset(device, 0, sizeof(*device));
  device->ranges = ranges;
  device->capacity = plan->capacity;
  device->fault_rate = plan->faults;
  device->yields = plan->yields;
  bottom = plan->backend == CROWD_LATE ? start_late(device, plan) : start_counted(device, plan);
  device->allocator = bottom;
  if (!plan->is_on_arena)
    return;
  clpt_ok(clp_arena_allocator_create(bottom, NULL, &device->allocator));
  clp_allocator_release(bottom);
}

static const char *end_late(crowd_device *device)
{
  const char *wrong = clpt_late_find_wrong(&device->late);

  if (wrong == NULL)
    clpt_late_end(&device->late);
  return wrong;
}

const char *crowd_device_end(crowd_device *device)
{
  bool is_late = device->upstream == NULL;

  clp_allocator_release(device->allocator);
  clp_allocator_release(device->upstream);
  if (device->wrong != NULL)
    return device->wrong;
  if (is_late)
    return end_late(device);
  if (device->destroyed != 1)
    return "the allocator has not ended, or more than once";
  return device->live_blocks > 0 || device->live_bytes > 0 ? "the device has live blocks" : NULL;
}
