/* SPDX-License-Identifier: MIT */
/* Where blocks began, by what was in use: the index of a tape (tape.h). Guarded by the arena's
 * lock; whoever is in its door alone does not look here. */
#ifndef CLPOOL_ARENA_TAPE_INDEX_H
#define CLPOOL_ARENA_TAPE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Identifies a set of blocks. The index looks at 96 of its bits, so two sets pass for one with a
 * probability of 2 to the -96. */
typedef struct clpi_digest {
  uint64_t low, high;
} clpi_digest;

static inline clpi_digest clpi_digest_xor(clpi_digest a, clpi_digest b)
{
  return (clpi_digest){a.low ^ b.low, a.high ^ b.high};
}

/* Of a block of `bytes` at a place. */
clpi_digest clpi_digest_of(uint64_t place, size_t bytes);

/* One beginning in 16, and the first of each run, so that it is small: from there on the tape
 * leads. The latest of all are remembered, too, for programs that go in a small circle. */
typedef struct clpi_tape_index {
  struct clpi_tape_entry *slots;  /* a hash table, with linear probing; */
  struct clpi_tape_entry *recent; /* the latest, by the same hash */
  unsigned bits;                  /* there are 1 << bits slots; 0: none yet */
  size_t count;
  bool has_run; /* a beginning since the last call of clpi_tape_index_begin_run is in the slots */
} clpi_tape_index;

void clpi_tape_index_end(clpi_tape_index *index);

/* Has room for one more. False: no host memory. */
bool clpi_tape_index_reserve(clpi_tape_index *index);

void clpi_tape_index_clear(clpi_tape_index *index);

/* What is entered next begins a run. */
static inline void clpi_tape_index_begin_run(clpi_tape_index *index)
{
  index->has_run = false;
}

/* A block of `bytes` began at the event of that number while those of `used` were in use. There is
 * room. */
void clpi_tape_index_enter(clpi_tape_index *index, clpi_digest used, size_t bytes, size_t number);

/* The number of the last such event, and 1; 0: it is not known. */
size_t clpi_tape_index_find(const clpi_tape_index *index, clpi_digest used, size_t bytes);

#endif
