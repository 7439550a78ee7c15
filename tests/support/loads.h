/* SPDX-License-Identifier: MIT */
/* Small programs that use a pool in a way that is known, for tests of what can be told of them. */
#ifndef CLPT_LOADS_H
#define CLPT_LOADS_H

#include <clpool/pool.h>
#include <stdbool.h>
#include <stddef.h>

enum { CLPT_LOAD_LIVE = 48 }; /* buffers in use at once, at most */

/** The size of allocation number `i` of a program. */
typedef size_t (*clpt_load)(size_t i);

size_t clpt_load_by_chance(size_t i);         /**< 1 byte to 64 KiB, all alike */
size_t clpt_load_powers_of_two(size_t i);     /**< 256 bytes to 512 KiB */
size_t clpt_load_growing(size_t i);           /**< 4 KiB and ever more */
size_t clpt_load_two_phases(size_t i);        /**< small ones; from number 1500 on large ones */
size_t clpt_load_huge(size_t i);              /**< 4 PiB to 8 PiB */
size_t clpt_load_a_few_block_sizes(size_t i); /**< what bins of 4 leading bits hold exactly */

/** Allocates so many buffers, of which the oldest is released where more than CLPT_LOAD_LIVE would
 * be in use, and releases all in the end. False: a call failed. */
bool clpt_load_run(clp_pool *pool, clpt_load load, size_t allocations);

#endif
