/* SPDX-License-Identifier: MIT */
/* What it costs to take and give back what is there already: parts of a block, a pool's block, an
 * arena's. */
#ifndef CLPOOL_TOOLS_MEASURE_PAIRS_H
#define CLPOOL_TOOLS_MEASURE_PAIRS_H

#include "measured.h"

/* Each measures for about `budget` nanoseconds, and gives the median of what one pair takes, in
 * nanoseconds. Returns an exit code, with a complaint if it is not 0. */

/* A part as large as its block is made and released. memory->make_parts must not be NULL. */
int clpi_measure_parts(const clpi_measured *memory, size_t bytes, double budget, double *pair);

/* A block that a pool holds is allocated and released. */
int clpi_measure_pool(const clpi_measured *memory, size_t bytes, double budget, double *pair);

/* A block is carved from a segment that an arena keeps, and freed. */
int clpi_measure_arena(const clpi_measured *memory, size_t bytes, double budget, double *pair);

#endif
