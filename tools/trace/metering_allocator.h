/* SPDX-License-Identifier: MIT */
/* An allocator that passes everything on to another and counts what is taken from it, and simulated
 * devices. One thread's: replays have no others. */
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
  uint64_t parts; /* that were made of blocks, as an arena does of cl_mems */
  /* The caller's to set: called with each block that is taken from the device or went back to it.
   * NULL: nobody is told. */
  void (*on_block)(size_t bytes, bool is_taken, void *user_data);
  void *user_data;
} trace_meter;

/* Makes an allocator like `metered` in all its properties, its name included; retains it. */
clp_status trace_metering_allocator_create(clp_allocator *metered, clp_allocator **out);

/* Of an allocator from above; as long as that. */
trace_meter *trace_meter_of(const clp_allocator *allocator);

/* Makes a device that has memory without bound, though it says that it has `device_bytes`. With
 * `has_parts`, its memory is that of cl_mems: a part is an object of its own, as a sub-buffer is,
 * and no address. Statuses as of clp_simulated_allocator_create. */
clp_status trace_model_device_create(bool has_parts, size_t device_bytes, clp_allocator **out);

/* The memory of the allocator's device; 0: unknown. */
size_t trace_device_bytes(const clp_allocator *allocator);

#endif
