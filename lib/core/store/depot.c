/* SPDX-License-Identifier: MIT */
/* Batches of blocks, behind the lock of one bin. */
#include "core/store/depot.h"

#include "core/store/buffer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

void clpi_depot_end(clpi_depot *depot)
{
  for (clpi_batch *batch = depot->spare, *below; batch; batch = below) {
    below = batch->below;
    free(batch);
  }
}

static void push(clpi_batch **chain, clpi_batch *batch)
{
  batch->below = *chain;
  *chain = batch;
}

static clpi_batch *pop(clpi_batch **chain)
{
  clpi_batch *batch = *chain;
  *chain = batch->below;
  return batch;
}

/* Makes sure that there is a spare batch. */
static bool has_spare(clpi_depot *depot, bool may_allocate)
{
  if (depot->spare || !may_allocate)
    return depot->spare;
  clpi_batch *batch = malloc(sizeof(*batch));
  if (!batch)
    return false;
  push(&depot->spare, batch);
  return true;
}

/* Adds what there is room for to the newest batch. Returns how many. */
static unsigned add_to_newest(clpi_depot *depot, clp_buffer *const *blocks, unsigned count)
{
  clpi_batch *batch = depot->batches;
  count = MIN(count, CLPI_BATCH_BLOCKS - batch->count);
  memcpy(batch->blocks + batch->count, blocks, count * sizeof(*blocks));
  batch->count += count;
  return count;
}

bool clpi_depot_put(clpi_depot *depot, clp_buffer *const *blocks, unsigned count, bool may_allocate)
{
  pthread_mutex_lock(&depot->lock);
  unsigned room = depot->batches ? CLPI_BATCH_BLOCKS - depot->batches->count : 0;
  bool has_room = count <= room || has_spare(depot, may_allocate);
  for (unsigned put = 0; has_room && put < count;) {
    if (!depot->batches || depot->batches->count == CLPI_BATCH_BLOCKS) {
      push(&depot->batches, pop(&depot->spare));
      depot->batches->count = 0;
    }
    put += add_to_newest(depot, blocks + put, count - put);
  }
  if (has_room)
    atomic_fetch_add(&depot->count, count);
  pthread_mutex_unlock(&depot->lock);
  return has_room;
}

unsigned clpi_depot_take(clpi_depot *depot, clp_buffer **blocks, unsigned most)
{
  if (!clpi_relaxed(depot->count)) /* lest threads that all miss write to the lock's line */
    return 0;
  pthread_mutex_lock(&depot->lock);
  unsigned left = most;
  while (left && depot->batches) {
    clpi_batch *batch = depot->batches;
    unsigned taken = MIN(batch->count, left);
    left -= taken;
    batch->count -= taken;
    memcpy(blocks + left, batch->blocks + batch->count, taken * sizeof(*blocks));
    if (!batch->count)
      push(&depot->spare, pop(&depot->batches));
  }
  unsigned taken = most - left;
  atomic_fetch_sub(&depot->count, taken);
  pthread_mutex_unlock(&depot->lock);
  if (left && taken)
    memmove(blocks, blocks + left, taken * sizeof(*blocks));
  return taken;
}

clpi_batch *clpi_depot_take_all(clpi_depot *depot)
{
  clpi_batch *all = NULL;
  pthread_mutex_lock(&depot->lock);
  while (depot->batches)
    push(&all, pop(&depot->batches));
  atomic_store(&depot->count, 0);
  pthread_mutex_unlock(&depot->lock);
  return all;
}

void clpi_depot_spare(clpi_depot *depot, clpi_batch *batch)
{
  pthread_mutex_lock(&depot->lock);
  push(&depot->spare, batch);
  pthread_mutex_unlock(&depot->lock);
}
