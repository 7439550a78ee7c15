/* SPDX-License-Identifier: MIT */
#include "trace/live_sizes.h"

#include <search.h>
#include <stdlib.h>

typedef struct live_size {
  uint64_t pointer; /* the key */
  uint64_t size;
} live_size;

static int compare(const void *left, const void *right)
{
  const live_size *a = left, *b = right;
  return (a->pointer > b->pointer) - (a->pointer < b->pointer);
}

void clpi_live_sizes_end(clpi_live_sizes *live)
{
  tdestroy(live->tree, free);
  live->tree = NULL;
}

bool clpi_live_sizes_add(clpi_live_sizes *live, uint64_t pointer, uint64_t size)
{
  live_size *block = malloc(sizeof(*block));
  if (!block)
    return false;
  *block = (live_size){.pointer = pointer, .size = size};
  if (tsearch(block, &live->tree, compare))
    return true;
  free(block);
  return false;
}

bool clpi_live_sizes_take(clpi_live_sizes *live, uint64_t pointer, uint64_t *size)
{
  live_size key = {.pointer = pointer};
  live_size **node = tfind(&key, &live->tree, compare);
  if (!node)
    return false;
  live_size *block = *node;
  *size = block->size;
  tdelete(&key, &live->tree, compare);
  free(block);
  return true;
}
