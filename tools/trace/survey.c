/* SPDX-License-Identifier: MIT */
/* The observer of a replay: keeps the pool's figures up to date, row by row, without asking it. */
#include "trace/survey.h"

#include "trace/elapsed.h"
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

/* What pools have. */
typedef struct surveyed_bytes {
  size_t taken;  /* by them: what they manage */
  size_t blocks; /* of active blocks */
  size_t active;
} surveyed_bytes;

typedef struct surveying {
  trace_survey *survey;
  const trace_survey_listener *listener;
  trace_elapsed clock;
  surveyed_block *blocks; /* by slot */
  size_t block_count;
  surveyed_bytes all, pools[TRACE_SURVEYED_POOLS + 1]; /* the last are of all other pools */
  trace_sample sample;                                 /* after the latest row */
  bool is_on_arena;       /* pools hold nothing there: what they take are the blocks */
  clp_status bins_status; /* of the census, which learns of blocks where nothing can fail */
} surveying;

static surveyed_bytes *bytes_of(surveying *state, size_t pool)
{
  return &state->pools[pool < TRACE_SURVEYED_POOLS ? pool : TRACE_SURVEYED_POOLS];
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
  state->all.taken += change;
  bytes_of(state, pool)->taken += change;
}

/* On an arena, these are segments. */
static void observe_block(size_t pool, size_t bytes, bool is_taken, void *user_data)
{
  surveying *state = user_data;
  if (!state->is_on_arena)
    count_block(state, pool, bytes, is_taken);
}

static clp_status no_memory_for_pools(void)
{
  return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to survey pools");
}

/* Begins to look at the pool of an allocation, unless it is known. */
static clp_status note_pool(trace_survey *survey, const trace_replay_step *step)
{
  bool is_allocation = step->outcome != TRACE_REPLAY_FREED && step->outcome != TRACE_REPLAY_SKIPPED;
  if (!is_allocation || step->pool < survey->pool_count || step->pool >= TRACE_SURVEYED_POOLS)
    return CLP_SUCCESS;
  trace_surveyed_pool *pool = calloc(1, sizeof(*pool));
  if (!pool)
    return no_memory_for_pools();
  survey->pools[survey->pool_count++] = pool;
  pool->context = step->event->context;
  pool->kind = step->event->kind;
  trace_timeline_begin_like(&pool->timeline, &survey->timeline);
  pool->name = step->event->pool ? strdup(step->event->pool) : NULL;
  return step->event->pool && !pool->name ? no_memory_for_pools() : CLP_SUCCESS;
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

static void count_kind(trace_survey *survey, trace_kind kind, size_t bytes)
{
  trace_surveyed_kind *figures = &survey->kinds[kind];
  figures->allocations++;
  figures->active_bytes += bytes;
  if (figures->peak_active_bytes < figures->active_bytes)
    figures->peak_active_bytes = figures->active_bytes;
}

static clp_status begin_block(surveying *state, const trace_replay_step *step)
{
  clp_status status = make_room(state, step->slot);
  if (status)
    return status;
  surveyed_bytes *own = bytes_of(state, step->pool);
  surveyed_block *block = &state->blocks[step->slot];
  *block = (surveyed_block){
      .is_live = true,
      .kind = {step->bytes, step->event->thread, step->event->stream, step->event->kind},
      .block_bytes = step->block_bytes,
      .pool = step->pool,
      .since = state->sample.when,
  };
  trace_largest_add(&state->survey->largest, &block->kind, block->block_bytes, block->since);
  count_kind(state->survey, step->event->kind, step->bytes);
  state->all.active += step->bytes;
  state->all.blocks += step->block_bytes;
  own->active += step->bytes;
  own->blocks += step->block_bytes;
  if (state->is_on_arena && step->block_bytes > 0)
    count_block(state, step->pool, step->block_bytes, true);
  if (step->block_bytes > 0 && !state->bins_status)
    trace_bin_census_activate(&state->survey->bins, step->block_bytes, step->bytes,
                              step->outcome == TRACE_REPLAY_HIT);
  return state->bins_status;
}

static void end_block(surveying *state, size_t slot)
{
  surveyed_block *block = &state->blocks[slot];
  surveyed_bytes *own = bytes_of(state, block->pool);
  trace_largest_end(&state->survey->largest, &block->kind, block->since, state->sample.when, true);
  state->survey->kinds[block->kind.memory].active_bytes -= block->kind.bytes;
  state->all.active -= block->kind.bytes;
  state->all.blocks -= block->block_bytes;
  own->active -= block->kind.bytes;
  own->blocks -= block->block_bytes;
  if (block->block_bytes > 0)
    trace_bin_census_release(&state->survey->bins, block->block_bytes, block->kind.bytes);
  if (state->is_on_arena && block->block_bytes > 0)
    count_block(state, block->pool, block->block_bytes, false);
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

static void fill_in(trace_sample *sample, const surveyed_bytes *bytes)
{
  sample->active_bytes = bytes->active;
  sample->padding_bytes = bytes->blocks - bytes->active;
  sample->held_bytes = bytes->taken - bytes->blocks;
}

/* Each pool has a sample of each row. */
static void note_pools(surveying *state)
{
  trace_survey *survey = state->survey;
  for (size_t i = 0; i < survey->pool_count; i++) {
    trace_surveyed_pool *pool = survey->pools[i];
    trace_sample sample = {.when = state->sample.when, .outcome = TRACE_REPLAY_SKIPPED};
    fill_in(&sample, &state->pools[i]);
    trace_timeline_add(&pool->timeline, &sample);
    if (pool->peak_active_bytes < sample.active_bytes)
      pool->peak_active_bytes = sample.active_bytes;
    if (pool->peak_managed_bytes < trace_sample_managed_bytes(&sample))
      pool->peak_managed_bytes = trace_sample_managed_bytes(&sample);
  }
}

static clp_status observe_step(const trace_replay_step *step, void *user_data)
{
  surveying *state = user_data;
  trace_sample *sample = &state->sample;
  sample->when.row++;
  sample->when.nanoseconds = trace_elapsed_next(&state->clock, step->event->nanoseconds);
  sample->outcome = step->outcome;
  sample->bytes = step->bytes;
  sample->device_bytes = step->device_bytes;
  clp_status status = state->bins_status ? state->bins_status : note_pool(state->survey, step);
  if (!status)
    status = follow(state, step);
  if (status)
    return status;
  note_pools(state);
  fill_in(sample, &state->all);
  note_peaks(state->survey, sample);
  trace_timeline_add(&state->survey->timeline, sample);
  if (state->listener)
    state->listener->on_sample(sample, state->listener->user_data);
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

clp_status trace_survey_take(trace_survey *survey, trace_reader *reader, clp_allocator *allocator,
                             const trace_replay_options *options,
                             const trace_survey_listener *listener)
{
  *survey = (trace_survey){0};
  surveying state = {
      .survey = survey, .listener = listener, .is_on_arena = options->on_arena && options->pooled};
  trace_replay_observer observer = {observe_step, observe_block, &state};
  trace_replay_options observed = *options;
  observed.observer = &observer;
  clp_status status = trace_replay(reader, allocator, &observed, &survey->result);
  if (!status)
    end_live(&state);
  free(state.blocks);
  return status;
}

void trace_survey_end(trace_survey *survey)
{
  trace_bin_census_end(&survey->bins);
  for (size_t i = 0; i < survey->pool_count; i++) {
    free(survey->pools[i]->name);
    free(survey->pools[i]);
  }
  survey->pool_count = 0;
}
