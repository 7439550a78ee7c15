/* SPDX-License-Identifier: MIT */
/* Whether pools hand out all that a limit, or a device, has in one block. */
#ifndef CLPT_ONE_BLOCK_H
#define CLPT_ONE_BLOCK_H

#include "pools.h"

/** How many choices there are of the pool's leading bits, of what is held before, and by whom. */
enum { CLPT_ONE_BLOCK_CASES = 17 * 4 * 2 };

/** Asserts that pools on the allocator serve requests of about `bytes` from limits that are just as
 * large, and not from smaller ones. */
void clpt_limit_in_one_block(clp_allocator *allocator, int number, size_t bytes);

/** As above, from a device that has room for `bytes`, rounded down to the alignment. 0: the device
 * has a largest block instead, which it gives. */
void clpt_device_in_one_block(clp_allocator *allocator, int number, size_t bytes);

#endif
