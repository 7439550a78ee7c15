/* SPDX-License-Identifier: MIT */
/* Tuning: one thread reads the trace, others run each batch on the settings that are theirs. A
 * setting stays with its thread, so its figures do not depend on how many threads there are. */
#include "trace/tune.h"

#include "trace/batch_ring.h"
#include "trace/error.h"
#include "trace/host_memory.h"
#include "trace/model_device.h"
#include "trace/player.h"

#include <clpool/bin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A setting as it is tried. */
typedef struct trial {
  trace_replay_options options;
  clp_allocator *device;
  trace_player player;
  trace_tune_estimate estimate;
  bool rounds;                     /* sizes to those of bins */
  double asked_bytes, block_bytes; /* of all requests: too many for a size_t, perhaps */
} trial;

typedef struct tuning {
  const trace_tune_options *options;
  const char *trace;
  bool can_rewind;
  trace_tune_outcome *outcomes;
  trial *trials;
  size_t count, done, of; /* of this group, of those before, and of all groups */
  trace_host_memory_bound memory;
  unsigned threads;
  trace_batch_ring *ring;
  trace_tuned_trace read;
  size_t active_bytes; /* where reading is */
  uint64_t recorded_failures;
  pthread_mutex_t lock; /* guards the error */
  clp_error error;      /* the first, which says `message`; CLP_SUCCESS while there is none */
  char message[TRACE_MESSAGE_BYTES];
} tuning;

typedef struct tuning_thread {
  pthread_t thread;
  tuning *all;
  unsigned number;
} tuning_thread;

/* Where a device's costs are unknown. */
static const trace_cost_table no_costs;

/* --- trials --- */

static clp_status open_trial(tuning *all, size_t i)
{
  const trace_tune_setting *setting = &all->outcomes[i].setting;
  trial *tried = &all->trials[i];
  tried->options = all->options->replay;
  tried->options.pooled = setting->pooled;
  tried->rounds = setting->pooled && !setting->carves;
  tried->options.pool_options.leading_bits_in_bin_id = setting->leading_bits;
  tried->options.on_arena = setting->on_arena;
  tried->options.arena_options.slack = setting->slack;
  tried->options.contents = NULL;
  tried->estimate.costs = all->options->costs ? all->options->costs : &no_costs;
  bool has_parts = trace_tune_estimate_has_parts(tried->estimate.costs);
  clp_status status = trace_model_device_create(all->options->model, has_parts, &tried->device);
  if (!status)
    status = trace_player_open(&tried->player, all->trace, tried->device, &tried->options);
  if (!status)
    trace_metering_allocator_watch(tried->player.metering, trace_tune_estimate_block,
                                   &tried->estimate);
  return status;
}

static void close_trial(trial *tried)
{
  if (tried->player.metering)
    trace_metering_allocator_watch(tried->player.metering, NULL, NULL);
  trace_player_close(&tried->player);
  clp_allocator_release(tried->device);
}

/* What the pool would allocate, whether or not there is room for it. */
static void count_padding(trial *tried, const trace_batch *batch)
{
  unsigned bits = tried->options.pool_options.leading_bits_in_bin_id;
  for (size_t i = 0; i < batch->count; i++) {
    if (batch->operations[i].is_free)
      continue;
    size_t bytes = batch->operations[i].bytes;
    size_t block = tried->rounds ? clp_bin_size(bits, clp_bin_number(bits, bytes)) : bytes;
    tried->asked_bytes += (double)bytes;
    tried->block_bytes += (double)block;
  }
}

/* Of the processor alone: the threads may be more than there are cores. */
static uint64_t thread_nanoseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static clp_status run_timed(trial *tried, const trace_batch *batch)
{
  uint64_t (*clock)(void) = tried->options.clock ? tried->options.clock : thread_nanoseconds;
  uint64_t begin = clock();
  clp_status status = trace_player_run(&tried->player, batch->operations, batch->count);
  tried->estimate.host += (double)(clock() - begin);
  return status;
}

static clp_status check_memory(const tuning *all, const trace_batch *batch)
{
  bool is_stuck = all->count > 1 && !all->can_rewind;
  return trace_host_memory_check(
      &all->memory, all->trace, batch->newest.line,
      is_stuck ? "all settings at once, and it cannot be read again for a few at a time"
               : "a replay");
}

