/* SPDX-License-Identifier: MIT */
/* The counts of a pool's shards, and the peak of active bytes.
 *
 * The peak is exact while one shard is in use. Where several are, a shard notes it at misses, where
 * it takes blocks over, and every so many allocations: as its own most since it last looked, and
 * what the others have, read without their locks. */
#ifndef CLPOOL_CORE_SHARD_COUNTS_H
#define CLPOOL_CORE_SHARD_COUNTS_H

#include "core/shard/shard.h"

/* Notes the peak, as far as this shard sees it. Under its lock. */
void clpi_note_peak_locked(clpi_shards *shards, clpi_shard *shard);

static inline void clpi_count_allocated_locked(clpi_shards *shards, clpi_shard *shard, size_t bytes)
{
  enum { ALLOCATIONS_A_SHARD = 64 };
  uint32_t count = clpi_relaxed(shards->count);
  clpi_set_relaxed(shard->active_bytes, clpi_relaxed(shard->active_bytes) + bytes);
  shard->below_most -= bytes < shard->below_most ? bytes : shard->below_most;
  if (__builtin_expect(++shard->allocations >= ALLOCATIONS_A_SHARD * count, 0) && count > 1)
    clpi_note_peak_locked(shards, shard);
}

static inline void clpi_count_released_locked(clpi_shard *shard, size_t bytes)
{
  clpi_set_relaxed(shard->active_bytes, clpi_relaxed(shard->active_bytes) - bytes);
  shard->below_most += bytes;
}

/* What is held, as far as can be seen without the shards' locks. Under clpi_shards.lock. */
size_t clpi_held_bytes_hint(clpi_shards *shards);

/* --- under all locks --- */

/* The pool's figures, all but out_of_memory_reactions. Notes the peak. */
clp_pool_stats clpi_shards_sum_locked(clpi_shards *shards);

/* Those of one bin but for its size and padding. */
clp_bin_stats clpi_shards_sum_bin_locked(clpi_shards *shards, const clpi_bin *bin);

/* What is active and managed now is the peak. */
void clpi_reset_peaks_locked(clpi_shards *shards);

#endif
