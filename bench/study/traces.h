/* SPDX-License-Identifier: MIT */
/* The traces of the study: recorded ones, the same with other sizes, and those of made-up programs.
 * Nothing was chosen by the first alone: copies show how much of a figure is chance. */
#ifndef STUDY_TRACES_H
#define STUDY_TRACES_H

#include "trace/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STUDY_MOST_RECORDED = 8, STUDY_MOST_TRACES = 128 };

typedef enum study_group { STUDY_RECORDED, STUDY_SCALED, STUDY_MADE_UP, STUDY_GROUPS } study_group;

typedef struct study_trace {
  char name[48];
  study_group group;
  trace_reader *reader; /* shared with copies */
  double scale;         /* of sizes */
  size_t peak_bytes;    /* the most in use */
} study_trace;

typedef struct study_traces {
  study_trace list[STUDY_MOST_TRACES]; /* by group; scaled copies by what they are copies of */
  size_t count, recorded;
} study_traces;

/* Opens the recorded traces at `paths`, and makes the others. Says why, where it cannot; close them
 * in any case. */
bool study_traces_open(study_traces *traces, char *const *paths, size_t count, uint64_t seed);
void study_traces_close(study_traces *traces);

/* "recorded", "scaled", "made up". */
const char *study_group_name(study_group group);

#endif
