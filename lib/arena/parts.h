/* SPDX-License-Identifier: MIT */
/* Parts that are kept: what upstream made of the ranges of freed blocks (`split`), such as
 * sub-buffers. A block that is carved where one was, and as large, is that part again, without a
 * call of upstream. Guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_PARTS_H
#define CLPOOL_ARENA_PARTS_H

#include "core/base/list.h"
#include "core/base/map.h"

#include <clpool/allocator.h>

typedef struct clpi_part {
  clp_memory memory;
  uint64_t position;      /* of its first byte, as those of ranges */
  size_t bytes;           /* as asked for */
  clpi_list on_segment;   /* while it is kept */
  struct clpi_part *next; /* likewise: parts.c */
} clpi_part;

/* All kept parts by position and bytes. */
typedef struct clpi_parts {
  clpi_map by_place;
} clpi_parts;

/* The kept parts of a segment, the oldest first. */
typedef struct clpi_segment_parts {
  clpi_list list;
  size_t count;
} clpi_segment_parts;

void clpi_segment_parts_init(clpi_segment_parts *own);

/* All parts are gone. Parts of all zeros are valid and empty. */
void clpi_parts_end(clpi_parts *parts);

/* A part that is not kept yet, the caller's. NULL: no host memory, also for keeping it later. */
clpi_part *clpi_part_create(clpi_parts *parts, uint64_t position, size_t bytes);

/* Ends a part that is not kept. */
void clpi_part_destroy(clpi_parts *parts, clpi_part *part);

/* Keeps a part, which `own`'s segment has. */
void clpi_parts_keep(clpi_parts *parts, clpi_segment_parts *own, clpi_part *part);

/* Takes the part of this place and size; it is the caller's then. NULL: none is kept. */
clpi_part *clpi_parts_take(clpi_parts *parts, clpi_segment_parts *own, uint64_t position,
                           size_t bytes);

/* Takes the oldest part of a segment that has more than `most`. NULL: it has not. */
clpi_part *clpi_parts_take_oldest(clpi_parts *parts, clpi_segment_parts *own, size_t most);

#endif
