/* SPDX-License-Identifier: MIT */
/* The observer of a replay: keeps the pool's figures up to date, row by row, without asking it. */
#include "trace/survey.h"

#include "trace/error.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* What stands in a slot; of no bytes and no block where nothing does. */
typedef struct surveyed_block {
  bool is_live;
  trace_large_kind kind;
  size_t block_bytes;
  size_t pool;
  trace_moment since;
} surveyed_block;

typedef struct surveying {
  trace_survey *survey;
  uint64_t time_of_day;   /* nanoseconds, the latest so far */
  surveyed_block *blocks; /* by slot */
  size_t block_count;
  size_t block_bytes; /* of active blocks of all pools */
  trace_span row;     /* the latest */
  bool is_on_arena;   /* pools hold nothing there: what they take are the blocks */
  clp_status status;  /* of the census, which learns of blocks where nothing can fail */
} surveying;

/* Time goes on through midnight, and does not go back: rows have only the time of day. A time up to
 * an hour earlier than the latest (of threads that were overtaken, of a clock that was set) counts
 * as the latest; any other is later. */
static trace_moment next_moment(surveying *state, uint64_t time_of_day)
{
  static const uint64_t hour = UINT64_C(3600) * 1000000000, day = 24 * hour;
  trace_moment moment = state->row.first;
  if (moment.row++ == 0)
    state->time_of_day = time_of_day % day;
  uint64_t later = (time_of_day + day - state->time_of_day) % day;
  if (later < day - hour) {
    moment.nanoseconds += later;
    state->time_of_day = time_of_day % day;
  }
  return moment;
}

/* Pools that are not looked at by themselves share the last one. */
static trace_share *share_of_pool(surveying *state, size_t pool)
{
  return &state->survey->shares[TRACE_KINDS + MIN(pool, TRACE_SURVEYED_POOLS)];
}

static void count_in_bin(surveying *state, size_t block_bytes, trace_bin_count change)
{
  if (!state->status && block_bytes > 0)
    state->status = trace_bin_census_add(&state->survey->bins, block_bytes, change);
}

/* A pool takes a block, or gives it back: `by` is 1 or -1, which wraps, and so do sums. */
static void count_block(surveying *state, size_t pool, size_t bytes, size_t by)
{
  count_in_bin(state, bytes, (trace_bin_count){.blocks = by});
  state->row.managed_bytes += by * bytes;
  share_of_pool(state, pool)->managed_bytes += by * bytes;
}

