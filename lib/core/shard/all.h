/* SPDX-License-Identifier: MIT */
/* Work on all shards at once, under all their locks. */
#ifndef CLPOOL_CORE_SHARD_ALL_H
#define CLPOOL_CORE_SHARD_ALL_H

#include "core/shard/shard.h"

void clpi_shards_lock_all(clpi_shards *shards);
void clpi_shards_unlock_all(clpi_shards *shards);

/* Releases all locks except clpi_shards.lock. */
void clpi_shards_unlock_but_mutex(clpi_shards *shards);

/* Takes the largest held block; of several of one size, the newest. NULL: none is held. */
clp_buffer *clpi_take_largest_locked(clpi_shards *shards);

/* Takes the least recently used blocks of at most this age, at least `bytes` of them or as many as
 * it finds at once, as a chain by `older`, the oldest first. NULL: none is held. */
clp_buffer *clpi_take_oldest_locked(clpi_shards *shards, size_t bytes, uint64_t age);

/* Takes all held blocks, as a chain by `older`. */
clp_buffer *clpi_take_all_held_locked(clpi_shards *shards);

/* A lane of a bin, and the shard and slot that it is in. */
typedef struct clpi_found {
  clpi_slot *slot;
  clp_buffer *newest; /* NULL: none was found */
  clp_buffer *block;  /* the block that was found */
} clpi_found;

/* --- sums: counts.c --- */

/* Returns the pool's figures, except out_of_memory_reactions. Notes the peak. */
clp_pool_stats clpi_shards_sum_locked(clpi_shards *shards);

/* Returns the figures of one bin, except its size and padding. */
clp_bin_stats clpi_shards_sum_bin_locked(clpi_shards *shards, const clpi_bin *bin);

/* Sets the peaks to the active and managed bytes of now. */
void clpi_reset_peaks_locked(clpi_shards *shards);

/* Returns the held bytes, approximately: without the shards' locks. Under clpi_shards.lock. */
size_t clpi_held_bytes_hint(clpi_shards *shards);

#endif
