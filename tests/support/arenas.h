/* SPDX-License-Identifier: MIT */
/* An arena of small segments for a test at a time, on a device that splits. */
#ifndef CLPT_ARENAS_H
#define CLPT_ARENAS_H

#include "failing_allocator.h"

#include <clpool/arena.h>

enum { CLPT_SEGMENT = 64 << 10 }; /* bytes, the least of a segment */

extern clpt_device clpt_arena_device;
extern clp_allocator *clpt_arena;

/** A fixture: the device, and no arena yet. */
void clpt_arena_setup(void);

/** No slack, segments of CLPT_SEGMENT. */
clp_arena_options clpt_arena_small(void);

/** Makes the arena, with these options; NULL: the small ones. */
void clpt_arena_start(const clp_arena_options *options);

/** Ends the arena; nothing is left on the device. */
void clpt_arena_end(void);

/** Calls that must succeed. */
void clpt_arena_give(clp_memory memory, size_t bytes);
clp_arena_stats clpt_arena_figures(void);

#endif
