/* SPDX-License-Identifier: MIT */
/* Tuning: a setting's replays, what they cost, and the rule of choice. */
#include "trace/tune.h"

#include "trace/layer_pools.h"
#include "trace/player.h"

#include <math.h>
#include <sys/param.h>

const trace_tune_setting trace_tune_settings[TRACE_TUNE_SETTINGS + TRACE_TUNE_RUNS] = {
    {.leading_bits = 0},
    {.leading_bits = 4},
    {.leading_bits = 4, .on_arena = true, .slack = 0},
    {.leading_bits = 4, .on_arena = true, .slack = 0.016},
    {.leading_bits = 8, .on_arena = true, .slack = 0.016},
    {.leading_bits = 4, .on_arena = true, .slack = 0.06},
    {.leading_bits = 4, .on_arena = true, .slack = 0.15},
    {.leading_bits = 0, .on_arena = true, .slack = 0.35},
    {.leading_bits = 4, .on_arena = true, .slack = 0.35},
    {.leading_bits = 2, .on_arena = true, .slack = 0.5},
    {.in_layer = true, .leading_bits = 0},
    {.in_layer = true, .leading_bits = 1},
    {.in_layer = true, .leading_bits = 2},
    {.in_layer = true, .leading_bits = 4},
    {.in_layer = true, .leading_bits = 8},
};

/* A pool's and an arena's work and a sub-buffer take as long for any size. */
static const size_t any_bytes = 65536;

/* A setting as it is tried. */
typedef struct trial {
  const trace_cost_table *costs;
  trace_replay_options options;
  clp_allocator *device;
  trace_player player;
  trace_layer_pools layer; /* {0}: none */
  size_t units;            /* of the player's sizes, in a byte */
  double device_ns;        /* that blocks took, in this pass */
} trial;

bool trace_tune_has_parts(const trace_cost_table *costs)
{
  return trace_cost_at(costs, TRACE_COST_SUB_BUFFER, any_bytes) > 0;
}

/* A new block is written to for the first time. */
static void count_block(size_t bytes, bool is_taken, void *user_data)
{
  trial *tried = user_data;
  bytes /= tried->units;
  if (!is_taken) {
    tried->device_ns += trace_cost_at(tried->costs, TRACE_COST_FREE, bytes);
    return;
  }
  double fresh = trace_cost_at(tried->costs, TRACE_COST_FILL_FRESH, bytes);
  double reused = trace_cost_at(tried->costs, TRACE_COST_FILL_REUSED, bytes);
  tried->device_ns += trace_cost_at(tried->costs, TRACE_COST_ALLOCATE, bytes);
  tried->device_ns += fmax(fresh - reused, 0.0);
}

static clp_status open_trial(trial *tried, const trace_tune_setting *setting,
                             const trace_batch_source *source, const char *name,
                             const trace_tune_options *options)
{
  trace_replay_options *replay = &tried->options;
  *tried = (trial){.costs = options->costs,
                   .options = TRACE_REPLAY_OPTIONS_INIT,
                   .units = setting->in_layer ? TRACE_LAYER_UNITS : 1};
  replay->pool_options.leading_bits_in_bin_id =
      setting->in_layer ? TRACE_LAYER_BITS : setting->leading_bits;
  replay->on_arena = setting->on_arena;
  replay->arena_options.slack = setting->slack;
  replay->has_limit = true;
  replay->limit_bytes = MIN(options->limit_bytes, SIZE_MAX / tried->units) * tried->units;
  clp_status status =
      trace_model_device_create(trace_tune_has_parts(options->costs), 0, &tried->device);
  if (!status)
    status = trace_player_open(&tried->player, name, tried->device, replay);
  if (status)
    return status;
  trace_meter_of(tried->player.metering)->on_block = count_block;
  trace_meter_of(tried->player.metering)->user_data = tried;
  if (!setting->in_layer)
    return trace_player_reserve(&tried->player, source->live.capacity, source->contexts);
  return trace_layer_pools_begin(&tried->layer, &tried->player, setting->leading_bits,
                                 source->live.capacity, source->owners);
}

static void close_trial(trial *tried)
{
  if (tried->player.metering)
    trace_meter_of(tried->player.metering)->on_block = NULL;
  trace_layer_pools_end(&tried->layer);
  trace_player_close(&tried->player);
  clp_allocator_release(tried->device);
}

/* --- passes --- */

static clp_status run_all(trial *tried, trace_batch_source *source)
{
  const trace_batch *batch = source->batch;
  clp_status status;
  do {
    status = trace_batch_read(source, TRACE_BATCH_ROWS);
    if (!status)
      status = tried->layer.contexts
                   ? trace_layer_pools_run(&tried->layer, batch->operations, batch->count)
                   : trace_player_run(&tried->player, batch->operations, batch->count);
  } while (!status && !batch->at_end);
  return status;
}

