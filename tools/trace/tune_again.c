/* SPDX-License-Identifier: MIT */
/* A short trace takes milliseconds, and other programs on the machine may well add some. They never
 * take any away, so the least is nearest to the truth. */
#include "trace/tune_again.h"

#include "trace/error.h"

#include <stdlib.h>

enum { ENOUGH_ALLOCATIONS = 1000000, MOST_TRIES = 5 };

/* How much worse than the best a setting may look that may be better. */
static const double most_off = 1.5;

/* What is tried again, and what came of it last: of the outcome with index `of[i]`, `outcomes[i]`.
 */
typedef struct contenders {
  size_t *of;
  trace_tune_outcome *outcomes;
  size_t count;
} contenders;

static void find_contenders(trace_objective objective, const trace_tune_outcome *outcomes,
                            size_t count, contenders *found)
{
  size_t best = trace_recommend(objective, outcomes, count, NULL);
  if (best == count)
    return;
  double most = most_off * trace_objective_value(objective, &outcomes[best]);
  for (size_t i = 0; i < count; i++)
    if (!outcomes[i].result.failures && trace_objective_value(objective, &outcomes[i]) <= most)
      found->of[found->count++] = i;
}

static clp_status try_once(trace_reader *reader, const trace_tune_options *options,
                           const contenders *again, trace_tune_outcome *outcomes)
{
  trace_tuned_trace same;
  for (size_t i = 0; i < again->count; i++)
    again->outcomes[i].setting = outcomes[again->of[i]].setting;
  clp_status status = trace_rewind(reader);
  if (!status)
    status = trace_tune(reader, options, again->outcomes, again->count, &same);
  for (size_t i = 0; i < again->count && !status; i++)
    if (again->outcomes[i].time.host < outcomes[again->of[i]].time.host)
      outcomes[again->of[i]] = again->outcomes[i];
  return status;
}

static clp_status try_all(trace_reader *reader, const trace_tune_options *options,
                          const contenders *again, trace_tune_outcome *outcomes)
{
  clp_status status = CLP_SUCCESS;
  if (again->count < 2)
    return status;
  uint64_t allocations = outcomes[again->of[0]].result.allocations;
  for (unsigned i = 1; i < MOST_TRIES && i * allocations < ENOUGH_ALLOCATIONS && !status; i++)
    status = try_once(reader, options, again, outcomes);
  return status;
}

clp_status trace_tune_again(trace_reader *reader, const trace_tune_options *options,
                            trace_objective objective, trace_tune_outcome *outcomes, size_t count)
{
  contenders again = {.of = calloc(count, sizeof(*again.of)),
                      .outcomes = calloc(count, sizeof(*again.outcomes))};
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  if (!again.of || !again.outcomes) {
    trace_error(status, 0, "no host memory to try %zu settings again", count);
  } else if (!trace_can_rewind(reader)) {
    status = CLP_SUCCESS;
  } else {
    find_contenders(objective, outcomes, count, &again);
    status = try_all(reader, options, &again, outcomes);
  }
  free(again.outcomes);
  free(again.of);
  return status;
}
