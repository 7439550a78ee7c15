/* SPDX-License-Identifier: MIT */
/* Tries settings of a pool on traces, and recommends one. It uses no clock: it counts each
 * setting's calls of the device, and a table of costs says how long they take. So the same traces
 * and costs give the same figures everywhere.
 *
 * Each setting replays a trace twice in the same pools, on an unbounded simulated device. The first
 * pass warms the pools up; the second shows what a program that goes on takes. */
#ifndef CLPOOL_TRACE_TUNE_H
#define CLPOOL_TRACE_TUNE_H

#include "trace/batch.h"
#include "trace/costs.h"
#include "trace/replay.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct trace_tune_setting {
  unsigned leading_bits;
  bool on_arena;
  double slack;  /* of the arena */
  bool any_bits; /* leading bits do not matter */
  bool in_layer; /* the pools of `clpool run` */
} trace_tune_setting;

enum { TRACE_TUNE_SETTINGS = 10, TRACE_TUNE_RUNS = 5 };

/* The settings to try: without an arena, then by slack (bench/tune_study.c); and those of
 * `clpool run`. */
extern const trace_tune_setting trace_tune_settings[TRACE_TUNE_SETTINGS + TRACE_TUNE_RUNS];

/* The result of a setting, on one trace or several. */
typedef struct trace_tune_outcome {
  trace_tune_setting setting;
  /* Counts of both passes of all traces; bytes of the trace that takes most; the time of an
   * operation in the second pass. */
  trace_replay_result result;
  const char *worst;                     /* the trace that takes most; NULL before the first */
  const char *refused;                   /* the trace of the first failure; NULL: none */
  double first_ns;                       /* the time of an operation in the first pass */
  double pass_ns[2], pass_operations[2]; /* of all traces */
} trace_tune_outcome;

typedef struct trace_tune_options {
  const trace_cost_table *costs;
  size_t limit_bytes; /* of each pool; 0: none */
} trace_tune_options;

/* Whether the driver makes an arena's blocks, such as sub-buffers, which takes time. Otherwise
 * leading bits do not matter on an arena. */
bool trace_tune_has_parts(const trace_cost_table *costs);

/* Tries the outcome's setting on a trace, which is called `name`, and adds the result. Statuses as
 * of trace_replay. */
clp_status trace_tune_add(trace_tune_outcome *outcome, trace_batch_source *source, const char *name,
                          const trace_tune_options *options);

/* Returns the outcome with the least memory, of those whose operations take at most `most_ns`
 * longer than the fastest. Ties go to fewer calls of the device, then to no arena, then to fewer
 * bits, then to less slack. Outcomes with refused allocations do not count. NULL: there is none. */
const trace_tune_outcome *trace_tune_recommend(const trace_tune_outcome *outcomes, size_t count,
                                               double most_ns);

/* Whether another outcome is at least as good in memory and time, and better in one of them; or
 * equal in both, and before it in the order of ties. */
bool trace_tune_is_beaten(const trace_tune_outcome *outcomes, size_t count, size_t index);

#endif