/* What was counted in a pass, times what each costs. */
static clp_status play(trial *tried, trace_batch_source *source, trace_tune_outcome *outcome,
                       int pass)
{
  const trace_play_tally before = tried->player.tally, *after = &tried->player.tally;
  const uint64_t parts_before = trace_meter_of(tried->player.metering)->parts;
  tried->device_ns = 0.0;
  clp_status status = run_all(tried, source);
  const uint64_t parts = trace_meter_of(tried->player.metering)->parts - parts_before;
  const uint64_t allocations = after->allocations - before.allocations;
  const double carves = (double)(outcome->setting.any_bits ? allocations : parts);
  outcome->pass_ns[pass] +=
      tried->device_ns +
      (double)allocations * trace_cost_at(tried->costs, TRACE_COST_POOL_PAIR, any_bytes) +
      carves * trace_cost_at(tried->costs, TRACE_COST_ARENA_PAIR, any_bytes) +
      (double)parts * trace_cost_at(tried->costs, TRACE_COST_SUB_BUFFER, any_bytes);
  outcome->pass_operations[pass] +=
      (double)(trace_play_operations(after) - trace_play_operations(&before));
  return status;
}

/* --- outcomes --- */

static double per_operation(const trace_tune_outcome *outcome, int pass)
{
  return outcome->pass_operations[pass] > 0
             ? outcome->pass_ns[pass] / outcome->pass_operations[pass]
             : 0.0;
}

/* Of the trace where more is taken. */
static void add_bytes(trace_tune_outcome *outcome, const trace_replay_result *result,
                      const trace_batch_source *source, const char *name)
{
  trace_replay_result *all = &outcome->result;
  if (outcome->worst && result->peak_device_bytes <= all->peak_device_bytes)
    return;
  outcome->worst = name;
  all->peak_active_bytes = source->peak_active_bytes;
  all->peak_managed_bytes = result->peak_managed_bytes;
  all->peak_device_bytes = result->peak_device_bytes;
  all->footprint = source->peak_active_bytes > 0
                       ? (double)result->peak_device_bytes / (double)source->peak_active_bytes
                       : 0.0;
}

static void add(trace_tune_outcome *outcome, const trace_replay_result *result, const char *name)
{
  trace_replay_result *all = &outcome->result;
  all->pools = MAX(all->pools, result->pools);
  all->allocations += result->allocations;
  all->frees += result->frees;
  all->hits += result->hits;
  all->misses += result->misses;
  all->device_allocations += result->device_allocations;
  all->device_frees += result->device_frees;
  if (all->failures == 0 && result->failures > 0) {
    all->first_failure = result->first_failure;
    outcome->refused = name;
  }
  all->failures += result->failures;
  all->limit_bytes = result->limit_bytes;
  outcome->first_ns = per_operation(outcome, 0);
  all->ns_per_operation = per_operation(outcome, 1);
}

clp_status trace_tune_add(trace_tune_outcome *outcome, trace_batch_source *source, const char *name,
                          const trace_tune_options *options)
{
  trial tried;
  trace_replay_result result;
  clp_status status = open_trial(&tried, &outcome->setting, source, name, options);
  for (int pass = 0; pass < 2 && !status; pass++) {
    trace_player_release_live(&tried.player);
    trace_layer_pools_forget_live(&tried.layer);
    status = play(&tried, source, outcome, pass);
  }
  if (!status) {
    trace_player_read(&tried.player, &result);
    result.peak_managed_bytes /= tried.units;
    result.peak_device_bytes /= tried.units;
    add(outcome, &result, name);
    add_bytes(outcome, &result, source, name);
    outcome->result.recorded_failures += source->recorded_failures;
  }
  close_trial(&tried);
  return status;
}

/* --- the rule --- */

static int compare(double left, double right)
{
  return (left > right) - (left < right);
}

static int compare_memory(const trace_tune_outcome *left, const trace_tune_outcome *right)
{
  return compare((double)left->result.peak_device_bytes, (double)right->result.peak_device_bytes);
}

/* Below 0: `left` comes first. */
static int compare_ties(const trace_tune_outcome *left, const trace_tune_outcome *right)
{
  const trace_tune_setting *one = &left->setting, *other = &right->setting;
  const int orders[] = {
      compare((double)left->result.device_allocations, (double)right->result.device_allocations),
      (int)one->on_arena - (int)other->on_arena, (int)one->leading_bits - (int)other->leading_bits,
      compare(one->slack, other->slack)};
  size_t i = 0;
  while (i < 3 && !orders[i])
    i++;
  return orders[i];
}

const trace_tune_outcome *trace_tune_recommend(const trace_tune_outcome *outcomes, size_t count,
                                               double most_ns)
{
  const trace_tune_outcome *best = NULL, *end = outcomes + count;
  double quickest = HUGE_VAL;
  for (const trace_tune_outcome *it = outcomes; it < end; it++)
    if (!it->result.failures)
      quickest = fmin(quickest, it->result.ns_per_operation);
  for (const trace_tune_outcome *it = outcomes; it < end; it++) {
    if (it->result.failures || it->result.ns_per_operation > quickest + most_ns)
      continue;
    int order = best ? compare_memory(it, best) : -1;
    if (order < 0 || (order == 0 && compare_ties(it, best) < 0))
      best = it;
  }
  return best;
}

/* Those that refuse something beat none. */
static bool beats(const trace_tune_outcome *one, const trace_tune_outcome *other)
{
  int memory = compare_memory(one, other);
  int time = compare(one->result.ns_per_operation, other->result.ns_per_operation);
  if (one->result.failures || memory > 0 || time > 0)
    return false;
  return memory < 0 || time < 0 || compare_ties(one, other) < 0;
}

bool trace_tune_is_beaten(const trace_tune_outcome *outcomes, size_t count, size_t index)
{
  for (size_t i = 0; i < count; i++)
    if (i != index && beats(&outcomes[i], &outcomes[index]))
      return true;
  return outcomes[index].result.failures > 0;
}
