/* SPDX-License-Identifier: MIT */
/* An arena's segments beside a simple model of them: a map of who has each unit. Every call does
 * the same to both, and returns what differs; NULL: they agree. */
#ifndef CLPT_RANGE_MODEL_H
#define CLPT_RANGE_MODEL_H

#include "arena/segments.h"

#include <stdint.h>

enum { CLPT_SEGMENTS = 8, CLPT_UNITS = 64, CLPT_BLOCKS = 64 };

typedef struct clpt_modelled {
  clpi_segment *real; /* NULL: there is none */
  unsigned units;
  uint64_t place;          /* of its first unit */
  uint8_t map[CLPT_UNITS]; /* 0: free; else the block's number and one */
} clpt_modelled;

typedef struct clpt_ranges {
  clpi_segments real;
  clpt_modelled segments[CLPT_SEGMENTS];
  clpi_range *blocks[CLPT_BLOCKS]; /* NULL: no such block */
  uint64_t next_place;
} clpt_ranges;

void clpt_ranges_start(clpt_ranges *ranges);
void clpt_ranges_end(clpt_ranges *ranges);

/** Does one operation that two bytes tell: adds or removes a segment, carves or frees a block; and
 * compares all there is. */
const char *clpt_ranges_step(clpt_ranges *ranges, uint8_t what, uint8_t argument);

#endif
