/* SPDX-License-Identifier: MIT */
/** @file
 * The rig of late streams (support/late_rig.h) on an arena of small segments. */
#ifndef CLPT_LATE_ARENA_H
#define CLPT_LATE_ARENA_H

#include "support/late_rig.h"

#include <clpool/arena.h>

enum { CLPT_LATE_SEGMENT = 4096 }; /* bytes, the least of a segment */

/** Each way to free memory (clpt_late_freeing), where parts are told to the device; then each where
 * they are addresses. A further one: parts that must not overlap what streams still use. */
enum {
  CLPT_LATE_WAYS = 2 * CLPT_LATE_FREEINGS,
  CLPT_LATE_EXCLUSIVE = CLPT_LATE_WAYS + CLPT_LATE_FREES_IN_ORDER
};

/** As clpt_late_rig_start_freeing, on an arena without slack. */
void clpt_late_arena_start(clpt_late_rig *rig, unsigned reuse_flags, unsigned way);

/** As above, on `rig->device` as the test has set it up. */
void clpt_late_arena_start_on(clpt_late_rig *rig, unsigned reuse_flags,
                              const clp_arena_options *options);
extern const clp_arena_options clpt_late_small;

clp_arena_stats clpt_late_arena_figures(const clpt_late_rig *rig);

#endif
