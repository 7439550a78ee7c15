/* SPDX-License-Identifier: MIT */
/* The held blocks of a pool: by bin, newest first.
 *
 * This is the small interface that stands between the pool's rules and how blocks are kept. All of
 * it is called under the pool's lock. */
#ifndef CLPOOL_CORE_STORE_BLOCK_STORE_H
#define CLPOOL_CORE_STORE_BLOCK_STORE_H

#include "core/base/list.h"
#include "core/store/bin.h"
#include "core/store/buffer.h"

#include <stdint.h>

/* What was done with the blocks of a bin. Sums over the caches of all threads and the bin itself
 * are what counts; a part may be below 0, which unsigned arithmetic carries. What one call changes
 * does not stand side by side: compilers would load both at once, right behind two stores. */
typedef struct clpi_tally {
  uint64_t hits, releases, misses;
  size_t requested_bytes; /* of the active blocks */
} clpi_tally;

static inline void clpi_tally_add(clpi_tally *sum, const clpi_tally *part)
{
  sum->hits += part->hits;
  sum->misses += part->misses;
  sum->releases += part->releases;
  sum->requested_bytes += part->requested_bytes;
}

static inline size_t clpi_tally_active_blocks(const clpi_tally *tally)
{
  return (size_t)(tally->hits + tally->misses - tally->releases);
}

/* Blocks that a thread had too many of, the oldest first: they move on together. */
enum { CLPI_BATCH_BLOCKS = 32 };
typedef struct clpi_batch {
  struct clpi_batch *below; /* given before, or the next spare one */
  unsigned count;
  struct clp_buffer *blocks[CLPI_BATCH_BLOCKS];
} clpi_batch;

/* One bin. Never moves and lives as long as the store. Batches stay what they are until blocks are
 * looked at one by one: then they go into the list, by age. They are younger than the list. */
typedef struct clpi_bin {
  uint32_t index; /* its place in every list of bins; 0 until the bin is first used */
  size_t number;
  size_t block_bytes; /* of every block */
  clpi_batch *batches;
  struct clp_buffer *newest, *oldest; /* of the list; ages fall from one to the other */
  size_t held_blocks;                 /* in list and batches */
  clpi_list on_by_age;                /* while it holds a block */
  uint64_t oldest_age;                /* by which it stands there; 0: of batches alone */
  clpi_tally tally; /* of threads without a cache, and of caches that are no more */
} clpi_bin;

/* The bins of one floor(log2 size), made when the first of them is used. */
typedef struct clpi_bin_level {
  _Atomic uint32_t *_Atomic indexes; /* of the bins; all that the warm path reads of them */
  clpi_bin *bins;                    /* 1 << leading_bits of them */
  uint64_t *nonempty;                /* one bit a bin */
} clpi_bin_level;

typedef struct clpi_block_store {
  unsigned leading_bits;
  size_t bins_per_level, words_per_level; /* of `nonempty` */
  size_t max_block_bytes;
  clpi_bin_level levels[CLPI_SIZE_BITS];
  uint64_t nonempty_levels; /* one bit a level */
  clpi_bin **by_index;      /* the bins in use; [0] is none */
  uint32_t index_count, index_capacity;
  size_t held_blocks, held_bytes;
  clpi_list by_age;  /* the bins that hold blocks, by their oldest */
  clpi_batch *spare; /* batches without blocks */
} clpi_block_store;

void clpi_store_init(clpi_block_store *store, unsigned leading_bits, size_t max_block_bytes);

/* Frees the bins. The blocks are the caller's to take out before. */
void clpi_store_end(clpi_block_store *store);

/* The size of a bin's blocks: as rounded, but never above the largest block of the device. */
size_t clpi_store_block_bytes(const clpi_block_store *store, clpi_bin_parts parts);

/* The bin, made on first use; NULL when there is no host memory for it. */
clpi_bin *clpi_store_use_bin(clpi_block_store *store, clpi_bin_parts parts);

/* The bin, if it is in use; NULL otherwise. */
const clpi_bin *clpi_store_find_bin(const clpi_block_store *store, clpi_bin_parts parts);

/* The bin in use that follows `bin` by number, or the first for NULL; NULL at the end. */
clpi_bin *clpi_store_next_bin(const clpi_block_store *store, const clpi_bin *bin);

/* Puts a block into its bin, by its age, which is set: mostly as the newest. */
void clpi_store_put(clpi_block_store *store, struct clp_buffer *block);

/* Puts a batch: `count` blocks of the bin, at most CLPI_BATCH_BLOCKS, oldest first and none of them
 * older than what the bin holds, as far as the giver knows. In a few steps, and without a look at
 * the blocks, but where there is no host memory for it. */
void clpi_store_put_batch(clpi_block_store *store, clpi_bin *bin, struct clp_buffer *const *blocks,
                          unsigned count);

/* Takes the newest batch of the bin, as far as `most` goes, to `blocks`, oldest first; returns how
 * many blocks that are. */
unsigned clpi_store_take_batch(clpi_block_store *store, clpi_bin *bin, struct clp_buffer **blocks,
                               size_t most);

/* Take a block out of the store; NULL when there is none. */
struct clp_buffer *clpi_store_take(clpi_block_store *store, clpi_bin *bin); /* the bin's newest */
struct clp_buffer *clpi_store_take_largest(clpi_block_store *store);
struct clp_buffer *clpi_store_take_oldest(clpi_block_store *store);

/* The block that clpi_store_take_oldest would take; NULL: none. */
struct clp_buffer *clpi_store_find_oldest(clpi_block_store *store);

/* Makes the bin's list complete, for one who goes through it under the lock. */
void clpi_store_list(clpi_block_store *store, clpi_bin *bin);

/* Takes that block, which is on its bin's list. */
void clpi_store_remove(clpi_block_store *store, struct clp_buffer *block);

#endif
