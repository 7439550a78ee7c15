/* SPDX-License-Identifier: MIT */
/* A simulated device that says of itself what another allocator's device does. */
#ifndef CLPOOL_TRACE_MODEL_DEVICE_H
#define CLPOOL_TRACE_MODEL_DEVICE_H

#include <clpool/allocator.h>
#include <stddef.h>

/* It has the memory, the largest block and the alignment of `model`'s device, which stays as it is;
 * memory without bound where that is unknown. Statuses as of clp_simulated_allocator_create. */
clp_status clpi_model_device_create(const clp_allocator *model, clp_allocator **out);

#endif
