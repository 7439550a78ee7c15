/* SPDX-License-Identifier: MIT */
/* Modelling: a simulated device with another's figures. */
#include "trace/model_device.h"

#include "core/allocator/allocator.h"

static clp_status make_part(void *self, clp_memory block, size_t offset, size_t bytes,
                            clp_memory *part)
{
  return clpi_split_address(self, block, offset, bytes, part);
}

clp_status trace_model_device_create(bool has_parts, clp_allocator **out)
{
  clp_status status = clp_simulated_allocator_create(0, out);
  if (!status && has_parts) {
    (*out)->ops.split = make_part; /* which an arena does not know to be an address */
    (*out)->ops.memory_kind = CLP_MEMORY_CL_MEM;
  }
  return status;
}

clp_status trace_roomy_device_create(const clp_allocator *model, clp_allocator **out)
{
  clp_status status = clp_simulated_allocator_create(0, out);
  if (!status)
    (*out)->ops.device_bytes = model->ops.device_bytes;
  return status;
}

size_t trace_device_bytes(const clp_allocator *allocator)
{
  return allocator->ops.device_bytes;
}