static clp_status run_trial(const tuning *all, trial *tried, const trace_ring_batch *next)
{
  const trace_batch *batch = &next->batch;
  clp_status status =
      trace_player_reserve(&tried->player, next->slots, next->contexts, batch->newest.line);
  if (!status)
    status = run_timed(tried, batch);
  count_padding(tried, batch);
  if (!status)
    status = check_memory(all, batch);
  if (!status && batch->at_end && !next->is_last) {
    trace_player_release_live(&tried->player);
    trace_tune_estimate_restart(&tried->estimate, &tried->player);
  }
  return status;
}

static void read_trial(const trial *tried, trace_tune_outcome *outcome)
{
  trace_replay_result *result = &outcome->result;
  uint64_t operations;
  trace_player_read(&tried->player, result);
  outcome->time = trace_tune_estimate_read(&tried->estimate, &tried->player, &operations);
  if (operations > 0)
    result->ns_per_operation = trace_tune_time_sum(&outcome->time) / (double)operations;
  outcome->hit_rate =
      result->allocations > 0 ? (double)result->hits / (double)result->allocations : 0.0;
  outcome->padding = tried->asked_bytes > 0 ? tried->block_bytes / tried->asked_bytes - 1.0 : 0.0;
}

/* --- threads --- */

/* Keeps the calling thread's last error for the thread that tunes, and ends the waiting of all. */
static void give_up(tuning *all)
{
  pthread_mutex_lock(&all->lock);
  if (!all->error.status) {
    all->error = *clp_last_error();
    strncat(all->message, all->error.message, sizeof(all->message) - 1);
  }
  pthread_mutex_unlock(&all->lock);
  trace_batch_ring_stop(all->ring);
}

static clp_status run_batch(tuning *all, unsigned thread, const trace_ring_batch *next)
{
  clp_status status = CLP_SUCCESS;
  for (size_t i = thread; i < all->count && !status; i += all->threads)
    status = run_trial(all, &all->trials[i], next);
  return status;
}

static clp_status run_batches(tuning *all, unsigned thread)
{
  clp_status status = CLP_SUCCESS;
  bool is_last = false;
  while (!is_last && !status) {
    const trace_ring_batch *next = trace_batch_ring_take(all->ring, thread);
    if (!next) /* another gave up */
      return CLP_SUCCESS;
    is_last = next->is_last;
    status = run_batch(all, thread, next);
    trace_batch_ring_put_back(all->ring, thread);
  }
  return status;
}

static void *run_thread(void *argument)
{
  const tuning_thread *self = argument;
  tuning *all = self->all;
  clp_status status = CLP_SUCCESS;
  for (size_t i = self->number; i < all->count && !status; i += all->threads)
    status = open_trial(all, i);
  if (!status)
    status = run_batches(all, self->number);
  if (status)
    give_up(all);
  for (size_t i = self->number; i < all->count; i += all->threads) {
    if (!status)
      read_trial(&all->trials[i], &all->outcomes[i]);
    close_trial(&all->trials[i]);
  }
  return NULL;
}

/* --- reading --- */

static void tell_progress(const tuning *all, const trace_batch_source *source, unsigned pass)
{
  const trace_replay_options *options = &all->options->replay;
  unsigned passes = options->passes ? options->passes : 1;
  trace_replay_progress progress = {.operations = source->rows};
  if (!options->on_progress)
    return;
  trace_progress(source->reader, &progress.done_bytes, &progress.total_bytes);
  progress.done_bytes = all->done * passes * progress.total_bytes +
                        all->count * (pass * progress.total_bytes + progress.done_bytes);
  progress.total_bytes *= all->of * passes;
  options->on_progress(&progress, options->user_data);
}

static void count_rows(tuning *all, const trace_batch *batch)
{
  for (size_t i = 0; i < batch->count; i++) {
    const trace_operation *operation = &batch->operations[i];
    if (operation->is_free) {
      all->read.frees++;
      all->active_bytes -= operation->bytes;
      continue;
    }
    all->read.allocations++;
    all->active_bytes += operation->bytes;
    if (all->read.peak_active_bytes < all->active_bytes)
      all->read.peak_active_bytes = all->active_bytes;
  }
}

