/* SPDX-License-Identifier: MIT */
/* A replay looked at from all sides: its figures, their course, in all and by pool, the bins at the
 * peak, the largest allocations. */
#ifndef CLPOOL_TRACE_SURVEY_H
#define CLPOOL_TRACE_SURVEY_H

#include "trace/bin_census.h"
#include "trace/largest.h"
#include "trace/replay.h"
#include "trace/stacks.h"
#include "trace/timeline.h"

#include <clpool/allocator.h>
#include <clpool/status.h>
#include <stdbool.h>

/* The pool when a figure was highest for the first time. */
typedef struct trace_peak {
  trace_moment when;
  size_t active_bytes, padding_bytes, held_bytes;
} trace_peak;

static inline size_t trace_peak_managed_bytes(const trace_peak *peak)
{
  return peak->active_bytes + peak->padding_bytes + peak->held_bytes;
}

/* One of several pools. */
typedef struct trace_surveyed_pool {
  char *name;       /* NULL: the trace has no names */
  uint64_t context; /* as the trace has it */
  trace_kind kind;
  size_t active_bytes, managed_bytes; /* at the end */
  size_t peak_active_bytes, peak_managed_bytes;
} trace_surveyed_pool;

/* What one kind of memory comes to. */
typedef struct trace_surveyed_kind {
  uint64_t allocations;        /* that succeeded */
  size_t active_bytes;         /* at the end */
  size_t peak_active_bytes;    /* of this kind alone */
  size_t active_bytes_at_peak; /* when active bytes of all kinds were highest for the first time */
} trace_surveyed_kind;

/* So many are looked at one by one. */
enum { TRACE_SURVEYED_POOLS = 16 };

typedef struct trace_survey {
  trace_replay_result result; /* its time per operation means nothing */
  trace_peak active_peak;     /* of active bytes */
  trace_peak managed_peak;    /* of managed bytes; the census is of this moment */
  trace_timeline timeline;
  trace_bin_census bins;
  trace_largest largest;
  trace_surveyed_kind kinds[TRACE_KINDS];
  trace_stacks *stacks;                            /* resolved; NULL: the trace has none */
  trace_surveyed_pool pools[TRACE_SURVEYED_POOLS]; /* the first, in the order of the trace */
  size_t pool_count;
} trace_survey;

/* Whether the trace has kinds. */
static inline bool trace_survey_has_kinds(const trace_survey *survey)
{
  return survey->kinds[TRACE_NO_KIND].allocations < survey->result.allocations;
}

/* Replays `reader`'s trace from where it stands to its end, through a pool or not as the options
 * tell, whose observer is not used. Host memory is that of a replay and of the bins. What fails is
 * what trace_replay fails with. In any case, `*survey` is for trace_survey_end. */
clp_status trace_survey_take(trace_survey *survey, trace_reader *reader, clp_allocator *allocator,
                             const trace_replay_options *options);

void trace_survey_end(trace_survey *survey);

#endif
