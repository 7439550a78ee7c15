/* SPDX-License-Identifier: MIT */
/** @file
 * Programs that repeat themselves on an arena, more or less, over a device whose blocks are far
 * apart. */
#ifndef CLPT_ARENA_PROGRAMS_H
#define CLPT_ARENA_PROGRAMS_H

#include "arena/arena.h"
#include "support/arenas.h"
#include "support/chance.h"

enum { CLPT_LIVE = 24, CLPT_STEPS = 400, CLPT_PASSES = 12 };

typedef struct clpt_block {
  clp_memory memory; /**< 0: none */
  size_t bytes;
} clpt_block;

typedef struct clpt_program {
  clpt_block blocks[CLPT_LIVE];
  clpt_chance chance;   /**< what it does */
  clpt_chance mischief; /**< when it does something else, */
  unsigned rarely;      /**< once in so many steps; 0: never */
  const char *wrong;    /**< asserting would take host memory, which may fail; NULL: nothing */
} clpt_program;

/** A fixture: the device of support/arenas.h, with blocks far apart. */
void clpt_apart_setup(void);

/** Its free. */
clp_status clpt_free_apart(void *self, clp_memory memory, size_t bytes);

/** An arena of that slack over it. */
void clpt_apart_start(double slack);

/** CLPT_STEPS steps that depend on the seed; in the end nothing is in use. */
void clpt_program_pass(clpt_program *it, unsigned seed);

#endif
