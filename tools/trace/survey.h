/* SPDX-License-Identifier: MIT */
/* A replay with all its figures: over time, in all and by pool; the bins at the peak; the largest
 * allocations. */
#ifndef CLPOOL_TRACE_SURVEY_H
#define CLPOOL_TRACE_SURVEY_H

#include "trace/bin_census.h"
#include "trace/largest.h"
#include "trace/replay.h"
#include "trace/stacks.h"
#include "trace/timeline.h"

/* The share of one of several pools, or of one kind of memory. */
typedef struct trace_share {
  uint64_t allocations;                         /* that succeeded */
  size_t active_bytes, managed_bytes;           /* at the end; managed bytes only of pools */
  size_t peak_active_bytes, peak_managed_bytes; /* of only this share */
  size_t active_bytes_at_peak;                  /* at the first peak of all active bytes */
} trace_share;

typedef struct trace_surveyed_pool {
  char *name;       /* NULL: the trace has no names */
  uint64_t context; /* its number in the trace */
  trace_kind kind;
} trace_surveyed_pool;

/* The most pools with a share of their own. */
enum { TRACE_SURVEYED_POOLS = 16, TRACE_SHARES = TRACE_KINDS + TRACE_SURVEYED_POOLS + 1 };

typedef struct trace_survey {
  trace_replay_result result; /* its time per operation is not valid */
  trace_span active_peak;     /* the first row with the most active bytes */
  trace_span managed_peak;    /* likewise managed bytes; the census is of this row */
  trace_timeline timeline;
  trace_bin_census bins;
  trace_largest largest;
  trace_stacks stacks;                             /* resolved, if the trace has some */
  trace_share shares[TRACE_SHARES];                /* kinds, pools, all other pools */
  trace_surveyed_pool pools[TRACE_SURVEYED_POOLS]; /* the first ones in the trace */
  size_t pool_count;
} trace_survey;

/* Whether the trace has kinds, and stacks. */
static inline bool trace_survey_has_kinds(const trace_survey *survey)
{
  return survey->shares[TRACE_NO_KIND].allocations < survey->result.allocations;
}

static inline bool trace_survey_has_stacks(const trace_survey *survey)
{
  return survey->stacks.is_resolved;
}

/* Replays `reader`'s trace from the current row to its end, with or without a pool by the options,
 * whose observer is not used. Host memory is that of a replay and of the bins. Statuses as of
 * trace_replay. Call trace_survey_end in any case. */
clp_status trace_survey_take(trace_survey *survey, trace_reader *reader, clp_allocator *allocator,
                             const trace_replay_options *options);

void trace_survey_end(trace_survey *survey);

#endif
