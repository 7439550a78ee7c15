/* SPDX-License-Identifier: MIT */
/* The bins of a pool that are in use; bin.c explains their arithmetic. What a bin holds is in the
 * shards, by its index. */
#ifndef CLPOOL_CORE_STORE_BIN_H
#define CLPOOL_CORE_STORE_BIN_H

#include "core/base/relaxed.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLPI_SIZE_BITS = sizeof(size_t) * CHAR_BIT };

/* The number of the bin of a size, which is not 0; `leading_bits` is at most CLP_MAX_LEADING_BITS.
 * The leading one of 1m is added to l - 1. */
static inline size_t clpi_bin_number(unsigned leading_bits, size_t size)
{
  unsigned zeros = (unsigned)__builtin_clzl(size);
  size_t leading = (size << zeros) >> (CLPI_SIZE_BITS - 1 - leading_bits);
  size_t l = CLPI_SIZE_BITS - 1 - zeros;
  return ((l - 1) << leading_bits) + leading;
}

/* The largest size of a bin. */
size_t clpi_bin_size(unsigned leading_bits, size_t number);

/* Bins in use and slots are in chunks, which never move: the first has the indexes below
 * CLPI_FIRST_INDEXES, and each has as many as all before it. There are enough for all bins. */
enum { CLPI_FIRST_INDEXES = 64, CLPI_INDEX_CHUNKS = 18 };

typedef struct clpi_place {
  unsigned chunk;
  uint32_t at;
} clpi_place;

static inline clpi_place clpi_place_of(uint32_t index)
{
  if (__builtin_expect(index < CLPI_FIRST_INDEXES, 1))
    return (clpi_place){0, index};
  unsigned log = 31 - (unsigned)__builtin_clz(index);
  return (clpi_place){log - 5, index - ((uint32_t)1 << log)};
}

/* How many indexes a chunk has. */
static inline size_t clpi_chunk_count(unsigned chunk)
{
  return (size_t)CLPI_FIRST_INDEXES << (chunk ? chunk - 1 : 0);
}

typedef struct clpi_bin {
  uint32_t index; /* never changes, as the number and the size */
  bool had_block; /* ever; guarded by the pool's lock */
  size_t number;
  size_t block_bytes; /* of every block, but for exact ones (buffer.h) */
} clpi_bin;

typedef struct clpi_bins {
  /* Set by clpi_bins_init. */
  unsigned leading_bits;
  size_t max_block_bytes;
  _Atomic uint32_t *indexes; /* by number; 0: not in use */

  clpi_bin *_Atomic chunks[CLPI_INDEX_CHUNKS];
  uint32_t count; /* of the indexes in use and 0, which is of no bin; guarded by the pool's lock */
} clpi_bins;

/* False: out of host memory. */
bool clpi_bins_init(clpi_bins *bins, unsigned leading_bits, size_t max_block_bytes);

void clpi_bins_end(clpi_bins *bins);

/* The size of a bin's blocks: the bin's largest size, or max_block_bytes if that is less. */
size_t clpi_bins_block_bytes(const clpi_bins *bins, size_t number);

/* The index of the bin of a size, which is not 0; 0: it is not in use. */
static inline uint32_t clpi_bins_index(const clpi_bins *bins, size_t size)
{
  return clpi_acquired(bins->indexes[clpi_bin_number(bins->leading_bits, size)]);
}

/* The bin of an index in use. */
static inline clpi_bin *clpi_bin_at(const clpi_bins *bins, uint32_t index)
{
  clpi_place place = clpi_place_of(index);
  return &clpi_acquired(bins->chunks[place.chunk])[place.at];
}

/* The bin of this number, put into use if need be. `lock` is the pool's; under no lock. NULL: out
 * of host memory. */
clpi_bin *clpi_bins_use(clpi_bins *bins, size_t number, pthread_mutex_t *lock);

#endif
