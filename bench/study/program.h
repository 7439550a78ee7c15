/* SPDX-License-Identifier: MIT */
/* Made-up programs: what they have in common, and how their traces are written. */
#ifndef STUDY_PROGRAM_H
#define STUDY_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { STUDY_MOST_BLOCKS = 32768 };

typedef struct study_block {
  uint64_t number;
  size_t bytes;
} study_block;

/* Blocks that a program has, in the order in which it took them. */
typedef struct study_blocks {
  size_t count;
  study_block at[STUDY_MOST_BLOCKS];
} study_blocks;

typedef struct study_program {
  FILE *file; /* the trace */
  uint64_t chance;
  uint64_t blocks; /* taken so far */
  study_blocks kept, others;
} study_program;

/* What all runs of a seed make alike: numbers from 0 to below 1, of a range, below a bound, as
 * small as half and as large as twice the median in two of three cases where the spread is ln 2. */
double study_unit(study_program *program);
double study_between(study_program *program, double least, double most);
unsigned study_below(study_program *program, unsigned bound);
double study_spread(study_program *program, double median, double spread);

/* Take a block, of at least one byte, and give it back. */
study_block study_take(study_program *program, double bytes);
void study_give(study_program *program, study_block block);
void study_take_and_give(study_program *program, double bytes);

/* The same for blocks on a list: any, the oldest, the newest, or all, the newest first. */
void study_keep(study_program *program, study_blocks *blocks, double bytes);
void study_give_any(study_program *program, study_blocks *blocks);
void study_give_oldest(study_program *program, study_blocks *blocks);
void study_give_newest(study_program *program, study_blocks *blocks);
void study_give_all(study_program *program, study_blocks *blocks);

#endif
