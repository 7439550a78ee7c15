/* SPDX-License-Identifier: MIT */
/* Fitting a trace's sizes to a device that is smaller than the one it was recorded on. */
#include "trace/model_device.h"
#include "trace/replay.h"

static double largest_fitting(size_t peak_bytes, size_t device_bytes)
{
  double scale = 1.0;
  while ((double)peak_bytes * scale > (double)device_bytes / 4.0)
    scale /= 2.0;
  return scale;
}

clp_status trace_replay_fit_scale(trace_reader *reader, const clp_allocator *allocator,
                                  const trace_replay_options *options, double *scale)
{
  size_t device_bytes = trace_device_bytes(allocator);
  trace_replay_options as_recorded = *options;
  as_recorded.pooled = true;
  as_recorded.has_limit = true;
  as_recorded.limit_bytes = 0;
  as_recorded.scale = 1.0;
  as_recorded.observer = NULL;
  as_recorded.contents = NULL;
  as_recorded.passes = 1;

  clp_allocator *roomy;
  clp_status status = trace_roomy_device_create(allocator, &roomy);
  if (status)
    return status;
  trace_replay_result result;
  status = trace_replay(reader, roomy, &as_recorded, &result);
  clp_allocator_release(roomy);
  if (!status)
    status = trace_rewind(reader);
  if (!status)
    *scale = device_bytes > 0 ? largest_fitting(result.peak_managed_bytes, device_bytes) : 1.0;
  return status;
}
