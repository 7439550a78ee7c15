/* SPDX-License-Identifier: MIT */
/* Rules that no option changes, changed for the study: in a program that is linked with
 * rules_link_flags, calls between files of the library come by here. It is the library all the
 * same, so there is no model that could differ from it. */
#ifndef STUDY_RULES_H
#define STUDY_RULES_H

#include <stdbool.h>
#include <stddef.h>

/* Which free range is cut, of those that are large enough. */
typedef enum study_fit { STUDY_FIRST, STUDY_BEST } study_fit;

/* Which segment without blocks goes back first. */
typedef enum study_returns { STUDY_LARGEST, STUDY_OLDEST } study_returns;

/* Below 0: as the library has it. */
typedef struct study_rules {
  study_fit fit;
  study_returns returns;
  bool has_budget;         /* whether calls are counted at all */
  bool plans;              /* whether what comes again is planned */
  double share;            /* of the highest use that a segment is, within the options' bounds */
  size_t most_share_bytes; /* and within this; 0: none */
  double waste; /* how much larger than a request a segment without blocks may be, in slacks of the
                   highest use */
} study_rules;

#define STUDY_RULES_INIT                                                                           \
  {                                                                                                \
    .fit = STUDY_FIRST, .returns = STUDY_LARGEST, .has_budget = true, .plans = true, .share = -1,  \
    .waste = -1                                                                                    \
  }

/* From now on, for all arenas and pools. */
void study_set_rules(study_rules rules);

#endif
