/* SPDX-License-Identifier: MIT */
/* An allocator that passes all calls to another one and counts what is taken from it; and simulated
 * devices. For one thread: replays have no others. */
#ifndef CLPOOL_TRACE_METERING_ALLOCATOR_H
#define CLPOOL_TRACE_METERING_ALLOCATOR_H

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trace_meter {
  size_t taken_bytes; /* now */
  size_t peak_bytes;
  uint64_t allocations; /* calls that succeeded */
  uint64_t frees;
  uint64_t parts; /* parts made of blocks, as an arena does with cl_mems */
  /* The caller may set it: called with each block that is taken from the device or went back to it.
   * NULL: not called. */
  void (*on_block)(size_t bytes, bool is_taken, void *user_data);
  void *user_data;
} trace_meter;

/* Makes an allocator with all properties of `metered`, including its name; retains it. */
clp_status trace_metering_allocator_create(clp_allocator *metered, clp_allocator **out);

/* Returns the meter of such an allocator, valid as long as the allocator. */
trace_meter *trace_meter_of(const clp_allocator *allocator);

/* Makes a device with unbounded memory that claims to have `device_bytes`. With `has_parts`, its
 * memory is like cl_mems: a part is a separate object, such as a sub-buffer, and not an address.
 * Statuses as of clp_simulated_allocator_create. */
clp_status trace_model_device_create(bool has_parts, size_t device_bytes, clp_allocator **out);

/* Returns the memory of the allocator's device. 0: unknown. */
size_t trace_device_bytes(const clp_allocator *allocator);

#endif
