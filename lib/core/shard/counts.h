/* SPDX-License-Identifier: MIT */
/* Sums over the shards of a pool. */
#ifndef CLPOOL_CORE_SHARD_COUNTS_H
#define CLPOOL_CORE_SHARD_COUNTS_H

#include "core/shard/shard.h"

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
