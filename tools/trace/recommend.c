/* SPDX-License-Identifier: MIT */
/* Recommending: an order of outcomes, the first of which is the best. */
#include "trace/recommend.h"

const char *trace_objective_name(trace_objective objective)
{
  static const char *const names[TRACE_OBJECTIVES] = {"balanced", "time", "memory"};
  return names[objective];
}

static double time_of(const trace_tune_outcome *outcome)
{
  return outcome->result.ns_per_operation;
}

static double memory_of(const trace_tune_outcome *outcome)
{
  return (double)outcome->result.peak_device_bytes;
}

double trace_objective_value(trace_objective objective, const trace_tune_outcome *outcome)
{
  switch (objective) {
  case TRACE_OBJECTIVE_TIME:
    return time_of(outcome);
  case TRACE_OBJECTIVE_MEMORY:
    return memory_of(outcome);
  default:
    return time_of(outcome) * memory_of(outcome);
  }
}

/* --- what is as good --- */

/* How far the time that the processor took may be off, as a part of it: what else the machine does
 * adds to it. The rest of an estimate is counted. */
static const double most_off = 0.1;

static double measured_part(const trace_tune_outcome *outcome)
{
  double all = trace_tune_time_sum(&outcome->time);
  return all > 0.0 ? outcome->time.host / all : 0.0;
}

/* The objective's value if the measured time were another one by that part. */
static double value_off_by(trace_objective objective, const trace_tune_outcome *outcome,
                           double part)
{
  trace_tune_outcome other = *outcome;
  other.result.ns_per_operation *= 1.0 + part * measured_part(outcome);
  return trace_objective_value(objective, &other);
}

static bool may_be_equal(trace_objective objective, const trace_tune_outcome *left,
                         const trace_tune_outcome *right)
{
  return value_off_by(objective, left, -most_off) <= value_off_by(objective, right, most_off) &&
         value_off_by(objective, right, -most_off) <= value_off_by(objective, left, most_off);
}

static bool is_as_good(trace_objective objective, const trace_tune_outcome *outcome,
                       const trace_tune_outcome *best)
{
  return !outcome->result.failures && may_be_equal(objective, outcome, best) &&
         (objective != TRACE_OBJECTIVE_MEMORY || may_be_equal(TRACE_OBJECTIVE_TIME, outcome, best));
}

/* --- the best --- */

static int compare(double left, double right)
{
  return (left > right) - (left < right);
}

/* Below 0: `left` is better. */
static int compare_values(trace_objective objective, const trace_tune_outcome *left,
                          const trace_tune_outcome *right)
{
  int order =
      compare(trace_objective_value(objective, left), trace_objective_value(objective, right));
  return order ? order : compare(time_of(left), time_of(right));
}

/* Without what was measured, which by rounding would still tell in a difference. */
static double counted_time(const trace_tune_outcome *outcome)
{
  const trace_tune_time *time = &outcome->time;
  return time->sub_buffers + time->device + time->first_use;
}

/* The same of those that are as good, by what is no other the next time. */
static int compare_counted(const trace_tune_outcome *left, const trace_tune_outcome *right)
{
  int order = compare(memory_of(left), memory_of(right));
  if (!order)
    order = compare(counted_time(left), counted_time(right));
  if (!order)
    order = (int)left->setting.on_arena - (int)right->setting.on_arena;
  return order ? order : (int)left->setting.leading_bits - (int)right->setting.leading_bits;
}

/* By its value alone; `count`: there is none. */
static size_t find_least(trace_objective objective, const trace_tune_outcome *outcomes,
                         size_t count)
{
  size_t least = count;
  for (size_t i = 0; i < count; i++)
    if (!outcomes[i].result.failures &&
        (least == count || compare_values(objective, &outcomes[i], &outcomes[least]) < 0))
      least = i;
  return least;
}

size_t trace_recommend(trace_objective objective, const trace_tune_outcome *outcomes, size_t count,
                       bool *as_good)
{
  size_t least = find_least(objective, outcomes, count), best = count;
  for (size_t i = 0; i < count; i++) {
    bool ties = least < count && is_as_good(objective, &outcomes[i], &outcomes[least]);
    if (ties && (best == count || compare_counted(&outcomes[i], &outcomes[best]) < 0))
      best = i;
    if (as_good)
      as_good[i] = ties;
  }
  return best;
}
