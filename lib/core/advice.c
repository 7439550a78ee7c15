/* SPDX-License-Identifier: MIT */
/* Advice on a pool's settings: the choice among forecasts, and its reason. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/forecast.h"
#include "core/options.h"
#include "core/stats.h"
#include "core/thread_cache.h"

#include <clpool/advice.h>
#include <stdio.h>

enum { FEWEST_ALLOCATIONS = 1000 };

/* In warm pairs: a call of the device for memory, and a block carved from an arena. A device's
 * call takes 1 to 40 us and more where it is real, a carved block 0.2 to 1 us, a pair 12 ns. */
#define CALL_COST  1000.0
#define CARVE_COST 25.0

/* Settings whose scores are within that of the best are as good. */
#define TOLERANCE 1.03

/* An arena's footprint is less sure than that of bins, and its time another. */
#define CHANGE_OF_KIND 1.05

/* For TIME: misses that are as good as none, of all allocations. */
#define FEW_MISSES 0.0005

static double estimate_time(const clpi_outlook *outlook, double allocations)
{
  double carved = outlook->on_arena ? outlook->misses : 0;
  return allocations + CALL_COST * outlook->calls + CARVE_COST * carved;
}

/* Less is better. */
static double score(const clpi_forecast *forecast, const clpi_outlook *outlook,
                    clp_objective objective)
{
  double allocations = (double)forecast->allocations;
  switch (objective) {
  case CLP_OBJECTIVE_TIME:
    return outlook->misses + FEW_MISSES * allocations;
  case CLP_OBJECTIVE_MEMORY:
    return outlook->footprint;
  default:
    return outlook->footprint * estimate_time(outlook, allocations);
  }
}

/* What decides between settings that are as good. */
static double second_score(const clpi_outlook *outlook, clp_objective objective)
{
  return objective == CLP_OBJECTIVE_TIME ? outlook->footprint : outlook->misses;
}

typedef struct choice {
  const clpi_forecast *forecast;
  clp_objective objective;
  const clpi_outlook *options[2 * CLPI_SETTINGS];
  size_t count;
} choice;

static double score_of(const choice *among, const clpi_outlook *outlook)
{
  double penalty = outlook->on_arena == among->forecast->now.on_arena ? 1 : CHANGE_OF_KIND;
  return penalty * score(among->forecast, outlook, among->objective);
}

static const clpi_outlook *choose(const choice *among)
{
  const clpi_outlook *best = &among->forecast->now;
  double least = score_of(among, best);
  for (size_t i = 0; i < among->count; i++)
    least = score_of(among, among->options[i]) < least ? score_of(among, among->options[i]) : least;
  if (score_of(among, best) <= TOLERANCE * least)
    return best;
  best = NULL;
  for (size_t i = 0; i < among->count; i++) {
    const clpi_outlook *option = among->options[i];
    if (score_of(among, option) <= TOLERANCE * least &&
        (!best || second_score(option, among->objective) < second_score(best, among->objective)))
      best = option;
  }
  return best;
}

/* Whether it is what the pool has, of which the figures are known. */
static bool is_now(const clpi_forecast *forecast, const clpi_outlook *outlook)
{
  return outlook->leading_bits == forecast->now.leading_bits &&
         outlook->on_arena == forecast->now.on_arena;
}

static void add_option(choice *among, const clpi_outlook *outlook)
{
  if (!is_now(among->forecast, outlook))
    among->options[among->count++] = outlook;
}

static const clpi_outlook *choose_among(const clpi_forecast *forecast, bool arena_possible,
                                        clp_objective objective)
{
  choice among = {.forecast = forecast, .objective = objective};
  for (size_t i = 0; i < CLPI_SETTINGS; i++) {
    add_option(&among, &forecast->plain[i]);
    if (arena_possible && objective != CLP_OBJECTIVE_TIME)
      add_option(&among, &forecast->arena[i]);
  }
  return choose(&among);
}

static double hit_rate(const clpi_forecast *forecast, const clpi_outlook *outlook)
{
  return 1 - outlook->misses / (double)forecast->allocations;
}

/* --- the reason --- */

static const char *aim(clp_objective objective)
{
  return objective == CLP_OBJECTIVE_TIME     ? "the most hits"
         : objective == CLP_OBJECTIVE_MEMORY ? "the least memory"
                                             : "the least product of time and memory";
}

