/* SPDX-License-Identifier: MIT */
/* The observer of a replay: keeps the pool's figures up to date, row by row, without asking it. */
#include "trace/survey.h"

#include "trace/error.h"

#include <stdlib.h>
#include <string.h>

/* What stands in a slot; of no bytes and no block where nothing does. */
typedef struct surveyed_block {
  bool is_live;
  trace_large_kind kind;
  size_t block_bytes;
  size_t pool;
  trace_moment since;
} surveyed_block;

/* Time goes on through midnight, and does not go back: rows have only the time of day. A time up to
 * an hour earlier than the latest (of threads that were overtaken, of a clock that was set) counts
 * as the latest; any other is later. */
typedef struct elapsed {
  bool has_begun;
  uint64_t time_of_day; /* nanoseconds, the latest so far */
  uint64_t nanoseconds; /* since the first */
} elapsed;

typedef struct surveying {
  trace_survey *survey;
  elapsed clock;
  surveyed_block *blocks; /* by slot */
  size_t block_count;
  size_t taken_bytes, block_bytes; /* of all pools: what they manage, and of active blocks */
  trace_sample sample;             /* after the latest row */
  bool is_on_arena;                /* pools hold nothing there: what they take are the blocks */
  clp_status bins_status; /* of the census, which learns of blocks where nothing can fail */
} surveying;

static uint64_t next_time(elapsed *clock, uint64_t time_of_day)
{
  static const uint64_t hour = UINT64_C(3600) * 1000000000, day = 24 * hour;
  if (!clock->has_begun)
    clock->time_of_day = time_of_day % day;
  clock->has_begun = true;
  uint64_t later = (time_of_day + day - clock->time_of_day) % day;
  if (later < day - hour) {
    clock->nanoseconds += later;
    clock->time_of_day = time_of_day % day;
  }
  return clock->nanoseconds;
}

/* NULL: it is not looked at by itself. */
static trace_surveyed_pool *pool_of(surveying *state, size_t pool)
{
  return pool < TRACE_SURVEYED_POOLS ? &state->survey->pools[pool] : NULL;
}

static void count_block(surveying *state, size_t pool, size_t bytes, bool is_taken)
{
  if (state->bins_status)
    return;
  if (is_taken)
    state->bins_status = trace_bin_census_take(&state->survey->bins, bytes);
  else
    trace_bin_census_give_back(&state->survey->bins, bytes);
  size_t change = is_taken ? bytes : -bytes; /* wraps, and so do sums */
  state->taken_bytes += change;
  if (pool_of(state, pool))
    pool_of(state, pool)->managed_bytes += change;
}

/* On an arena, these are segments. */
static void observe_block(size_t pool, size_t bytes, bool is_taken, void *user_data)
{
  surveying *state = user_data;
  if (!state->is_on_arena)
    count_block(state, pool, bytes, is_taken);
}

/* Begins to look at the pool of an allocation, unless it is known. */
static clp_status note_pool(trace_survey *survey, const trace_replay_step *step)
{
  bool is_allocation = step->outcome != TRACE_REPLAY_FREED && step->outcome != TRACE_REPLAY_SKIPPED;
  if (!is_allocation || step->pool < survey->pool_count || step->pool >= TRACE_SURVEYED_POOLS)
    return CLP_SUCCESS;
  trace_surveyed_pool *pool = &survey->pools[survey->pool_count++];
  pool->context = step->event->context;
  pool->kind = step->event->kind;
  pool->name = step->event->pool ? strdup(step->event->pool) : NULL;
  return !step->event->pool || pool->name
             ? CLP_SUCCESS
             : trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to survey pools");
}

static clp_status make_room(surveying *state, size_t slot)
{
  enum { FIRST_COUNT = 256 };
  if (slot < state->block_count)
    return CLP_SUCCESS;
  size_t count = state->block_count ? 2 * state->block_count : FIRST_COUNT;
  surveyed_block *blocks = reallocarray(state->blocks, count, sizeof(*blocks));
  if (!blocks)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for %zu live blocks", count);
  for (size_t i = state->block_count; i < count; i++)
    blocks[i] = (surveyed_block){0};
  state->blocks = blocks;
  state->block_count = count;
  return CLP_SUCCESS;
}

/* Bytes that are in use from now on, or no more, all of one allocation. */
static void change_use(surveying *state, const surveyed_block *block, bool is_begun)
{
  size_t bytes = is_begun ? block->kind.bytes : -block->kind.bytes;
  state->sample.active_bytes += bytes;
  state->block_bytes += is_begun ? block->block_bytes : -block->block_bytes;
  state->survey->kinds[block->kind.memory].active_bytes += bytes;
  if (pool_of(state, block->pool))
    pool_of(state, block->pool)->active_bytes += bytes;
  if (state->is_on_arena && block->block_bytes > 0)
    count_block(state, block->pool, block->block_bytes, is_begun);
}

static void raise(size_t *most, size_t value)
{
  *most = *most < value ? value : *most;
}

