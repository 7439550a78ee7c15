/* SPDX-License-Identifier: MIT */
/* A hash table with chains, which doubles. */
#include "arena/range_table.h"

#include <stdlib.h>

enum { FIRST_BUCKETS = 64 };

bool clpi_range_table_init(clpi_range_table *table)
{
  *table = (clpi_range_table){.buckets = calloc(FIRST_BUCKETS, sizeof(clpi_range *)),
                              .bucket_count = FIRST_BUCKETS};
  return table->buckets;
}

void clpi_range_table_end(clpi_range_table *table)
{
  free(table->buckets);
}

/* Memory is aligned, so its low bits tell little: a multiplication brings the others down. */
static clpi_range **bucket_of(const clpi_range_table *table, clp_memory memory)
{
  uint64_t hash = (uint64_t)memory * 0x9e3779b97f4a7c15u;
  return &table->buckets[(hash >> 32) & (table->bucket_count - 1)];
}

static void push(clpi_range_table *table, clpi_range *block)
{
  clpi_range **bucket = bucket_of(table, block->memory);
  block->next_in_table = *bucket;
  *bucket = block;
}

/* Without host memory chains get longer. */
static void grow(clpi_range_table *table)
{
  clpi_range_table grown = {.buckets = calloc(2 * table->bucket_count, sizeof(clpi_range *)),
                            .bucket_count = 2 * table->bucket_count,
                            .count = table->count};
  if (!grown.buckets)
    return;
  for (size_t i = 0; i < table->bucket_count; i++)
    for (clpi_range *block = table->buckets[i], *next; block; block = next) {
      next = block->next_in_table;
      push(&grown, block);
    }
  free(table->buckets);
  *table = grown;
}

void clpi_range_table_put(clpi_range_table *table, clpi_range *block)
{
  if (table->count >= table->bucket_count)
    grow(table);
  push(table, block);
  table->count++;
}

clpi_range *clpi_range_table_take(clpi_range_table *table, clp_memory memory)
{
  for (clpi_range **link = bucket_of(table, memory); *link; link = &(*link)->next_in_table) {
    clpi_range *block = *link;
    if (block->memory != memory)
      continue;
    *link = block->next_in_table;
    table->count--;
    return block;
  }
  return NULL;
}
