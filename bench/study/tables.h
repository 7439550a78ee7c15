/* SPDX-License-Identifier: MIT */
/* What the study came to: tables, JSON, or columns for gnuplot. */
#ifndef STUDY_TABLES_H
#define STUDY_TABLES_H

#include "levers.h"

typedef enum study_format { STUDY_TABLES, STUDY_JSON, STUDY_COLUMNS } study_format;

/* All that a lever's values came to. */
typedef struct study_results {
  const study_lever *lever;
  const study_traces *traces;
  study_setting settings[STUDY_MOST_VALUES];
  study_outcome outcomes[STUDY_MOST_VALUES][STUDY_MOST_TRACES];
} study_results;

/* STUDY_COLUMNS: a block for each recorded trace and each other group, two empty lines between, so
 * that gnuplot's `index` picks one; its first line is the name. */
void study_print(const study_results *results, study_format format);

#endif
