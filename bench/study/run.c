/* SPDX-License-Identifier: MIT */
/* One run of the study. */
#include "run.h"

#include "../failed.h"
#include "core/allocator/allocator.h"
#include "late.h"

enum { LEADING_BITS = 6 };

study_setting study_default_setting(void)
{
  study_setting setting = {.replay = TRACE_REPLAY_OPTIONS_INIT, .rules = STUDY_RULES_INIT};
  setting.replay.on_arena = true;
  setting.replay.has_limit = true; /* of 0: none, whatever the environment says */
  setting.replay.pool_options.leading_bits_in_bin_id = LEADING_BITS;
  return setting;
}

static clp_status replay(const study_trace *trace, const study_setting *setting, unsigned passes,
                         trace_replay_result *result)
{
  trace_replay_options options = setting->replay;
  clp_allocator *device;
  options.scale = trace->scale;
  options.passes = passes;
  options.several_threads = setting->is_late;
  options.contents = setting->is_late ? &study_late_contents : NULL;
  clp_status status = setting->is_late ? study_late_device_create(setting->behind, &device)
                                       : clp_simulated_allocator_create(0, &device);
  if (status)
    return status;
  if (setting->alignment > 0)
    device->ops.alignment = setting->alignment;
  study_set_rules(setting->rules);
  status = trace_rewind(trace->reader);
  if (!status)
    status = trace_replay(trace->reader, device, &options, result);
  clp_allocator_release(device);
  return status;
}

static bool run_passes(const study_trace *trace, const study_setting *setting, unsigned passes,
                       trace_replay_result *result)
{
  if (replay(trace, setting, passes, result))
    return bench_failed("%s: %s", trace->name, clp_last_error()->message);
  return result->failures == 0 || bench_failed("%s: allocations failed", trace->name);
}

static double footprint(const trace_replay_result *result, const study_trace *trace)
{
  return (double)result->peak_device_bytes / (double)trace->peak_bytes;
}

bool study_run(const study_trace *trace, const study_setting *setting, study_outcome *outcome)
{
  trace_replay_result result;
  if (!run_passes(trace, setting, 1, &result))
    return false;
  *outcome = (study_outcome){
      .footprint = footprint(&result, trace),
      .allocations = result.allocations,
      .taken = result.device_allocations,
      .given_back = result.device_frees,
  };
  if (trace->group != STUDY_RECORDED)
    return true;
  if (!run_passes(trace, setting, STUDY_LONG_RUN, &result))
    return false;
  outcome->long_run.footprint = footprint(&result, trace);
  outcome->long_run.taken = result.device_allocations;
  return true;
}

bool study_find_peak(study_trace *trace)
{
  study_setting plain = study_default_setting();
  trace_replay_result result;
  plain.replay.on_arena = false;
  if (replay(trace, &plain, 1, &result))
    return false;
  trace->peak_bytes = result.peak_active_bytes;
  return true;
}
