/* SPDX-License-Identifier: MIT */
/* Tries settings of a pool on a trace, all at once, and tells what each would come to.
 *
 * The trace is read once a pass, as long as memory suffices. Each setting replays it on a simulated
 * device of its own, so what comes out is what trace_replay gives on such a device. Times are
 * estimates: what the replay took of the processor, and what the real device would take, from a
 * table of its costs. */
#ifndef CLPOOL_TRACE_TUNE_H
#define CLPOOL_TRACE_TUNE_H

#include "trace/costs.h"
#include "trace/reader.h"
#include "trace/replay.h"
#include "trace/tune_estimate.h"

#include <clpool/allocator.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct trace_tune_setting {
  bool pooled;
  unsigned leading_bits; /* of the pool */
  bool on_arena;
  double slack; /* of the arena */
  bool carves;  /* a pool that carves what is asked for, so that leading bits do not matter */
} trace_tune_setting;

typedef struct trace_tune_outcome {
  trace_tune_setting setting;
  trace_replay_result result; /* its ns_per_operation is estimated */
  double hit_rate;            /* 0 to 1; 0 without allocations */
  double padding;       /* bytes of blocks beyond those asked for, over these, of all requests;
                           0 without bytes */
  trace_tune_time time; /* of the last pass */
} trace_tune_outcome;

typedef struct trace_tune_options {
  trace_replay_options replay;   /* what is not a setting: limit, scale, passes, progress, and a
                                   clock, any thread's, for tests */
  const clp_allocator *model;    /* whose device the simulated ones are like */
  size_t capacity;               /* of each of them, bytes; 0: no bound */
  const trace_cost_table *costs; /* of that device; NULL: it costs nothing */
  unsigned threads;              /* that replay; at least 1 */
} trace_tune_options;

/* The trace itself, sizes scaled. */
typedef struct trace_tuned_trace {
  uint64_t allocations, frees; /* of one pass */
  size_t peak_active_bytes;    /* that would be in use if nothing were refused */
} trace_tuned_trace;

/* Tries `count` settings, at least one: what came of each goes to the outcome of the same index,
 * whose setting the caller has filled in. The trace is read from where it stands, and from its
 * beginning for further passes; what it asks for goes to `*trace`. Host memory is constant but for
 * what is live in the trace; where all settings at once take more of it than they may, they are
 * tried in groups, for each of which the trace is read again, if that is possible. Statuses as of
 * trace_replay; then the outcomes mean nothing. */
clp_status trace_tune(trace_reader *reader, const trace_tune_options *options,
                      trace_tune_outcome *outcomes, size_t count, trace_tuned_trace *trace);

#endif
