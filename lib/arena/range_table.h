/* SPDX-License-Identifier: MIT */
/* The blocks of an arena by their memory. All is guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_RANGE_TABLE_H
#define CLPOOL_ARENA_RANGE_TABLE_H

#include "arena/segments.h"

typedef struct clpi_range_table {
  clpi_range **buckets; /* a power of two of them, at least as many as blocks while memory lasts */
  size_t bucket_count, count;
} clpi_range_table;

/* False: no host memory. */
bool clpi_range_table_init(clpi_range_table *table);
void clpi_range_table_end(clpi_range_table *table);

/* Enters a block whose memory is set. */
void clpi_range_table_put(clpi_range_table *table, clpi_range *block);

/* The block with that memory, which is out of the table then; NULL: there is none. */
clpi_range *clpi_range_table_take(clpi_range_table *table, clp_memory memory);

#endif
