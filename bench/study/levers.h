/* SPDX-License-Identifier: MIT */
/* What can be changed about a pool on an arena, one thing at a time, and the values to try. */
#ifndef STUDY_LEVERS_H
#define STUDY_LEVERS_H

#include "run.h"

enum { STUDY_MOST_VALUES = 20 };

typedef struct study_lever {
  const char *name, *explanation;
  void (*apply)(study_setting *setting, double value); /* and writes what it is called */
  double values[STUDY_MOST_VALUES];
  size_t count;
  double by_default; /* one of the values */
} study_lever;

/* The slack: what the frontier is along. */
extern const study_lever study_slack;

extern const study_lever study_levers[];
extern const size_t study_lever_count;

/* The default setting with one of the lever's values. */
study_setting study_set(const study_lever *lever, size_t value);

#endif
