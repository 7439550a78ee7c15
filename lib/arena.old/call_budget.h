/* SPDX-License-Identifier: MIT */
/* How many segments an arena may take before it makes do with those that it has: as many as bins
 * without an arena would take blocks from the device, and 64 more.
 *
 * Bins of 16 to a power of two, the default, take a block whenever one of them has more live blocks
 * than ever before. The arena counts the same of the blocks that it carves, when it has to grow, or
 * when a direct pool takes one: what pools hold has gone back by then, so all of them are the
 * program's. They count by the size that was asked for: rounded up, the largest of a bin would be
 * of the next one, and so one bin earn twice. Each segment is paid from that. Guarded by the
 * arena's lock. */
#ifndef CLPOOL_ARENA_CALL_BUDGET_H
#define CLPOOL_ARENA_CALL_BUDGET_H

#include "core/store/store.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  CLPI_BUDGET_BITS = 4,
  CLPI_BUDGET_BINS = (CLPI_SIZE_BITS + 1) << CLPI_BUDGET_BITS,
  CLPI_BUDGET_WORDS = (CLPI_BUDGET_BINS + 63) / 64
};

typedef struct clpi_call_budget {
  uint32_t live[CLPI_BUDGET_BINS], most_live[CLPI_BUDGET_BINS]; /* blocks of each bin */
  uint64_t risen[CLPI_BUDGET_WORDS]; /* a bit for each bin that may have more than most_live */
  size_t bin_bytes;                  /* of the blocks that bins would have taken */
  int64_t earned;                    /* segments, for blocks that were more than ever before; */
  int64_t left;                      /* what is left of them, and of a few more */
} clpi_call_budget;

void clpi_call_budget_init(clpi_call_budget *budget);

/* A block of `bytes`, not 0, begins or ends. */
void clpi_call_budget_begin_block(clpi_call_budget *budget, size_t bytes);
void clpi_call_budget_end_block(clpi_call_budget *budget, size_t bytes);

/* Counts the blocks that are more than ever before. */
void clpi_call_budget_earn(clpi_call_budget *budget);

/* A segment was taken. */
void clpi_call_budget_spend(clpi_call_budget *budget);

bool clpi_call_budget_is_spent(const clpi_call_budget *budget);

/* The part of what was ever earned that is left; more than 1 if that is nothing. */
double clpi_call_budget_part_left(const clpi_call_budget *budget);

#endif
