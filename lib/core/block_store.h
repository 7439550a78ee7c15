/* SPDX-License-Identifier: MIT */
/* The held blocks of a pool: by bin, newest first.
 *
 * This is the small interface that stands between the pool's rules and how blocks are kept. All of
 * it is called under the pool's lock. */
#ifndef CLPOOL_CORE_BLOCK_STORE_H
#define CLPOOL_CORE_BLOCK_STORE_H

#include "core/bin.h"
#include "core/buffer.h"

#include <stdint.h>

/* What was done with the blocks of a bin. Sums over the caches of all threads and the bin itself
 * are what counts; a part may be below 0, which unsigned arithmetic carries. */
typedef struct clpi_tally {
  uint64_t hits, misses, releases;
  size_t requested_bytes; /* of the active blocks */
} clpi_tally;

static inline void clpi_tally_add(clpi_tally *sum, const clpi_tally *part)
{
  sum->hits += part->hits;
  sum->misses += part->misses;
  sum->releases += part->releases;
  sum->requested_bytes += part->requested_bytes;
}

static inline uint64_t clpi_tally_active_blocks(const clpi_tally *tally)
{
  return tally->hits + tally->misses - tally->releases;
}

/* One bin. Never moves and lives as long as the store. */
typedef struct clpi_bin {
  _Atomic uint32_t index; /* its place in every list of bins; 0 until the bin is first used */
  size_t number;
  size_t block_bytes;                 /* of every block */
  struct clp_buffer *newest, *oldest; /* of the held blocks; ages fall from one to the other */
  size_t held_blocks;                 /* in the store */
  uint64_t served, steals; /* blocks that went through the slow way; looks into other caches */
  clpi_tally tally;        /* of threads without a cache, and of caches that are no more */
} clpi_bin;

/* The bins of one floor(log2 size), made when the first of them is used. */
typedef struct clpi_bin_level {
  clpi_bin *_Atomic bins; /* 1 << leading_bits of them */
  uint64_t *nonempty;     /* one bit a bin */
} clpi_bin_level;

typedef struct clpi_block_store {
  unsigned leading_bits;
  size_t max_block_bytes;
  clpi_bin_level levels[CLPI_SIZE_BITS];
  uint64_t nonempty_levels; /* one bit a level */
  clpi_bin **by_index;      /* the bins in use; [0] is none */
  uint32_t index_count, index_capacity;
  size_t held_blocks, held_bytes;
} clpi_block_store;

void clpi_store_init(clpi_block_store *store, unsigned leading_bits, size_t max_block_bytes);

/* Frees the bins. The blocks are the caller's to take out before. */
void clpi_store_end(clpi_block_store *store);

/* The size of a bin's blocks: as rounded, but never above the largest block of the device. */
size_t clpi_store_block_bytes(const clpi_block_store *store, size_t number);

/* The bin `number`, made on first use; NULL when there is no host memory for it. */
clpi_bin *clpi_store_use_bin(clpi_block_store *store, size_t number);

/* The bin at its place if it was ever used, else NULL. Needs no lock. */
static inline clpi_bin *clpi_store_peek_bin(const clpi_block_store *store, clpi_bin_place place)
{
  /* Acquire: pairs with the release in make_level, after which the bins are there. */
  clpi_bin *bins = atomic_load_explicit(&store->levels[place.level].bins, memory_order_acquire);
  if (!bins)
    return NULL;
  /* Relaxed: a thread uses the index only to look into its own cache, where it finds no such slot
   * until it has been under the lock. */
  clpi_bin *bin = &bins[place.index];
  return atomic_load_explicit(&bin->index, memory_order_relaxed) ? bin : NULL;
}

/* The bin in use that follows `bin` by number, or the first for NULL; NULL at the end. */
clpi_bin *clpi_store_next_bin(const clpi_block_store *store, const clpi_bin *bin);

/* Puts a block into its bin, by its age, which is set: mostly as the newest. */
void clpi_store_put(clpi_block_store *store, struct clp_buffer *block);

/* Take a block out of the store; NULL when there is none. */
struct clp_buffer *clpi_store_take(clpi_block_store *store, clpi_bin *bin); /* the bin's newest */
struct clp_buffer *clpi_store_take_largest(clpi_block_store *store);
struct clp_buffer *clpi_store_take_oldest(clpi_block_store *store);

#endif
