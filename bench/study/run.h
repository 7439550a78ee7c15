/* SPDX-License-Identifier: MIT */
/* One run: a trace, replayed by a pool on an arena as a setting has it. */
#ifndef STUDY_RUN_H
#define STUDY_RUN_H

#include "rules.h"
#include "trace/replay.h"
#include "traces.h"

enum { STUDY_LONG_RUN = 20 };

typedef struct study_setting {
  char value[24]; /* what is special about it, for people */
  bool is_default;
  trace_replay_options replay;
  size_t alignment; /* of the device's blocks, bytes; 0: as it is */
  bool is_late;     /* several threads give a device work that comes `behind` (late.h) */
  uint64_t behind;
  study_rules rules;
} study_setting;

typedef struct study_outcome {
  double footprint; /* the most taken over the most in use */
  uint64_t allocations;
  uint64_t taken, given_back; /* calls of the device */
  struct {
    double footprint;
    uint64_t taken;
  } long_run; /* STUDY_LONG_RUN passes by one pool; of recorded traces only */
} study_outcome;

/* The arena's own setting, under a pool of as many leading bits as is best for it. */
study_setting study_default_setting(void);

/* Says why, where it fails, which allocations that fail do. */
bool study_run(const study_trace *trace, const study_setting *setting, study_outcome *outcome);

/* Sets the trace's peak_bytes. The last error says why, where it fails. */
bool study_find_peak(study_trace *trace);

#endif
