/* SPDX-License-Identifier: MIT */
/* The replay: batches are prepared untimed, then run between two looks at the clock. */
#include "trace/replay.h"

#include "trace/batch.h"
#include "trace/player.h"

#include <time.h>

typedef struct replay {
  const trace_replay_options *options;
  uint64_t (*clock)(void);
  trace_batch_source *source;
  trace_player player;
  size_t pool;          /* of the row that is observed */
  uint64_t nanoseconds; /* of this pass, and so is the next */
  uint64_t operations_before;
} replay;

uint64_t trace_now(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static clp_status run_batch(replay *run)
{
  uint64_t begin = run->clock();
  clp_status status =
      trace_player_run(&run->player, run->source->batch->operations, run->source->batch->count);
  run->nanoseconds += run->clock() - begin;
  run->player.tally.recorded_failures += run->source->batch->recorded_failures;
  return status;
}

static void tell_progress(const replay *run)
{
  if (!run->options->on_progress)
    return;
  uint64_t done, total;
  trace_batch_source_progress(run->source, &done, &total);
  run->options->on_progress(run->options->user_data, done, total,
                            trace_play_operations(&run->player.tally));
}

static void tell_block(size_t bytes, bool is_taken, void *user_data)
{
  const replay *run = user_data;
  const trace_replay_observer *observer = run->options->observer;
  observer->on_block(run->pool, bytes, is_taken, observer->user_data);
}

/* With an observer a batch is a row. */
static clp_status run_observed(replay *run)
{
  const trace_player *player = &run->player;
  const trace_operation *operation =
      run->source->batch->count ? run->source->batch->operations : NULL;
  const trace_play_slot *slot = operation ? &player->slots[operation->slot] : NULL;
  const bool was_live = slot && slot->is_live;
  const uint64_t taken = trace_meter_of(player->metering)->allocations;
  trace_replay_step step = {.event = &run->source->batch->newest, .outcome = TRACE_REPLAY_SKIPPED};
  if (run->source->batch->at_end)
    return CLP_SUCCESS;
  if (operation) {
    step.bytes = operation->bytes;
    step.slot = operation->slot;
    step.pool = run->pool = operation->is_free ? slot->pool : operation->context;
  }
  clp_status status = run_batch(run);
  if (status)
    return status;
  const trace_meter meter = *trace_meter_of(player->metering);
  step.device_bytes = meter.taken_bytes;
  if (was_live) {
    step.outcome = TRACE_REPLAY_FREED;
  } else if (slot && slot->is_live) {
    step.outcome = meter.allocations > taken ? TRACE_REPLAY_MISS : TRACE_REPLAY_HIT;
    step.block_bytes = slot->buffer ? clp_buffer_capacity(slot->buffer) : slot->bytes;
  } else if (operation && !operation->is_free) {
    step.outcome = TRACE_REPLAY_REFUSED;
  }
  return run->options->observer->on_step(&step, run->options->observer->user_data);
}

static clp_status run_pass(replay *run)
{
  const bool is_observed = run->options->observer;
  trace_batch_source *source = run->source;
  trace_player_release_live(&run->player);
  run->nanoseconds = 0;
  run->operations_before = trace_play_operations(&run->player.tally);
  do {
    clp_status status = trace_batch_read(source, is_observed ? 1 : TRACE_BATCH_ROWS);
    if (!status)
      status = trace_player_reserve(&run->player, source->live.capacity, source->contexts);
    if (!status)
      status = is_observed ? run_observed(run) : run_batch(run);
    if (status)
      return status;
    tell_progress(run);
  } while (!source->batch->at_end);
  return CLP_SUCCESS;
}

clp_status trace_replay_source(trace_batch_source *source, clp_allocator *allocator,
                               const trace_replay_options *options, trace_replay_result *result)
{
  replay run = {
      .options = options, .clock = options->clock ? options->clock : trace_now, .source = source};
  clp_status status =
      trace_player_open(&run.player, source->reader->lines.name, allocator, options);
  source->scale = options->scale;
  source->is_kept |= options->passes > 1;
  trace_meter *meter = run.player.metering ? trace_meter_of(run.player.metering) : NULL;
  if (!status && options->observer && options->pooled) {
    meter->on_block = tell_block;
    meter->user_data = &run;
  }
  for (unsigned pass = 0; !status && (pass == 0 || pass < options->passes); pass++)
    status = run_pass(&run);
  if (!status)
    trace_player_read(&run.player, result);
  const uint64_t timed = trace_play_operations(&run.player.tally) - run.operations_before;
  if (!status && timed > 0)
    result->ns_per_operation = (double)run.nanoseconds / (double)timed;
  if (meter)
    meter->on_block = NULL;
  trace_player_close(&run.player);
  return status;
}

clp_status trace_replay(trace_reader *reader, clp_allocator *allocator,
                        const trace_replay_options *options, trace_replay_result *result)
{
  trace_batch_source source = {.reader = reader};
  clp_status status = trace_replay_source(&source, allocator, options, result);
  trace_batch_source_end(&source);
  return status;
}

clp_status trace_replay_fit_scale(trace_batch_source *source, const clp_allocator *allocator,
                                  const trace_replay_options *options, double *scale)
{
  const size_t device_bytes = trace_device_bytes(allocator);
  trace_replay_options as_recorded = *options;
  as_recorded.has_limit = true; /* none, whatever the environment says */
  as_recorded.limit_bytes = 0;
  as_recorded.scale = 1.0;
  as_recorded.passes = 1;
  source->is_kept = true;
  clp_allocator *roomy; /* limits in per cent can be read there, though not applied */
  trace_replay_result result;
  clp_status status = trace_model_device_create(false, device_bytes, &roomy);
  if (status)
    return status;
  status = trace_replay_source(source, roomy, &as_recorded, &result);
  clp_allocator_release(roomy);
  if (status)
    return status;
  *scale = 1.0;
  while (device_bytes > 0 &&
         (double)result.peak_managed_bytes * *scale > (double)device_bytes / 4.0)
    *scale /= 2.0;
  return CLP_SUCCESS;
}
