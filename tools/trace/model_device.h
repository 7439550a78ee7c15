/* SPDX-License-Identifier: MIT */
/* Simulated devices that say of themselves what a real one does. */
#ifndef CLPOOL_TRACE_MODEL_DEVICE_H
#define CLPOOL_TRACE_MODEL_DEVICE_H

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>

/* It has memory without bound. With `has_parts`, its memory is that of cl_mems: a part is an object
 * of its own, as a sub-buffer is, and no address. Statuses as of clp_simulated_allocator_create. */
clp_status trace_model_device_create(bool has_parts, clp_allocator **out);

/* It has room for any trace, but says that it has the memory of `model`'s device: a limit in per
 * cent of the environment can then be read, though it is not applied. Statuses likewise. */
clp_status trace_roomy_device_create(const clp_allocator *model, clp_allocator **out);

/* The memory of the allocator's device; 0: unknown. */
size_t trace_device_bytes(const clp_allocator *allocator);

#endif
