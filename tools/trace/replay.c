/* SPDX-License-Identifier: MIT */
/* The replay: batches are prepared untimed, then run between two looks at the clock. */
#include "trace/replay.h"

#include "trace/batch.h"
#include "trace/error.h"
#include "trace/player.h"

#include <stdlib.h>
#include <time.h>

typedef struct replay {
  const trace_replay_options *options;
  uint64_t (*clock)(void);
  trace_batch_source source;
  trace_player player;
  trace_batch *batch;
  uint64_t recorded_failures;
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
  run->recorded_failures += run->batch->recorded_failures;
  return status;
}

static uint64_t operations(const replay *run)
{
  return trace_play_operations(&run->player.tally);
}

static void tell_progress(const replay *run)
{
  if (!run->options->on_progress)
    return;
  trace_replay_progress progress = {.operations = operations(run)};
  trace_progress(run->source.reader, &progress.done_bytes, &progress.total_bytes);
  run->options->on_progress(&progress, run->options->user_data);
}

/* With an observer a batch is a row: all that changed since `before` is what the row came to. */
static clp_status tell_step(const replay *run, const trace_play_tally *before, uint64_t taken)
{
  const trace_player *player = &run->player;
  const trace_play_tally *tally = &player->tally;
  const trace_operation *operation = &run->batch->operations[0];
  trace_replay_step step = {
      .event = &run->batch->newest,
      .outcome = TRACE_REPLAY_SKIPPED,
      .device_bytes = trace_metering_allocator_read(player->metering).taken_bytes,
  };
  if (run->batch->count > 0) {
    step.bytes = operation->bytes;
    step.slot = operation->slot;
    step.pool = operation->context;
  }
  if (tally->failures > before->failures) {
    step.outcome = TRACE_REPLAY_REFUSED;
  } else if (tally->frees > before->frees) {
    step.outcome = TRACE_REPLAY_FREED;
  } else if (tally->allocations > before->allocations) {
    step.outcome = taken > 0 ? TRACE_REPLAY_MISS : TRACE_REPLAY_HIT;
    step.block_bytes = player->options->pooled
                           ? clp_buffer_capacity(player->slots[step.slot].buffer)
                           : operation->bytes;
  }
  return run->options->observer->on_step(&step, run->options->observer->user_data);
}

/* Blocks that were taken so far, by pools or straight from the device. */
static uint64_t count_taken(const replay *run)
{
  return run->options->pooled ? run->player.blocks
                              : trace_metering_allocator_read(run->player.metering).allocations;
}

static clp_status run_observed(replay *run)
{
  trace_play_tally before = run->player.tally;
  uint64_t taken_before = count_taken(run);
  clp_status status = run_batch(run);
  bool has_row = run->batch->count + run->batch->skipped > 0;
  return status || !has_row ? status : tell_step(run, &before, count_taken(run) - taken_before);
}

static clp_status run_pass(replay *run)
{
  bool is_observed = run->options->observer;
  size_t rows = is_observed ? 1 : TRACE_BATCH_ROWS;
  do {
    clp_status status = trace_batch_read(run->batch, &run->source, rows);
    if (!status)
      status = trace_player_reserve(&run->player, run->source.live.capacity,
                                    run->source.contexts.count, run->batch->newest.line);
    if (!status)
      status = is_observed ? run_observed(run) : run_batch(run);
    if (status)
      return status;
    tell_progress(run);
  } while (!run->batch->at_end);
  return CLP_SUCCESS;
}

static clp_status begin_next_pass(replay *run)
{
  trace_player_release_live(&run->player);
  run->nanoseconds = 0;
  run->operations_before = operations(run);
  return trace_batch_source_rewind(&run->source);
}

static clp_status run_all(replay *run)
{
  clp_status status = run_pass(run);
  for (unsigned pass = 1; pass < run->options->passes && !status; pass++) {
    status = begin_next_pass(run);
    if (!status)
      status = run_pass(run);
  }
  return status;
}

static void read_figures(const replay *run, trace_replay_result *result)
{
  trace_player_read(&run->player, result);
  result->recorded_failures = run->recorded_failures;
  uint64_t timed = operations(run) - run->operations_before;
  if (timed > 0)
    result->ns_per_operation = (double)run->nanoseconds / (double)timed;
}

clp_status trace_replay(trace_reader *reader, clp_allocator *allocator,
                        const trace_replay_options *options, trace_replay_result *result)
{
  replay run = {.options = options,
                .clock = options->clock ? options->clock : monotonic_nanoseconds};
  trace_batch_source_begin(&run.source, reader, options->scale);
  clp_status status = trace_player_open(&run.player, trace_name(reader), allocator, options);
  run.batch = malloc(sizeof(*run.batch));
  if (!status && !run.batch)
    status = trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to replay a trace");
  if (!status)
    status = run_all(&run);
  if (!status)
    read_figures(&run, result);

  trace_player_close(&run.player);
  trace_batch_source_end(&run.source);
  free(run.batch);
  return status;
}
