/* SPDX-License-Identifier: MIT */
/* What happened, in order, as runs of the tape's events (tape.h). Guarded as the tape is. */
#ifndef CLPOOL_ARENA_TAPE_RUNS_H
#define CLPOOL_ARENA_TAPE_RUNS_H

#include <stddef.h>
#include <stdint.h>

typedef struct clpi_tape_run {
  uint32_t from, until; /* the numbers of its first event, and of the one behind its last */
} clpi_tape_run;

typedef struct clpi_tape_runs {
  clpi_tape_run *runs; /* the latest */
  size_t capacity, count;
  size_t grown; /* the count, and 1, when a segment was last taken that was not foreseen; 0: none */
} clpi_tape_runs;

void clpi_tape_runs_end(clpi_tape_runs *runs);

/* Something else happened, or what did is not known. */
static inline void clpi_tape_runs_forget(clpi_tape_runs *runs)
{
  runs->count = runs->grown = 0;
}

/* Adds a run, unless it is empty. Where they are very many, or there is no host memory, all are
 * forgotten. */
void clpi_tape_runs_add(clpi_tape_runs *runs, size_t from, size_t until);

#endif
