/* SPDX-License-Identifier: MIT */
/* How many bytes are in use at each of many steps. A segment tree: what is added for a range of
 * steps, and the most in one, take the logarithm of their number. */
#ifndef CLPOOL_ARENA_USAGE_H
#define CLPOOL_ARENA_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_usage_node {
  size_t added; /* at all its steps, without what is added at its parents */
  size_t most;  /* at one of them, likewise */
} clpi_usage_node;

typedef struct clpi_usage {
  clpi_usage_node *nodes; /* the root is 1, and the children of node i are 2 i and 2 i + 1 */
  size_t width;           /* a power of two: the nodes from there on are the steps */
} clpi_usage;

/* None is in use. False: no host memory. */
bool clpi_usage_begin(clpi_usage *usage, uint32_t steps);

void clpi_usage_end(clpi_usage *usage);

/* As many steps, as much in use. */
void clpi_usage_copy(clpi_usage *usage, const clpi_usage *from);

/* Of the steps from `from` until the one before `until`, which is larger. */
void clpi_usage_add(clpi_usage *usage, uint32_t from, uint32_t until, size_t bytes);
size_t clpi_usage_most(const clpi_usage *usage, uint32_t from, uint32_t until);

/* At any step. */
static inline size_t clpi_usage_peak(const clpi_usage *usage)
{
  return usage->nodes[1].most;
}

#endif