/* On an arena, these are segments. */
static void observe_block(size_t pool, size_t bytes, bool is_taken, void *user_data)
{
  surveying *state = user_data;
  if (!state->is_on_arena)
    count_block(state, pool, bytes, is_taken ? 1 : (size_t)-1);
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

/* A block is in use from now on, or no more: `by` is 1 or -1. */
static void change_use(surveying *state, const surveyed_block *block, size_t by)
{
  trace_survey *survey = state->survey;
  size_t bytes = by * block->kind.bytes;
  state->row.active_bytes += bytes;
  state->block_bytes += by * block->block_bytes;
  survey->shares[block->kind.memory].active_bytes += bytes;
  share_of_pool(state, block->pool)->active_bytes += bytes;
  if (state->is_on_arena)
    count_block(state, block->pool, block->block_bytes, by);
  count_in_bin(state, block->block_bytes,
               (trace_bin_count){.active_blocks = by,
                                 .active_bytes = bytes,
                                 .hits = state->row.hits,
                                 .misses = state->row.misses});
  trace_stacks_use(&survey->stacks, block->kind.stack, block->kind.bytes, by == 1);
}

static clp_status begin_block(surveying *state, const trace_replay_step *step)
{
  surveyed_block *blocks = trace_grow(state->blocks, &state->block_count, step->slot + 1,
                                      sizeof(*blocks), "live blocks");
  if (!blocks)
    return CLP_OUT_OF_HOST_MEMORY;
  surveyed_block *block = &blocks[step->slot];
  state->blocks = blocks;
  *block = (surveyed_block){
      .is_live = true,
      .kind = {step->bytes, step->event->thread, step->event->stream, step->event->kind,
               step->event->stack},
      .block_bytes = step->block_bytes,
      .pool = step->pool,
      .since = state->row.first,
  };
  change_use(state, block, 1);
  trace_largest_add(&state->survey->largest, &block->kind, block->block_bytes, block->since);
  state->survey->shares[block->kind.memory].allocations++;
  return state->status;
}

static void end_block(surveying *state, surveyed_block *block, bool is_freed)
{
  if (block->is_live)
    trace_largest_end(&state->survey->largest, &block->kind, block->since, state->row.first,
                      is_freed);
  if (is_freed)
    change_use(state, block, (size_t)-1);
  block->is_live = false;
}

static void note_peaks(trace_survey *survey, const trace_span *row)
{
  bool is_peak = row->active_bytes > survey->active_peak.active_bytes;
  if (is_peak)
    survey->active_peak = *row;
  if (row->managed_bytes > survey->managed_peak.managed_bytes) {
    survey->managed_peak = *row;
    survey->bins.peaks++;
  }
  for (size_t i = 0; i < TRACE_KINDS + survey->pool_count; i++) {
    trace_share *share = &survey->shares[i];
    share->peak_active_bytes = MAX(share->peak_active_bytes, share->active_bytes);
    share->peak_managed_bytes = MAX(share->peak_managed_bytes, share->managed_bytes);
    share->active_bytes_at_peak = is_peak ? share->active_bytes : share->active_bytes_at_peak;
  }
}

static clp_status observe_step(const trace_replay_step *step, void *user_data)
{
  surveying *state = user_data;
  trace_span *row = &state->row;
  row->first = row->last = next_moment(state, step->event->nanoseconds);
  row->device_bytes = step->device_bytes;
  row->hits = step->outcome == TRACE_REPLAY_HIT;
  row->misses = step->outcome == TRACE_REPLAY_MISS;
  row->refused = step->outcome == TRACE_REPLAY_REFUSED;
  clp_status status = state->status ? state->status : note_pool(state->survey, step);
  if (!status && row->hits + row->misses > 0)
    status = begin_block(state, step);
  if (!status && step->outcome == TRACE_REPLAY_FREED)
    end_block(state, &state->blocks[step->slot], true);
  if (status)
    return status;
  row->least_active_bytes = row->active_bytes;
  row->held_bytes = row->managed_bytes - state->block_bytes;
  note_peaks(state->survey, row);
  trace_timeline_add(&state->survey->timeline, row);
  return CLP_SUCCESS;
}

clp_status trace_survey_take(trace_survey *survey, trace_reader *reader, clp_allocator *allocator,
                             const trace_replay_options *options)
{
  memset(survey, 0, sizeof(*survey)); /* too large for the stack */
  surveying state = {.survey = survey, .is_on_arena = options->on_arena && options->pooled};
  trace_replay_observer observer = {observe_step, observe_block, &state};
  trace_replay_options observed = *options;
  observed.observer = &observer;
  clp_status status = trace_stacks_begin(&survey->stacks);
  if (status)
    return status;
  reader->stacks = &survey->stacks;
  status = trace_replay(reader, allocator, &observed, &survey->result);
  reader->stacks = NULL;
  for (size_t i = 0; i < state.block_count && !status; i++)
    end_block(&state, &state.blocks[i], false);
  free(state.blocks);
  if (!status && trace_stacks_count(&survey->stacks) > 1)
    status = trace_stacks_resolve(&survey->stacks);
  return status;
}

void trace_survey_end(trace_survey *survey)
{
  free(survey->bins.bins);
  survey->bins = (trace_bin_census){0};
  trace_stacks_end(&survey->stacks);
  for (size_t i = 0; i < survey->pool_count; i++)
    free(survey->pools[i].name);
  survey->pool_count = 0;
}
