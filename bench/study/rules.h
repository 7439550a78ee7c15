/* SPDX-License-Identifier: MIT */
/* Rules that no option changes, changed for the study: in a program that is linked with
 * rules_link_flags, calls between files of the library come by here. It is the library all the
 * same, so there is no model that could differ from it. */
#ifndef STUDY_RULES_H
#define STUDY_RULES_H

/* Which held block a pool gives back first, before the arena grows. */
typedef enum study_order { STUDY_OLDEST, STUDY_LARGEST, STUDY_NEWEST } study_order;

/* Below 0: as the library has it. */
typedef struct study_rules {
  study_order order;
  double share; /* of the highest use that a segment is, within the options' bounds */
  double waste; /* how much larger than a request a segment without blocks may be, in slacks of the
                   highest use */
} study_rules;

#define STUDY_RULES_INIT                                                                           \
  {                                                                                                \
    .order = STUDY_OLDEST, .share = -1, .waste = -1                                                \
  }

/* From now on, for all arenas and pools. */
void study_set_rules(study_rules rules);

#endif
