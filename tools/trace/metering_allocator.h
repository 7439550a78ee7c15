/* SPDX-License-Identifier: MIT */
/* An allocator that passes everything on to another and counts what is taken from it. One thread's:
 * replays have no others. */
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
} trace_meter;

/* Makes an allocator like `metered` in all its properties, its name included; retains it. */
clp_status trace_metering_allocator_create(clp_allocator *metered, clp_allocator **out);

/* What was counted, of an allocator from above. */
trace_meter trace_metering_allocator_read(const clp_allocator *allocator);

/* Called with each block that is taken from the device or went back to it. */
typedef void (*trace_block_callback)(size_t bytes, bool is_taken, void *user_data);

/* From now on `on_block` is told of the blocks of an allocator from above; NULL: nobody is. */
void trace_metering_allocator_watch(clp_allocator *allocator, trace_block_callback on_block,
                                    void *user_data);

#endif
