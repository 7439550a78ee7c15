/* SPDX-License-Identifier: MIT */
/* The replay: batches are prepared untimed, then run between two looks at the clock. */
#include "trace/replay.h"

#include "core/error.h"
#include "trace/batch.h"
#include "trace/live_blocks.h"
#include "trace/metering_allocator.h"

#include <clpool/buffer.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* What stands where a recorded block was live. A slot of no memory holds an allocation that failed
 * (or one of zero bytes). */
typedef struct replay_slot {
  clp_buffer *buffer; /* with a pool */
  clp_memory memory;  /* without */
  size_t bytes;
  uint32_t word; /* for its contents */
} replay_slot;

typedef struct replay_tally {
  uint64_t allocations, frees, failures;
  size_t active_bytes, peak_active_bytes; /* without a pool, which counts by itself */
} replay_tally;

typedef struct replay {
  clpi_trace_reader *reader;
  const clpi_replay_options *options;
  uint64_t (*clock)(void);
  clp_allocator *metering;
  clp_allocator *arena;  /* NULL: none */
  clp_allocator *source; /* of blocks: the arena, or the metering allocator */
  clp_pool *pool;        /* NULL: bare */
  clpi_live_blocks live;
  clpi_batch *batch;
  replay_slot *slots;
  size_t slot_count;
  replay_tally tally;
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

/* A failure that a program could have met and survived; others end the replay. */
static bool is_refusal(clp_status status)
{
  return status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED ||
         status == CLP_INVALID_ARGUMENT;
}

/* Adds to the last error, which an operation just set, where in the trace it happened. */
static clp_status failed_at(const replay *run, const clpi_operation *operation, clp_status status)
{
  const clp_error *error = clp_last_error();
  return clpi_error(status, error->native_code, "%s:%" PRIu64 ": %s of %zu bytes: %s",
                    clpi_trace_name(run->reader), operation->line,
                    operation->is_free ? "free" : "allocation", operation->bytes, error->message);
}

static clp_memory memory_in(const replay_slot *slot)
{
  return slot->buffer ? clp_buffer_memory(slot->buffer) : slot->memory;
}

/* The line is another one for each allocation of a pass. */
static clp_status fill(const replay *run, const clpi_operation *operation, replay_slot *slot)
{
  const clpi_replay_contents *contents = run->options->contents;
  slot->word = (uint32_t)operation->line;
  slot->bytes = operation->bytes;
  if (!memory_in(slot))
    return CLP_SUCCESS;
  return contents->fill(memory_in(slot), slot->bytes, slot->word, contents->user_data);
}

static clp_status check(const replay *run, const replay_slot *slot)
{
  const clpi_replay_contents *contents = run->options->contents;
  if (!memory_in(slot))
    return CLP_SUCCESS;
  return contents->check(memory_in(slot), slot->bytes, slot->word, contents->user_data);
}

/* The two ways to run a batch are written out, so that what is timed is the operations alone. */

static clp_status run_pooled(replay *run)
{
  replay_tally tally = run->tally;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < run->batch->count; i++) {
    const clpi_operation *operation = &run->batch->operations[i];
    replay_slot *slot = &run->slots[operation->slot];
    if (!operation->is_free) {
      status = clp_pool_allocate(run->pool, operation->bytes, &slot->buffer);
      tally.allocations += status == CLP_SUCCESS;
      tally.failures += is_refusal(status);
      if (is_refusal(status))
        continue;
      if (!status && run->options->contents)
        status = fill(run, operation, slot);
      if (status)
        return failed_at(run, operation, status);
    } else if (slot->buffer) {
      status = run->options->contents ? check(run, slot) : CLP_SUCCESS;
      if (!status) {
        status = clp_buffer_release(slot->buffer);
        slot->buffer = NULL;
      }
      tally.frees++;
      if (status)
        return failed_at(run, operation, status);
    }
  }
  run->tally = tally;
  return CLP_SUCCESS;
}

static void count_active(replay_tally *tally, size_t bytes)
{
  tally->active_bytes += bytes;
  if (tally->peak_active_bytes < tally->active_bytes)
    tally->peak_active_bytes = tally->active_bytes;
}

