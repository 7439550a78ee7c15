/* SPDX-License-Identifier: MIT */
/* Addresses for memory that has none: cl_mems. A segment of theirs gets a range of addresses that
 * nothing else has, so that the arena may treat its blocks as any others (a tape, plans, direct
 * pools). A block's own cl_mem, its part, is made when the block begins, and *kept* when it ends:
 * a block that begins at the same place with the same bytes gets it again. Parts never overlap, as
 * NVIDIA's driver cannot have that: those that are in the way of a new one are given up first.
 *
 * A lock of its own guards all. No call of upstream is made under it: a driver may end a cl_mem
 * within any call, and so free a block. */
#ifndef CLPOOL_ARENA_PARTS_H
#define CLPOOL_ARENA_PARTS_H

#include <clpool/allocator.h>

typedef struct clpi_parts clpi_parts;

/* An allocator of addresses, over one of cl_mems, which it retains. `*parts` lives as long. */
clp_status clpi_parts_create(clp_allocator *upstream, clp_allocator **out, clpi_parts **parts);

/* The memory of a block that begins at an address. CLP_OUT_OF_HOST_MEMORY, or the status of
 * upstream: there is none. */
clp_status clpi_parts_begin(clpi_parts *parts, clp_memory address, size_t bytes, clp_memory *out);

/* Likewise, if that was kept; 0: it was not. Calls nobody. */
clp_memory clpi_parts_take_kept(clpi_parts *parts, clp_memory address, size_t bytes);

/* Keeps the memory of a block that ends, which nobody else has: its address. 0: there is no block
 * of so many bytes. */
clp_memory clpi_parts_end(clpi_parts *parts, clp_memory memory, size_t bytes);

/* Undoes the end of a block whose address nobody else has got yet. */
void clpi_parts_resume(clpi_parts *parts, clp_memory memory);

#endif
