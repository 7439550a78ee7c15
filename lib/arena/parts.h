/* SPDX-License-Identifier: MIT */
/* Parts: the memory of blocks where that is no address, but an object of its own, such as a
 * sub-buffer. Upstream makes it for a block, and it stays when the block is freed: the next block
 * of as many bytes at the same place gets it again. A free range has the parts that lie in it.
 * Those of a block overlap it: its own alone, once it is made. */
#ifndef CLPOOL_ARENA_PARTS_H
#define CLPOOL_ARENA_PARTS_H

#include <clpool/allocator.h>

typedef struct clpi_part {
  clp_memory memory;
  size_t offset, bytes; /* in the segment; as asked for */
  struct clpi_part *next;
} clpi_part;

/* Parts that do not overlap, by offset. */
typedef struct clpi_part_list {
  clpi_part *first, *last; /* NULL: there are none; then `last` is anything */
} clpi_part_list;

/* Adds those of a list that come behind. */
void clpi_parts_append(clpi_part_list *parts, const clpi_part_list *behind);

/* Splits the list: those from `offset` on are returned. */
clpi_part_list clpi_parts_split(clpi_part_list *parts, size_t offset);

/* The part of a new block: the one that is there, or if that is another, one that upstream makes
 * when it has taken those back. CLP_OUT_OF_HOST_MEMORY, or upstream's status. Under no lock. */
clp_status clpi_parts_make(const clp_allocator *upstream, clp_memory segment, size_t offset,
                           size_t bytes, clpi_part_list *parts);

/* Has upstream take parts back, until it refuses one. Under no lock. */
clp_status clpi_parts_drop(const clp_allocator *upstream, clpi_part_list *parts);

#endif
