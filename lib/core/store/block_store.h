/* SPDX-License-Identifier: MIT */
/* The held blocks of a pool: by bin, in a list, the newest first, which has runs, too (runs.h), and
 * in the bin's depot.
 *
 * A small interface that hides from the rest of the pool how blocks are kept. Depots have locks of
 * their own; all else is called under the pool's lock. */
#ifndef CLPOOL_CORE_STORE_BLOCK_STORE_H
#define CLPOOL_CORE_STORE_BLOCK_STORE_H

#include "core/base/list.h"
#include "core/store/bin.h"
#include "core/store/buffer.h"
#include "core/store/depot.h"

#include <stdint.h>

/* Counts of what was done with a bin's blocks. Only the sum over the bin and all caches is
 * meaningful: one part may be negative, as a wrapped unsigned number. */
typedef struct clpi_tally {
  uint64_t hits, misses, releases;
} clpi_tally;

static inline clpi_tally clpi_tally_sum(clpi_tally a, clpi_tally b)
{
  return (clpi_tally){a.hits + b.hits, a.misses + b.misses, a.releases + b.releases};
}

static inline size_t clpi_tally_active_blocks(const clpi_tally *tally)
{
  return (size_t)(tally->hits + tally->misses - tally->releases);
}

/* One bin. Never moves, and lives as long as the store. What is in the depot stays there until
 * single blocks are needed; then it goes into the list, by age. */
typedef struct clpi_bin {
  uint32_t index; /* in clpi_block_store.by_index and in each cache's slots; 0 until the bin is
                     first used */
  size_t number;
  size_t block_bytes;                 /* of every block */
  struct clp_buffer *newest, *oldest; /* the ends of the list, which is sorted by age */
  struct clp_buffer *runs;            /* the oldest block of one of its runs; NULL: there is none */
  _Atomic size_t listed;              /* blocks on the list; others load it as a hint; relaxed */
  clpi_list on_by_age;                /* linked while a block is listed, by the oldest */
  uint64_t oldest_age;                /* of the block by which it is sorted there */
  clpi_tally tally;      /* of threads without a cache, and of caches that have been freed */
  atomic_bool had_block; /* ever; relaxed */
  clpi_depot depot;
} clpi_bin;

/* The bins of one floor(log2 size), made when the first of them is used. */
typedef struct clpi_bin_level {
  clpi_bin *bins;     /* 1 << leading_bits of them */
  uint64_t *nonempty; /* one bit per bin */
} clpi_bin_level;

/* A bin in use, and what walks over all need of it, side by side. */
typedef struct clpi_indexed_bin {
  clpi_bin *bin;
  size_t block_bytes;
} clpi_indexed_bin;

typedef struct clpi_block_store {
  /* Set by clpi_store_init, and read without the lock: on cache lines of their own. */
  alignas(64) unsigned leading_bits;
  size_t max_block_bytes;
  size_t bins_per_level, words_per_level; /* of `nonempty` */
  clpi_bin_indexes indexes;
  void *index_memory; /* their rows */

  alignas(64) clpi_bin_level levels[CLPI_SIZE_BITS];
  uint64_t nonempty_levels;   /* one bit per level */
  clpi_indexed_bin *by_index; /* the bins in use; [0] is none */
  uint32_t index_count, index_capacity;
  size_t listed_blocks, listed_bytes;
  clpi_list by_age;        /* the bins with listed blocks, by their oldest */
  atomic_bool uses_depots; /* one of them may have blocks */
} clpi_block_store;

/* False: out of host memory. */
bool clpi_store_init(clpi_block_store *store, unsigned leading_bits, size_t max_block_bytes);

/* Frees the bins. The caller has taken out all blocks before. */
void clpi_store_end(clpi_block_store *store);

/* The size of a bin's blocks: the bin's largest size, or max_block_bytes if that is less. */
size_t clpi_store_block_bytes(const clpi_block_store *store, clpi_bin_parts parts);

/* Likewise of the bin of a size, which is not 0. */
static inline size_t clpi_store_rounded(const clpi_block_store *store, size_t size)
{
  unsigned shift = store->indexes.rows[clpi_bin_row(size)] % CLPI_ROW_BYTES;
  size_t bytes = (((size >> shift) + 1) << shift) - 1;
  return bytes < store->max_block_bytes ? bytes : store->max_block_bytes;
}

/* The bin, made on first use; NULL: out of host memory. */
clpi_bin *clpi_store_use_bin(clpi_block_store *store, clpi_bin_parts parts);

/* The bin, if it is in use; NULL otherwise. */
const clpi_bin *clpi_store_find_bin(const clpi_block_store *store, clpi_bin_parts parts);

/* The bin in use that follows `bin` by number, or the first for NULL; NULL at the end. */
clpi_bin *clpi_store_next_bin(const clpi_block_store *store, const clpi_bin *bin);

/* Puts a block into its bin, by its age, which the caller has set. It is mostly the newest. */
void clpi_store_put(clpi_block_store *store, struct clp_buffer *block);

/* As clpi_store_put, of a block that was on its bin's list a moment ago, and finds its place there
 * from its neighbour's. */
void clpi_store_put_back(clpi_block_store *store, struct clp_buffer *block);

/* Puts `count` blocks into the bin by their ages, which are better in order: then each is found its
 * place from that of the one before. */
void clpi_store_put_many(clpi_block_store *store, clpi_bin *bin, struct clp_buffer *const *blocks,
                         unsigned count);

/* How many blocks of the bin the store has, in list and depot. A hint without the lock. */
size_t clpi_bin_held(const clpi_bin *bin);

/* As clpi_depot_put into the bin's depot; needs no lock. */
bool clpi_store_put_batch(clpi_block_store *store, clpi_bin *bin, struct clp_buffer *const *blocks,
                          unsigned count, bool may_allocate);

/* Moves the blocks of the depot, or of all depots, into the bin's list, so that the caller can walk
 * it and sees what is held in all. */
void clpi_store_list(clpi_block_store *store, clpi_bin *bin);
void clpi_store_list_all(clpi_block_store *store);

/* Takes the newest block on the bin's list; NULL: there is none. What comes to the depot meanwhile
 * stays there, where it is to be had without the lock. */
struct clp_buffer *clpi_store_take(clpi_block_store *store, clpi_bin *bin);

/* Take a block out of the store; NULL: there is none. */
struct clp_buffer *clpi_store_take_largest(clpi_block_store *store);
struct clp_buffer *clpi_store_take_oldest(clpi_block_store *store);

/* The block that clpi_store_take_oldest would take; NULL: none. */
struct clp_buffer *clpi_store_find_oldest(clpi_block_store *store);

/* How many blocks of all bins the store has, and their bytes, added to what the caller has summed.
 */
void clpi_store_add_held(const clpi_block_store *store, size_t *blocks, size_t *bytes);

/* To be called after uses of listed blocks have changed. */
void clpi_store_sort_uses(clpi_block_store *store);

/* Takes this block out of the store; it must be on its bin's list. */
void clpi_store_remove(clpi_block_store *store, struct clp_buffer *block);

#endif
