/* SPDX-License-Identifier: MIT */
/* Modelling: simulated devices with another's figures, and what fits such a device. */
#include "trace/model_device.h"

#include "core/allocator/allocator.h"
#include "trace/replay.h"

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

size_t trace_device_bytes(const clp_allocator *allocator)
{
  return allocator->ops.device_bytes;
}

clp_status trace_replay_fit_scale(trace_batch_source *source, const clp_allocator *allocator,
                                  const trace_replay_options *options, double *scale)
{
  const size_t device_bytes = trace_device_bytes(allocator);
  trace_replay_options as_recorded = TRACE_REPLAY_OPTIONS_INIT;
  as_recorded.pool_options = options->pool_options;
  as_recorded.on_arena = options->on_arena;
  as_recorded.arena_options = options->arena_options;
  as_recorded.has_limit = true; /* none, whatever the environment says */
  as_recorded.on_progress = options->on_progress;
  as_recorded.user_data = options->user_data;

  source->is_kept = true;
  clp_allocator *roomy;
  trace_replay_result result;
  clp_status status = clp_simulated_allocator_create(0, &roomy);
  if (status)
    return status;
  roomy->ops.device_bytes = device_bytes; /* limits in per cent can be read, though not applied */
  status = trace_replay_source(source, roomy, &as_recorded, &result);
  clp_allocator_release(roomy);
  if (!status)
    status = trace_batch_source_rewind(source);
  if (status)
    return status;
  *scale = 1.0;
  while (device_bytes > 0 &&
         (double)result.peak_managed_bytes * *scale > (double)device_bytes / 4.0)
    *scale /= 2.0;
  return CLP_SUCCESS;
}
