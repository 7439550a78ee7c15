/* SPDX-License-Identifier: MIT */
/* The replay: batches are prepared untimed, then run between two looks at the clock. */
#include "trace/replay.h"

#include "trace/batch.h"
#include "trace/error.h"
#include "trace/player.h"

#include <stdlib.h>
#include <time.h>
#include <zlib.h>

typedef struct replay {
  const trace_replay_options *options;
  uint64_t (*clock)(void);
  trace_batch_source source;
  trace_player player;
  trace_batch *batch;
  size_t pool;          /* of the row that is observed */
  uint64_t nanoseconds; /* of this pass, and so is the next */
  uint64_t operations_before;
} replay;

static uint64_t monotonic_nanoseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static clp_status run_batch(replay *run)
{
  uint64_t begin = run->clock();
  clp_status status = trace_player_run(&run->player, run->batch->operations, run->batch->count);
  run->nanoseconds += run->clock() - begin;
  run->player.tally.recorded_failures += run->batch->recorded_failures;
  return status;
}

static void tell_progress(const replay *run)
{
  if (!run->options->on_progress)
    return;
  const trace_lines *lines = &run->source.reader->lines;
  const z_off_t offset = gzoffset(lines->file);
  run->options->on_progress(run->options->user_data, offset > 0 ? (uint64_t)offset : 0,
                            lines->file_bytes, trace_play_operations(&run->player.tally));
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
  const trace_operation *operation = run->batch->count ? run->batch->operations : NULL;
  const trace_play_slot *slot = operation ? &player->slots[operation->slot] : NULL;
  const bool was_live = slot && slot->is_live;
  const uint64_t taken = trace_metering_allocator_read(player->metering).allocations;
  trace_replay_step step = {.event = &run->batch->newest, .outcome = TRACE_REPLAY_SKIPPED};
  if (run->batch->at_end)
    return CLP_SUCCESS;
  if (operation) {
    step.bytes = operation->bytes;
    step.slot = operation->slot;
    step.pool = run->pool = operation->is_free ? slot->pool : operation->context;
  }
  clp_status status = run_batch(run);
  if (status)
    return status;
  const trace_meter meter = trace_metering_allocator_read(player->metering);
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
  bool is_observed = run->options->observer;
  size_t rows = is_observed ? 1 : TRACE_BATCH_ROWS;
  do {
    clp_status status = trace_batch_read(run->batch, &run->source, rows);
    if (!status)
      status = trace_player_reserve(&run->player, run->source.live.capacity, run->source.contexts,
                                    run->batch->newest.line);
    if (!status)
      status = is_observed ? run_observed(run) : run_batch(run);
    if (status)
      return status;
    tell_progress(run);
  } while (!run->batch->at_end);
  return CLP_SUCCESS;
}

static clp_status run_all(replay *run)
{
  clp_status status = run_pass(run);
  for (unsigned pass = 1; pass < run->options->passes && !status; pass++) {
    trace_player_release_live(&run->player);
    run->nanoseconds = 0;
    run->operations_before = trace_play_operations(&run->player.tally);
    status = trace_batch_source_rewind(&run->source);
    if (!status)
      status = run_pass(run);
  }
  return status;
}

static void read_figures(const replay *run, trace_replay_result *result)
{
  trace_player_read(&run->player, result);
  uint64_t timed = trace_play_operations(&run->player.tally) - run->operations_before;
  if (timed > 0)
    result->ns_per_operation = (double)run->nanoseconds / (double)timed;
}

clp_status trace_replay(trace_reader *reader, clp_allocator *allocator,
                        const trace_replay_options *options, trace_replay_result *result)
{
  replay run = {.options = options,
                .clock = options->clock ? options->clock : monotonic_nanoseconds,
                .source = {.reader = reader, .scale = options->scale}};
  clp_status status = trace_player_open(&run.player, reader->lines.name, allocator, options);
  run.batch = malloc(sizeof(*run.batch));
  if (!status && !run.batch)
    status = trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to replay a trace");
  if (!status && options->observer && options->pooled)
    trace_metering_allocator_watch(run.player.metering, tell_block, &run);
  if (!status)
    status = run_all(&run);
  if (!status)
    read_figures(&run, result);
  if (run.player.metering)
    trace_metering_allocator_watch(run.player.metering, NULL, NULL);

  trace_player_close(&run.player);
  trace_batch_source_end(&run.source);
  free(run.batch);
  return status;
}
