/* SPDX-License-Identifier: MIT */
/* Simulated devices for replays, and what is known of real ones. */
#ifndef CLPOOL_TRACE_MODEL_DEVICE_H
#define CLPOOL_TRACE_MODEL_DEVICE_H

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>

/* Makes a device that has memory without bound. With `has_parts`, its memory is that of cl_mems: a
 * part is an object of its own, as a sub-buffer is, and no address. Statuses as of
 * clp_simulated_allocator_create. */
clp_status trace_model_device_create(bool has_parts, clp_allocator **out);

/* The memory of the allocator's device; 0: unknown. */
size_t trace_device_bytes(const clp_allocator *allocator);

#endif
