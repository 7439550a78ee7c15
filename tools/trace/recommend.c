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

static int compare(double left, double right)
{
  return (left > right) - (left < right);
}

/* Below 0: `left` is better. */
static int compare_outcomes(trace_objective objective, const trace_tune_outcome *left,
                            const trace_tune_outcome *right)
{
  int order =
      compare(trace_objective_value(objective, left), trace_objective_value(objective, right));
  if (!order && objective != TRACE_OBJECTIVE_MEMORY)
    order = compare(memory_of(left), memory_of(right));
  if (!order)
    order = compare(time_of(left), time_of(right));
  if (!order)
    order = (int)left->setting.on_arena - (int)right->setting.on_arena;
  return order ? order : (int)left->setting.leading_bits - (int)right->setting.leading_bits;
}

size_t trace_recommend(trace_objective objective, const trace_tune_outcome *outcomes, size_t count)
{
  size_t best = count;
  for (size_t i = 0; i < count; i++) {
    if (outcomes[i].result.failures > 0)
      continue;
    if (best == count || compare_outcomes(objective, &outcomes[i], &outcomes[best]) < 0)
      best = i;
  }
  return best;
}
