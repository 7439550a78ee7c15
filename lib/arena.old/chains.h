/* SPDX-License-Identifier: MIT */
/* Chains: blocks for which the same was asked, one after another, that share a place which no other
 * block gets between two of them. So their part can be kept from the first to the last. */
#ifndef CLPOOL_ARENA_CHAINS_H
#define CLPOOL_ARENA_CHAINS_H

#include "arena/planned.h"
#include "arena/usage.h"

#include <stdbool.h>

typedef struct clpi_chain_gap clpi_chain_gap;

typedef struct clpi_chains {
  clpi_planned *blocks; /* not owned, as they begin */
  uint32_t block_count;
  uint32_t *chain_of; /* each of them */
  clpi_planned *chains;
  uint32_t count;
  clpi_chain_gap *gaps; /* between two blocks, those that are soonest kept first */
  uint32_t gap_count;
  clpi_usage alone, joined; /* what blocks need, and chains */
} clpi_chains;

/* What blocks may be joined, which begin one after another. False: no host memory. The caller ends
 * the chains in any case. */
bool clpi_chains_begin(clpi_chains *chains, clpi_planned *blocks, uint32_t count, uint32_t steps);

void clpi_chains_end(clpi_chains *chains);

/* What blocks alone need. */
static inline size_t clpi_chains_least_bytes(const clpi_chains *chains)
{
  return clpi_usage_peak(&chains->alone);
}

/* Joins all of which at most `small` is asked; and of the others, as many as that needs no more
 * than `most_bytes` at any step. The first chain has the first block. */
void clpi_chains_join(clpi_chains *chains, size_t most_bytes, size_t small);

/* Blocks get the places of their chains. */
void clpi_chains_place_blocks(const clpi_chains *chains);

#endif