static clp_status run_bare(replay *run)
{
  replay_tally tally = run->tally;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < run->batch->count; i++) {
    const clpi_operation *operation = &run->batch->operations[i];
    replay_slot *slot = &run->slots[operation->slot];
    if (!operation->is_free) {
      status = clp_allocator_allocate(run->source, operation->bytes, &slot->memory);
      slot->bytes = operation->bytes;
      tally.allocations += status == CLP_SUCCESS;
      tally.failures += is_refusal(status);
      if (is_refusal(status))
        continue;
      if (!status)
        count_active(&tally, operation->bytes);
      if (!status && run->options->contents)
        status = fill(run, operation, slot);
      if (status)
        return failed_at(run, operation, status);
    } else if (slot->memory || slot->bytes == 0) {
      status = run->options->contents ? check(run, slot) : CLP_SUCCESS;
      if (!status)
        status = clp_allocator_free(run->source, slot->memory, slot->bytes);
      if (status)
        return failed_at(run, operation, status);
      slot->memory = 0;
      tally.active_bytes -= slot->bytes;
      tally.frees++;
    }
  }
  run->tally = tally;
  return CLP_SUCCESS;
}

static clp_status run_batch(replay *run)
{
  uint64_t begin = run->clock();
  clp_status status = run->pool ? run_pooled(run) : run_bare(run);
  run->nanoseconds += run->clock() - begin;
  run->recorded_failures += run->batch->recorded_failures;
  return status;
}

/* Makes a slot for every number that the batch may use. */
static clp_status grow_slots(replay *run)
{
  size_t wanted = run->live.capacity;
  if (run->slot_count >= wanted)
    return CLP_SUCCESS;
  replay_slot *slots = reallocarray(run->slots, wanted, sizeof(*slots));
  if (!slots)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for %zu live blocks", wanted);
  for (size_t i = run->slot_count; i < wanted; i++)
    slots[i] = (replay_slot){0};
  run->slots = slots;
  run->slot_count = wanted;
  return CLP_SUCCESS;
}

static uint64_t operations(const replay *run)
{
  return run->tally.allocations + run->tally.failures + run->tally.frees;
}

static void tell_progress(const replay *run)
{
  if (!run->options->on_progress)
    return;
  clpi_replay_progress progress = {.operations = operations(run)};
  clpi_trace_progress(run->reader, &progress.done_bytes, &progress.total_bytes);
  run->options->on_progress(&progress, run->options->user_data);
}

/* With an observer a batch is a row: all that changed since `before` is what the row came to. */
static clp_status tell_step(const replay *run, const replay_tally *before, uint64_t device_before)
{
  const replay_tally *tally = &run->tally;
  const clpi_operation *operation = &run->batch->operations[0];
  clpi_replay_step step = {.event = &run->batch->newest, .outcome = CLPI_REPLAY_SKIPPED};
  if (run->batch->count > 0) {
    step.bytes = operation->bytes;
    step.slot = operation->slot;
  }
  if (tally->failures > before->failures) {
    step.outcome = CLPI_REPLAY_REFUSED;
  } else if (tally->frees > before->frees) {
    step.outcome = CLPI_REPLAY_FREED;
  } else if (tally->allocations > before->allocations) {
    bool is_hit = clpi_metering_allocator_read(run->metering).allocations == device_before;
    step.outcome = is_hit ? CLPI_REPLAY_HIT : CLPI_REPLAY_MISS;
    step.block_bytes =
        run->pool ? clp_buffer_capacity(run->slots[step.slot].buffer) : operation->bytes;
  }
  return run->options->observer->on_step(&step, run->options->observer->user_data);
}

static clp_status run_observed(replay *run)
{
  replay_tally before = run->tally;
  uint64_t device_before = clpi_metering_allocator_read(run->metering).allocations;
  clp_status status = run_batch(run);
  bool has_row = run->batch->count + run->batch->recorded_failures > 0;
  return status || !has_row ? status : tell_step(run, &before, device_before);
}

static clp_status run_pass(replay *run)
{
  bool is_observed = run->options->observer;
  size_t rows = is_observed ? 1 : CLPI_BATCH_ROWS;
  do {
    clp_status status =
        clpi_batch_read(run->batch, run->reader, &run->live, run->options->scale, rows);
    if (!status)
      status = grow_slots(run);
    if (!status)
      status = is_observed ? run_observed(run) : run_batch(run);
    if (status)
      return status;
    tell_progress(run);
  } while (!run->batch->at_end);
  return CLP_SUCCESS;
}

