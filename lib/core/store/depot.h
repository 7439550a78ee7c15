/* SPDX-License-Identifier: MIT */
/* The depot of a bin: blocks that overflowed the caches of threads and wait there for others, in
 * batches. It has a lock of its own, held for a few copies of pointers, so that threads exchange
 * blocks without the stock's lock. */
#ifndef CLPOOL_CORE_STORE_DEPOT_H
#define CLPOOL_CORE_STORE_DEPOT_H

#include "core/base/relaxed.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

struct clp_buffer;

/* Blocks that move together, the oldest first. */
enum { CLPI_BATCH_BLOCKS = 32 };
typedef struct clpi_batch {
  struct clpi_batch *below; /* the batch put before it, or the next spare one */
  unsigned count;
  struct clp_buffer *blocks[CLPI_BATCH_BLOCKS];
} clpi_batch;

typedef struct clpi_depot {
  alignas(64)
      pthread_mutex_t lock; /* guards the rest; taken after the stock's, or inside a cache */
  clpi_batch *batches;      /* the newest first; all but it are full */
  clpi_batch *spare;        /* without blocks */
  atomic_size_t count;      /* of blocks; others load it as a hint */
} clpi_depot;

/* Frees the batches. The depot has no blocks. Its lock, made by CLPI_LOCK_INIT, has nothing to be
 * freed. */
void clpi_depot_end(clpi_depot *depot);

/* Puts up to CLPI_BATCH_BLOCKS blocks, oldest first, and newer than what the depot has as far as
 * the caller knows. False, and none is put: there is no room without host memory, of which there is
 * none or which the caller may not ask for. */
bool clpi_depot_put(clpi_depot *depot, struct clp_buffer *const *blocks, unsigned count,
                    bool may_allocate);

/* Takes up to `most` blocks, the newest batches first, and in `blocks` the oldest first. Returns
 * how many. Does not touch the blocks. */
unsigned clpi_depot_take(clpi_depot *depot, struct clp_buffer **blocks, unsigned most);

/* Takes all batches, the oldest first, by `below`; they go back with clpi_depot_spare. */
clpi_batch *clpi_depot_take_all(clpi_depot *depot);
void clpi_depot_spare(clpi_depot *depot, clpi_batch *batch);

#endif
