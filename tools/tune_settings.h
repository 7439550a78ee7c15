/* SPDX-License-Identifier: MIT */
/* The settings that clpool tune tries. */
#ifndef CLPOOL_TOOLS_TUNE_SETTINGS_H
#define CLPOOL_TOOLS_TUNE_SETTINGS_H

#include "trace/tune.h"
#include "tune_arguments.h"

#include <clpool/bin.h>
#include <stddef.h>

/* Arenas: of the default slack or that of --slack, and else of others. Pools: a range of leading
 * bits without an arena and on most of them; where these pools carve what is asked for, one on
 * each. And each arena, unless a pool on it comes to the same, and the allocator without a pool. */
enum {
  CLPI_MOST_ARENAS = 13,
  CLPI_MOST_POOLED_ARENAS = 9, /* the first of them */
  CLPI_MOST_SETTINGS =
      (1 + CLPI_MOST_POOLED_ARENAS) * (CLP_MAX_LEADING_BITS + 1) + CLPI_MOST_ARENAS + 1
};

typedef struct clpi_tune_settings {
  /* Pools without an arena, then on one after the other, by leading bits; the arenas; the bare
   * allocator. */
  trace_tune_outcome outcomes[CLPI_MOST_SETTINGS];
  size_t pools, arenas, count;
} clpi_tune_settings;

/* Fills in the settings of the outcomes, in `*settings`, which is {0}. With `carves`, pools on an
 * arena carve what is asked for (trace_tune_setting). */
void clpi_tune_list_settings(const clpi_tune_arguments *arguments, bool carves,
                             clpi_tune_settings *settings);

/* How many settings can be recommended, from the first on, once they were tried: without a pool
 * nothing keeps to a limit, and the bare allocator is there to compare with, unless it stands on a
 * pool of the driver's or pools were ruled out. */
size_t clpi_tune_candidates(const clpi_tune_arguments *arguments,
                            const clpi_tune_settings *settings);

/* How many are pools without an arena, which are the first. */
size_t clpi_tune_runnable(const clpi_tune_settings *settings);

#endif
