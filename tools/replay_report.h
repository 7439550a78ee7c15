/* SPDX-License-Identifier: MIT */
/* What a replay came to, for people and as JSON. */
#ifndef CLPOOL_TOOLS_REPLAY_REPORT_H
#define CLPOOL_TOOLS_REPLAY_REPORT_H

#include "json.h"
#include "trace/replay.h"

#include <stdbool.h>
#include <stdint.h>

/* What was replayed where. */
typedef struct clpi_replay_subject {
  const char *trace;
  const char *allocator;
  const char *device_name; /* "": none */
  bool is_simulated;
  unsigned leading_bits;
  bool carves; /* the pool carves what is asked for: leading bits do not matter */
  double scale;
  bool on_arena;
  double slack;         /* of the arena, */
  size_t reserve_bytes; /* as this */
  unsigned passes;
  uint64_t peak_reserved_bytes; /* by the driver's memory pool beneath; 0: none, or not known */
} clpi_replay_subject;

/* Each writes to standard output: one replay, with a pool or not, or both of --compare. */
void clpi_report_replay(const clpi_replay_subject *subject, const trace_replay_result *result,
                        bool pooled);
void clpi_report_comparison(const clpi_replay_subject *subject, const trace_replay_result *pooled,
                            const trace_replay_result *bare);
void clpi_report_replay_json(const clpi_replay_subject *subject, const trace_replay_result *result,
                             bool pooled);
void clpi_report_comparison_json(const clpi_replay_subject *subject,
                                 const trace_replay_result *pooled,
                                 const trace_replay_result *bare);

/* The figures, as members of the object that is being written. */
void clpi_write_replay_figures(clpi_json *json, const trace_replay_result *result);

#endif
