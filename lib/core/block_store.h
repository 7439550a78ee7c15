/* SPDX-License-Identifier: MIT */
/* The held blocks of a pool: by bin, newest first, and by age over all bins.
 *
 * This is the small interface that stands between the pool's rules and how blocks are kept. All of
 * it is called under the pool's lock. */
#ifndef CLPOOL_CORE_BLOCK_STORE_H
#define CLPOOL_CORE_BLOCK_STORE_H

#include "core/buffer.h"
#include "core/list.h"

#include <limits.h>
#include <stdint.h>

/* One bin, with its figures. Never moves and lives as long as the store. */
typedef struct clpi_bin {
  size_t number;
  size_t block_bytes;        /* of every block; 0 until the bin is first used */
  struct clp_buffer *newest; /* of the held blocks */
  size_t held_blocks;
  size_t active_blocks;
  size_t requested_bytes; /* of the active blocks */
  uint64_t hits, misses;
} clpi_bin;

/* The bins of one floor(log2 size), made when the first of them is used. */
typedef struct clpi_bin_level {
  clpi_bin *bins;     /* 1 << leading_bits of them */
  uint64_t *nonempty; /* one bit a bin */
} clpi_bin_level;

enum { CLPI_LEVELS = sizeof(size_t) * CHAR_BIT };

typedef struct clpi_block_store {
  unsigned leading_bits;
  size_t max_block_bytes;
  uint64_t nonempty_levels; /* one bit a level */
  clpi_bin_level levels[CLPI_LEVELS];
  clpi_list by_age; /* every held block, least recently used first */
} clpi_block_store;

void clpi_store_init(clpi_block_store *store, unsigned leading_bits, size_t max_block_bytes);

/* Frees the bins. The blocks are the caller's to take out before. */
void clpi_store_end(clpi_block_store *store);

/* The size of a bin's blocks: as rounded, but never above the largest block of the device. */
size_t clpi_store_block_bytes(const clpi_block_store *store, size_t number);

/* The bin `number`, made on first use; NULL when there is no host memory for it. */
clpi_bin *clpi_store_use_bin(clpi_block_store *store, size_t number);

/* The bin `number` if it was ever used, else NULL. */
const clpi_bin *clpi_store_find_bin(const clpi_block_store *store, size_t number);

/* Calls `visit` for each bin ever used, by ascending number. */
void clpi_store_visit_bins(const clpi_block_store *store,
                           void (*visit)(const clpi_bin *bin, void *context), void *context);

/* Puts a block into its bin, as the newest. */
void clpi_store_put(clpi_block_store *store, struct clp_buffer *block);

/* Take a block out of the store; NULL when there is none. */
struct clp_buffer *clpi_store_take(clpi_block_store *store, clpi_bin *bin); /* the bin's newest */
struct clp_buffer *clpi_store_take_largest(clpi_block_store *store);
struct clp_buffer *clpi_store_take_oldest(clpi_block_store *store);

#endif