/* Gives back what is live. What fails to go back now cannot be told any more. */
static void release_live(replay *run)
{
  for (size_t i = 0; i < run->slot_count; i++) {
    if (run->slots[i].buffer)
      (void)clp_buffer_release(run->slots[i].buffer);
    if (run->slots[i].memory)
      (void)clp_allocator_free(run->source, run->slots[i].memory, run->slots[i].bytes);
    run->slots[i] = (replay_slot){0};
  }
  run->tally.active_bytes = 0;
}

static clp_status begin_next_pass(replay *run)
{
  release_live(run);
  clpi_live_blocks_end(&run->live);
  clpi_live_blocks_init(&run->live);
  run->nanoseconds = 0;
  run->operations_before = operations(run);
  return clpi_trace_rewind(run->reader);
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

/* A replay runs on one thread, whatever the recorded program did. */
static clp_status open_source(replay *run, clp_allocator *allocator)
{
  clp_arena_options options = run->options->arena_options;
  options.one_thread = true;
  clp_status status = clpi_metering_allocator_create(allocator, &run->metering);
  if (!status && run->options->on_arena)
    status = clp_arena_allocator_create(run->metering, &options, &run->arena);
  run->source = run->arena ? run->arena : run->metering;
  return status;
}

static clp_status open_pool(replay *run)
{
  clp_status status = clp_pool_create(run->source, &run->options->pool_options, &run->pool);
  if (!status && run->options->has_limit)
    status = clp_pool_set_limit(run->pool, run->options->limit_bytes);
  return status;
}

static void read_pool_figures(const replay *run, clpi_replay_result *result)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_pool_get_stats(run->pool, &stats);
  result->hits = stats.hits;
  result->misses = stats.misses;
  result->limit_bytes = clp_pool_get_limit(run->pool);
  result->peak_active_bytes = stats.peak_active_bytes;
  result->peak_managed_bytes = stats.peak_managed_bytes;
}

static void read_figures(const replay *run, clpi_replay_result *result)
{
  clpi_meter meter = clpi_metering_allocator_read(run->metering);
  *result = (clpi_replay_result){
      .allocations = run->tally.allocations,
      .frees = run->tally.frees,
      .misses = run->tally.allocations,
      .device_allocations = meter.allocations,
      .device_frees = meter.frees,
      .failures = run->tally.failures,
      .recorded_failures = run->recorded_failures,
      .peak_active_bytes = run->tally.peak_active_bytes,
      .peak_managed_bytes = meter.peak_bytes,
      .peak_device_bytes = meter.peak_bytes,
  };
  if (run->pool)
    read_pool_figures(run, result);
  if (result->peak_active_bytes > 0)
    result->footprint = (double)result->peak_device_bytes / (double)result->peak_active_bytes;
  uint64_t timed = operations(run) - run->operations_before;
  if (timed > 0)
    result->ns_per_operation = (double)run->nanoseconds / (double)timed;
}

clp_status clpi_replay(clpi_trace_reader *reader, clp_allocator *allocator,
                       const clpi_replay_options *options, clpi_replay_result *result)
{
  replay run = {.reader = reader,
                .options = options,
                .clock = options->clock ? options->clock : monotonic_nanoseconds};
  clpi_live_blocks_init(&run.live);
  clp_status status = open_source(&run, allocator);
  run.batch = malloc(sizeof(*run.batch));
  if (!status && !run.batch)
    status = clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to replay a trace");
  if (!status && options->pooled)
    status = open_pool(&run);
  if (!status && options->observer)
    clpi_metering_allocator_watch(run.metering, options->observer->on_block,
                                  options->observer->user_data);
  if (!status)
    status = run_all(&run);
  if (!status)
    read_figures(&run, result);

  if (run.metering)
    clpi_metering_allocator_watch(run.metering, NULL, NULL);
  release_live(&run);
  clp_pool_release(run.pool);
  clp_allocator_release(run.arena);
  clp_allocator_release(run.metering);
  clpi_live_blocks_end(&run.live);
  free(run.slots);
  free(run.batch);
  return status;
}
