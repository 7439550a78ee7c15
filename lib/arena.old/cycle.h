/* SPDX-License-Identifier: MIT */
/* A cycle: what a program did since the same blocks were in use before, and will do again if it
 * repeats itself. Known beforehand, its blocks can be given better places than they had. Guarded by
 * the arena's lock. */
#ifndef CLPOOL_ARENA_CYCLE_H
#define CLPOOL_ARENA_CYCLE_H

#include "arena/plan.h"
#include "arena/tape.h"

#include <stdbool.h>

typedef struct clpi_cycle {
  clpi_event *events;   /* its steps; the first begins a block. The other of each is the step where
                           its block ends or began, or none */
  clpi_planned *blocks; /* those that begin and end; the others stay where they were */
  uint32_t steps, count;
  size_t alignment;                   /* of blocks, whose sizes are multiples of it in all below */
  size_t used_bytes, most_used_bytes; /* by blocks that began, in the end and at most */
  clpi_plan plan;
} clpi_cycle;

/* The event where the cycle begins, if a block of `bytes` begins now, while those of `used` are in
 * use. SIZE_MAX: it is not known, or no segment was taken since. */
size_t clpi_cycle_find(const clpi_tape *tape, clpi_digest used, size_t bytes);

/* Reads what happened since that event. False: too little for a plan, or too much for the tape, or
 * less was in use meanwhile than is now, or no host memory. The caller ends the cycle in any case.
 */
bool clpi_cycle_load(clpi_cycle *cycle, const clpi_tape *tape, size_t event, size_t alignment);

/* Plans it. False: the first block has not ended, or there is no such plan, or no host memory. */
bool clpi_cycle_plan(clpi_cycle *cycle, const clpi_plan_options *options);

/* Has the tape go on with the cycle, planned, in segments of numbers from that one on. Those of
 * `used` are in use. False: there is no room. */
bool clpi_cycle_expect(clpi_cycle *cycle, clpi_tape *tape, uint32_t segment, clpi_digest used);

void clpi_cycle_end(clpi_cycle *cycle);

#endif
