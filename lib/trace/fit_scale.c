/* SPDX-License-Identifier: MIT */
/* Fitting a trace's sizes to a device that is smaller than the one it was recorded on. */
#include "core/allocator/allocator.h"
#include "trace/replay.h"

/* A device with room for any trace, that says of itself what the real one says: a limit in per cent
 * of the environment can then be read, though it is not applied. */
static clp_status create_roomy_device(size_t device_bytes, clp_allocator **out)
{
  clp_status status = clp_simulated_allocator_create(0, out);
  if (!status)
    (*out)->ops.device_bytes = device_bytes;
  return status;
}

static double largest_fitting(size_t peak_bytes, size_t device_bytes)
{
  double scale = 1.0;
  while ((double)peak_bytes * scale > (double)device_bytes / 4.0)
    scale /= 2.0;
  return scale;
}

clp_status clpi_replay_fit_scale(clpi_trace_reader *reader, const clp_allocator *allocator,
                                 const clpi_replay_options *options, double *scale)
{
  size_t device_bytes = allocator->ops.device_bytes;
  clpi_replay_options as_recorded = *options;
  as_recorded.pooled = true;
  as_recorded.has_limit = true;
  as_recorded.limit_bytes = 0;
  as_recorded.scale = 1.0;
  as_recorded.observer = NULL;
  as_recorded.contents = NULL;
  as_recorded.passes = 1;

  clp_allocator *roomy;
  clp_status status = create_roomy_device(device_bytes, &roomy);
  if (status)
    return status;
  clpi_replay_result result;
  status = clpi_replay(reader, roomy, &as_recorded, &result);
  clp_allocator_release(roomy);
  if (!status)
    status = clpi_trace_rewind(reader);
  if (!status)
    *scale = device_bytes > 0 ? largest_fitting(result.peak_managed_bytes, device_bytes) : 1.0;
  return status;
}
