/* SPDX-License-Identifier: MIT */
/* The operations of an arena whose blocks have parts (parts.h): those of any other arena, on
 * addresses, and then the block's memory. */
#ifndef CLPOOL_ARENA_PART_OPS_H
#define CLPOOL_ARENA_PART_OPS_H

#include "arena/arena.h"

/* Puts them in the place of the others. */
void clpi_arena_put_part_ops(clp_allocator_ops *ops);

extern const clpi_direct_ops clpi_arena_direct_parts;

#endif