/* One pass; false once it failed, which is said, or another gave up. */
static bool read_pass(tuning *all, trace_batch_source *source, unsigned pass, bool is_last)
{
  bool at_end = false;
  while (!at_end) {
    trace_ring_batch *next = trace_batch_ring_fill(all->ring);
    if (!next)
      return false;
    if (trace_batch_read(&next->batch, source, TRACE_BATCH_ROWS)) {
      give_up(all);
      return false;
    }
    if (pass == 0)
      count_rows(all, &next->batch);
    all->recorded_failures += next->batch.recorded_failures;
    at_end = next->batch.at_end;
    next->slots = source->live.capacity;
    next->contexts = source->contexts.count;
    next->is_last = at_end && is_last;
    trace_batch_ring_hand_on(all->ring);
    tell_progress(all, source, pass);
  }
  return true;
}

static void read_all(tuning *all, trace_reader *reader)
{
  unsigned passes = all->options->replay.passes ? all->options->replay.passes : 1;
  trace_batch_source source;
  trace_batch_source_begin(&source, reader, all->options->replay.scale);
  for (unsigned pass = 0; pass < passes; pass++) {
    if (pass > 0 && trace_batch_source_rewind(&source)) {
      give_up(all);
      break;
    }
    if (!read_pass(all, &source, pass, pass + 1 == passes))
      break;
  }
  trace_batch_source_end(&source);
}

/* --- all --- */

/* Starts the threads; what fails is said, and those that began end by themselves. Returns how many
 * there are to be joined. */
static unsigned start_threads(tuning *all, tuning_thread *threads)
{
  for (unsigned i = 0; i < all->threads; i++) {
    threads[i] = (tuning_thread){.all = all, .number = i};
    int code = pthread_create(&threads[i].thread, NULL, run_thread, &threads[i]);
    if (!code)
      continue;
    trace_error(CLP_OUT_OF_HOST_MEMORY, code, "cannot start a thread: %s", strerror(code));
    give_up(all);
    return i;
  }
  return all->threads;
}

static clp_status run_all(tuning *all, trace_reader *reader, tuning_thread *threads)
{
  pthread_mutex_init(&all->lock, NULL);
  unsigned started = start_threads(all, threads);
  if (started == all->threads)
    read_all(all, reader);
  for (unsigned i = 0; i < started; i++)
    pthread_join(threads[i].thread, NULL);
  pthread_mutex_destroy(&all->lock);
  for (size_t i = 0; i < all->count; i++)
    all->outcomes[i].result.recorded_failures = all->recorded_failures;
  if (!all->error.status)
    return CLP_SUCCESS;
  return trace_error(all->error.status, all->error.native_code, "%s", all->message);
}

/* Tries a group of settings at once. CLP_LIMIT_EXCEEDED: that takes more memory than it may. */
static clp_status try_group(tuning *all, trace_reader *reader)
{
  const trace_tune_options *options = all->options;
  all->threads = all->count < options->threads ? (unsigned)all->count : options->threads;
  all->memory = trace_host_memory_begin(options->replay.memory_bytes, options->replay.memory_used);
  tuning_thread *threads = calloc(all->threads, sizeof(*threads));
  all->trials = calloc(all->count, sizeof(*all->trials));
  all->ring = trace_batch_ring_create(all->threads);
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  if (!threads || !all->trials || !all->ring)
    trace_error(status, 0, "no host memory to try %zu settings", all->count);
  else
    status = run_all(all, reader, threads);
  trace_batch_ring_destroy(all->ring);
  free(all->trials);
  free(threads);
  return status;
}

/* All at once; what takes too much memory, half as many at a time. */
clp_status trace_tune(trace_reader *reader, const trace_tune_options *options,
                      trace_tune_outcome *outcomes, size_t count, trace_tuned_trace *trace)
{
  size_t done = 0, most = count;
  clp_status status = CLP_SUCCESS;
  while (!status) {
    tuning group = {.options = options,
                    .trace = trace_name(reader),
                    .can_rewind = trace_can_rewind(reader),
                    .outcomes = outcomes + done,
                    .count = most,
                    .done = done,
                    .of = count};
    status = try_group(&group, reader);
    *trace = group.read;
    if (!status)
      done += most;
    else if (status == CLP_LIMIT_EXCEEDED && most > 1 && group.can_rewind)
      most = (most + 1) / 2;
    else
      return status;
    if (done == count)
      return CLP_SUCCESS;
    if (most > count - done)
      most = count - done;
    trace_host_memory_trim();
    status = trace_rewind(reader);
  }
  return status;
}