static clp_status begin_block(surveying *state, const trace_replay_step *step)
{
  trace_survey *survey = state->survey;
  clp_status status = make_room(state, step->slot);
  if (status)
    return status;
  surveyed_block *block = &state->blocks[step->slot];
  *block = (surveyed_block){
      .is_live = true,
      .kind = {step->bytes, step->event->thread, step->event->stream, step->event->kind,
               step->event->stack},
      .block_bytes = step->block_bytes,
      .pool = step->pool,
      .since = state->sample.when,
  };
  change_use(state, block, true);
  trace_largest_add(&survey->largest, &block->kind, block->block_bytes, block->since);
  trace_stacks_allocate(survey->stacks, block->kind.stack, step->bytes);
  trace_surveyed_kind *kind = &survey->kinds[block->kind.memory];
  kind->allocations++;
  raise(&kind->peak_active_bytes, kind->active_bytes);
  if (step->block_bytes > 0 && !state->bins_status)
    trace_bin_census_activate(&survey->bins, step->block_bytes, step->bytes,
                              step->outcome == TRACE_REPLAY_HIT);
  return state->bins_status;
}

static void end_block(surveying *state, size_t slot)
{
  surveyed_block *block = &state->blocks[slot];
  trace_survey *survey = state->survey;
  trace_largest_end(&survey->largest, &block->kind, block->since, state->sample.when, true);
  trace_stacks_free(survey->stacks, block->kind.stack, block->kind.bytes);
  if (block->block_bytes > 0)
    trace_bin_census_release(&survey->bins, block->block_bytes, block->kind.bytes);
  change_use(state, block, false);
  block->is_live = false;
}

static trace_peak peak_at(const trace_sample *sample)
{
  return (trace_peak){sample->when, sample->active_bytes, sample->padding_bytes,
                      sample->held_bytes};
}

static void note_peaks(trace_survey *survey, const trace_sample *sample)
{
  if (sample->active_bytes > survey->active_peak.active_bytes) {
    survey->active_peak = peak_at(sample);
    for (trace_kind kind = 0; kind < TRACE_KINDS; kind++)
      survey->kinds[kind].active_bytes_at_peak = survey->kinds[kind].active_bytes;
  }
  if (trace_sample_managed_bytes(sample) > trace_peak_managed_bytes(&survey->managed_peak)) {
    survey->managed_peak = peak_at(sample);
    trace_bin_census_mark_peak(&survey->bins);
  }
  for (size_t i = 0; i < survey->pool_count; i++) {
    raise(&survey->pools[i].peak_active_bytes, survey->pools[i].active_bytes);
    raise(&survey->pools[i].peak_managed_bytes, survey->pools[i].managed_bytes);
  }
}

static clp_status follow(surveying *state, const trace_replay_step *step)
{
  switch (step->outcome) {
  case TRACE_REPLAY_HIT:
  case TRACE_REPLAY_MISS:
    return begin_block(state, step);
  case TRACE_REPLAY_FREED:
    end_block(state, step->slot);
    return CLP_SUCCESS;
  case TRACE_REPLAY_REFUSED:
  case TRACE_REPLAY_SKIPPED:
    break;
  }
  return CLP_SUCCESS;
}

static clp_status observe_step(const trace_replay_step *step, void *user_data)
{
  surveying *state = user_data;
  trace_sample *sample = &state->sample;
  sample->when.row++;
  sample->when.nanoseconds = next_time(&state->clock, step->event->nanoseconds);
  sample->outcome = step->outcome;
  sample->bytes = step->bytes;
  sample->device_bytes = step->device_bytes;
  clp_status status = state->bins_status ? state->bins_status : note_pool(state->survey, step);
  if (!status)
    status = follow(state, step);
  if (status)
    return status;
  sample->padding_bytes = state->block_bytes - sample->active_bytes;
  sample->held_bytes = state->taken_bytes - state->block_bytes;
  note_peaks(state->survey, sample);
  trace_timeline_add(&state->survey->timeline, sample);
  return CLP_SUCCESS;
}

/* What is live at the trace's end has lived that long. */
static void end_live(surveying *state)
{
  for (size_t i = 0; i < state->block_count; i++) {
    const surveyed_block *block = &state->blocks[i];
    if (block->is_live)
      trace_largest_end(&state->survey->largest, &block->kind, block->since, state->sample.when,
                        false);
  }
}

static clp_status resolve_stacks(trace_survey *survey)
{
  if (trace_stacks_count(survey->stacks) > 1)
    return trace_stacks_resolve(survey->stacks);
  trace_stacks_destroy(survey->stacks);
  survey->stacks = NULL;
  return CLP_SUCCESS;
}

clp_status trace_survey_take(trace_survey *survey, trace_reader *reader, clp_allocator *allocator,
                             const trace_replay_options *options)
{
  memset(survey, 0, sizeof(*survey)); /* too large for the stack */
  survey->stacks = trace_stacks_create();
  if (!survey->stacks)
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for stacks");
  surveying state = {.survey = survey, .is_on_arena = options->on_arena && options->pooled};
  trace_replay_observer observer = {observe_step, observe_block, &state};
  trace_replay_options observed = *options;
  observed.observer = &observer;
  trace_collect_stacks(reader, survey->stacks);
  clp_status status = trace_replay(reader, allocator, &observed, &survey->result);
  trace_collect_stacks(reader, NULL);
  if (!status)
    end_live(&state);
  free(state.blocks);
  return status ? status : resolve_stacks(survey);
}

void trace_survey_end(trace_survey *survey)
{
  trace_bin_census_end(&survey->bins);
  trace_stacks_destroy(survey->stacks);
  survey->stacks = NULL;
  for (size_t i = 0; i < survey->pool_count; i++)
    free(survey->pools[i].name);
  survey->pool_count = 0;
}
