/* SPDX-License-Identifier: MIT */
/* The gaps that take up the least, bytes times steps, are kept first: so there are the most. */
#include "arena/chains.h"

#include <stdlib.h>

struct clpi_chain_gap {
  uint32_t before, after; /* the blocks */
  double size;            /* bytes times steps */
};

#define NONE UINT32_MAX /* no block */

/* --- gaps --- */

static int compare_asked(const void *a, const void *b)
{
  const clpi_planned *one = *(clpi_planned *const *)a, *other = *(clpi_planned *const *)b;
  return one->asked < other->asked ? -1 : one->asked > other->asked;
}

static int compare_sizes(const void *a, const void *b)
{
  const clpi_chain_gap *one = a, *other = b;
  if (one->size != other->size)
    return one->size < other->size ? -1 : 1;
  return one->before < other->before ? -1 : one->before > other->before;
}

/* Numbers what is asked for, by block. Sorts the blocks by that. */
static void number_asked(const clpi_chains *chains, clpi_planned **sorted, uint32_t *number_of)
{
  qsort(sorted, chains->block_count, sizeof(clpi_planned *), compare_asked);
  for (uint32_t i = 0, number = 0; i < chains->block_count; i++) {
    number += i && sorted[i]->asked != sorted[i - 1]->asked;
    number_of[sorted[i] - chains->blocks] = number;
  }
}

static clpi_chain_gap gap_between(const clpi_planned *blocks, uint32_t before, uint32_t after)
{
  uint32_t steps = blocks[after].begin - blocks[before].end;
  return (clpi_chain_gap){before, after, (double)blocks[before].bytes * steps};
}

/* A block comes after the one that ended last, of those for which the same was asked and after
 * which none has come. Those are in lists: `last` has the first of each, by number, and `earlier`
 * the next one of each block. */
static void list_gaps(clpi_chains *chains, clpi_planned *const *at_step, uint32_t steps,
                      const uint32_t *number_of, uint32_t *last, uint32_t *earlier)
{
  for (uint32_t i = 0; i < chains->block_count; i++)
    last[i] = NONE;
  for (uint32_t step = 0; step < steps; step++) {
    if (!at_step[step])
      continue;
    uint32_t block = (uint32_t)(at_step[step] - chains->blocks);
    uint32_t *ended = &last[number_of[block]];
    if (at_step[step]->begin != step) {
      earlier[block] = *ended;
      *ended = block;
    } else if (*ended != NONE) {
      chains->gaps[chains->gap_count++] = gap_between(chains->blocks, *ended, block);
      *ended = earlier[*ended];
    }
  }
  qsort(chains->gaps, chains->gap_count, sizeof(*chains->gaps), compare_sizes);
}

static bool find_gaps(clpi_chains *chains, uint32_t steps)
{
  size_t bytes = chains->block_count * sizeof(uint32_t);
  uint32_t *number_of = malloc(bytes), *last = malloc(bytes), *earlier = malloc(bytes);
  clpi_planned **sorted = malloc(chains->block_count * sizeof(clpi_planned *)), **at_step = NULL;
  for (uint32_t i = 0; sorted && i < chains->block_count; i++)
    sorted[i] = &chains->blocks[i];
  if (sorted)
    at_step = clpi_planned_by_step(sorted, chains->block_count, steps);
  bool has_memory = at_step && number_of && last && earlier;
  if (has_memory) {
    number_asked(chains, sorted, number_of);
    list_gaps(chains, at_step, steps, number_of, last, earlier);
  }
  free(sorted);
  free(at_step);
  free(number_of);
  free(last);
  free(earlier);
  return has_memory;
}

/* --- chains --- */

bool clpi_chains_begin(clpi_chains *chains, clpi_planned *blocks, uint32_t count, uint32_t steps)
{
  *chains = (clpi_chains){.blocks = blocks, .block_count = count};
  chains->chain_of = malloc(count * sizeof(*chains->chain_of));
  chains->chains = malloc(count * sizeof(*chains->chains));
  chains->gaps = malloc(count * sizeof(*chains->gaps));
  if (!chains->chain_of || !chains->chains || !chains->gaps ||
      !clpi_usage_begin(&chains->alone, steps) || !clpi_usage_begin(&chains->joined, steps))
    return false;
  for (uint32_t i = 0; i < count; i++)
    clpi_usage_add(&chains->alone, blocks[i].begin, blocks[i].end, blocks[i].bytes);
  return find_gaps(chains, steps);
}

void clpi_chains_end(clpi_chains *chains)
{
  free(chains->chain_of);
  free(chains->chains);
  free(chains->gaps);
  clpi_usage_end(&chains->alone);
  clpi_usage_end(&chains->joined);
}

/* Sets the chain of each block: that of the one before it, which began earlier and so has its
 * chain, or else a new one. `before` is where the chains will be. */
static void make_chains(clpi_chains *chains, const uint32_t *before)
{
  chains->count = 0;
  for (uint32_t i = 0; i < chains->block_count; i++) {
    bool is_first = before[i] == NONE;
    chains->chain_of[i] = is_first ? chains->count++ : chains->chain_of[before[i]];
    if (is_first)
      chains->chains[chains->chain_of[i]] = chains->blocks[i];
    chains->chains[chains->chain_of[i]].end = chains->blocks[i].end;
  }
}

void clpi_chains_join(clpi_chains *chains, size_t most_bytes, size_t small)
{
  uint32_t *before = chains->chain_of; /* for now, the block before each, or NONE */
  for (uint32_t i = 0; i < chains->block_count; i++)
    before[i] = NONE;
  clpi_usage_copy(&chains->joined, &chains->alone);
  for (uint32_t i = 0; i < chains->gap_count; i++) {
    const clpi_chain_gap *gap = &chains->gaps[i];
    const clpi_planned *ended = &chains->blocks[gap->before];
    uint32_t from = ended->end, until = chains->blocks[gap->after].begin;
    size_t used = clpi_usage_most(&chains->joined, from, until);
    bool fits = used < most_bytes && ended->bytes <= most_bytes - used;
    if (!fits && ended->asked > small)
      continue;
    clpi_usage_add(&chains->joined, from, until, ended->bytes);
    before[gap->after] = gap->before;
  }
  make_chains(chains, before);
}

void clpi_chains_place_blocks(const clpi_chains *chains)
{
  for (uint32_t i = 0; i < chains->block_count; i++)
    chains->blocks[i].offset = chains->chains[chains->chain_of[i]].offset;
}