static void write_reason(clp_pool_advice *advice, const clpi_forecast *forecast,
                         const clpi_outlook *chosen)
{
  const clpi_outlook *now = &forecast->now;
  unsigned long long allocations = forecast->allocations;
  if (chosen == now) {
    snprintf(advice->reason, sizeof(advice->reason),
             "leading_bits_in_bin_id %u%s, as it is, gives %s or close to it: of %llu allocations "
             "%.2f %% were hits, and the peak taken was %.2f times the peak in use",
             now->leading_bits, now->on_arena ? " on an arena" : "", aim(advice->objective),
             allocations, 100 * advice->hit_rate_now, advice->footprint_now);
    return;
  }
  snprintf(
      advice->reason, sizeof(advice->reason),
      "leading_bits_in_bin_id %u%s is expected to give %s: after %llu allocations, %.2f %% hits "
      "and %.2f times the peak in use taken, where it is %.2f %% and %.2f times with %u%s",
      chosen->leading_bits, chosen->on_arena ? " on an arena" : "", aim(advice->objective),
      allocations, 100 * advice->hit_rate, advice->footprint, 100 * advice->hit_rate_now,
      advice->footprint_now, now->leading_bits,
      now->on_arena == chosen->on_arena ? ""
      : now->on_arena                   ? " on an arena"
                                        : " on the device");
}

static void write_advice(clp_pool_advice *advice, const clpi_forecast *forecast,
                         const clpi_outlook *chosen)
{
  advice->leading_bits_in_bin_id = chosen->leading_bits;
  advice->on_arena = chosen->on_arena;
  advice->hit_rate = hit_rate(forecast, chosen);
  advice->footprint = chosen->footprint;
  advice->hit_rate_now = hit_rate(forecast, &forecast->now);
  advice->footprint_now = forecast->now.footprint;
  advice->allocations = forecast->allocations;
  write_reason(advice, forecast, chosen);
}

/* --- what the pool knows --- */

/* Why there is no telling; NULL: there is. */
static const char *find_gap_locked(const clp_pool *pool, uint64_t allocations)
{
  if (!pool->holding)
    return "but stopped holding, so that none is a hit at any setting";
  if (allocations < FEWEST_ALLOCATIONS)
    return "and advice rests on 1000 at least";
  if (!(pool->sizes.peak_requested > 0))
    return "but no look told which sizes were in use";
  if (!(pool->sizes.requests > 0))
    return "but no look told which sizes were asked for";
  return NULL;
}

static clp_status make_forecast(const clp_pool *pool, clpi_forecast *forecast)
{
  clpi_taken taken = clpi_forecast_read_taken(pool);
  clp_pool *locked = clpi_lock_all(pool);
  clpi_size_histogram_look_locked(locked, clpi_cache_find(locked));
  clp_pool_stats stats = clpi_sum_up_locked(locked);
  uint64_t allocations = stats.allocations - locked->empty.hits;
  const char *gap = find_gap_locked(locked, allocations);
  if (!gap)
    clpi_forecast_make_locked(locked, &stats, &taken, forecast);
  clpi_unlock_all(locked);
  if (gap)
    return clpi_error(CLP_NOT_FOUND, 0, "no advice: the pool has seen %llu allocations, %s",
                      (unsigned long long)allocations, gap);
  return CLP_SUCCESS;
}

static clp_status read_objective(const clp_pool_advice *advice, clp_objective *objective)
{
  size_t least =
      offsetof(clp_pool_advice, leading_bits_in_bin_id) + sizeof(advice->leading_bits_in_bin_id);
  if (advice->struct_size < least)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_pool_advice: struct_size is %zu, less than the %zu that it must be at "
                      "least",
                      advice->struct_size, least);
  *objective = advice->objective;
  if ((unsigned)*objective > CLP_OBJECTIVE_MEMORY)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_advise: objective %u is unknown",
                      (unsigned)*objective);
  return CLP_SUCCESS;
}

clp_status clp_pool_advise(const clp_pool *pool, clp_pool_advice *advice)
{
  if (!pool || !advice)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_advise: pool or advice is NULL");
  clp_pool_advice result = CLP_POOL_ADVICE_INIT;
  clp_status status = read_objective(advice, &result.objective);
  if (status)
    return status;
  clpi_forecast forecast;
  status = make_forecast(pool, &forecast);
  if (status)
    return status;
  bool arena_possible = forecast.now.on_arena || clpi_allocator_splits(pool->allocator);
  write_advice(&result, &forecast, choose_among(&forecast, arena_possible, result.objective));
  return clpi_results_write(advice, sizeof(advice->struct_size), &result, sizeof(result),
                            "clp_pool_advice");
}
