/* SPDX-License-Identifier: MIT */
/* The bins of a pool that are in use. What a bin holds is in the shards, by its index. */
#ifndef CLPOOL_CORE_STORE_BINS_H
#define CLPOOL_CORE_STORE_BINS_H

#include "core/base/relaxed.h"
#include "core/store/bin.h"

#include <pthread.h>
#include <stdbool.h>

/* One bin. Never moves, and lives as long as the pool. */
typedef struct clpi_bin {
  uint32_t index; /* 0 until the bin is first used; never changes then */
  bool had_block; /* ever; guarded by the pool's lock */
  size_t number;
  size_t block_bytes; /* of every block, but for exact ones */
} clpi_bin;

typedef struct clpi_bins {
  /* Set by clpi_bins_init, and read without a lock. */
  unsigned leading_bits;
  size_t max_block_bytes;
  clpi_bin_indexes indexes;
  void *index_memory; /* their rows */

  /* Guarded by the pool's lock. */
  clpi_bin *levels[CLPI_SIZE_BITS]; /* by floor(log2 size): 1 << leading_bits bins, or NULL */
  clpi_bin **by_index;              /* the bins in use; [0] is none */
  uint32_t count, capacity;         /* of by_index, [0] included */
} clpi_bins;

/* False: out of host memory. */
bool clpi_bins_init(clpi_bins *bins, unsigned leading_bits, size_t max_block_bytes);

void clpi_bins_end(clpi_bins *bins);

/* The size of a bin's blocks: the bin's largest size, or max_block_bytes if that is less. */
size_t clpi_bins_block_bytes(const clpi_bins *bins, clpi_bin_parts parts);

/* Likewise of the bin of a size, which is not 0. */
static inline size_t clpi_bins_rounded(const clpi_bins *bins, size_t size)
{
  unsigned shift = bins->indexes.rows[clpi_bin_row(size)] % CLPI_ROW_BYTES;
  size_t bytes = (((size >> shift) + 1) << shift) - 1;
  return bytes < bins->max_block_bytes ? bytes : bins->max_block_bytes;
}

/* The bin of a size, which is not 0, put into use if need be. `lock` is the pool's; under no lock.
 * NULL: out of host memory. */
clpi_bin *clpi_bins_use(clpi_bins *bins, size_t size, pthread_mutex_t *lock);

/* The bin, if it is in use; NULL otherwise. Under the pool's lock. */
const clpi_bin *clpi_bins_find(const clpi_bins *bins, clpi_bin_parts parts);

/* The bin in use that follows `bin` by number, or the first for NULL; NULL at the end. Likewise. */
const clpi_bin *clpi_bins_next(const clpi_bins *bins, const clpi_bin *bin);

#endif
