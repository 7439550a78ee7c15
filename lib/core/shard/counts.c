/* SPDX-License-Identifier: MIT */
/* Sums over shards. */
#include "core/shard/all.h"

#include <sys/param.h>

/* Adds the exact blocks that the device did not take back: those of a bin, or all (NULL). */
static void add_exact_locked(clpi_shard *shard, const clpi_bin *bin, size_t *blocks, size_t *bytes)
{
  clpi_each_lane (&shard->near[0], newest)
    for (const clp_buffer *block = newest; block; block = block->older) {
      bool counts = !bin || block->bin == bin;
      *blocks += counts;
      *bytes += counts ? block->bytes : 0;
    }
}

size_t clpi_held_bytes_hint(clpi_shards *shards)
{
  size_t bytes = 0;
  for (uint32_t i = 1; i < shards->bins.count; i++)
    clpi_each_slot (shards, i, shard, slot)
      bytes += clpi_relaxed(slot->held) * clpi_bin_at(&shards->bins, i)->block_bytes;
  return bytes;
}

clp_pool_stats clpi_shards_sum_locked(clpi_shards *shards)
{
  clp_pool_stats sum = {.managed_bytes = shards->managed_bytes,
                        .peak_managed_bytes = shards->peak_managed_bytes,
                        .device_frees = shards->device_frees};
  uint64_t releases = 0;
  clpi_each_shard (shards, shard) {
    clpi_note_peak_locked(shards, shard);
    sum.active_bytes += clpi_relaxed(shard->active_bytes);
    add_exact_locked(shard, NULL, &sum.held_blocks, &sum.held_bytes);
    for (uint32_t i = 0; i < shards->bins.count; i++) {
      const clpi_slot *slot = clpi_slot_at(shard, i);
      if (!slot)
        continue;
      size_t held = i ? clpi_relaxed(slot->held) : 0;
      sum.held_blocks += held;
      sum.held_bytes += held ? held * clpi_bin_at(&shards->bins, i)->block_bytes : 0;
      sum.hits += slot->hits;
      sum.misses += slot->misses;
      releases += slot->releases;
    }
  }
  sum.allocations = sum.hits + sum.misses;
  sum.device_allocations = sum.misses;
  sum.active_blocks = (size_t)(sum.allocations - releases);
  sum.peak_active_bytes = MIN(clpi_relaxed(shards->peak_active_bytes), sum.peak_managed_bytes);
  return sum;
}

clp_bin_stats clpi_shards_sum_bin_locked(clpi_shards *shards, const clpi_bin *bin)
{
  clp_bin_stats sum = {.bin = bin->number};
  uint64_t releases = 0;
  clpi_each_slot (shards, bin->index, shard, slot) {
    sum.held_blocks += clpi_relaxed(slot->held);
    sum.hits += slot->hits;
    sum.misses += slot->misses;
    releases += slot->releases;
  }
  sum.held_bytes = sum.held_blocks * bin->block_bytes;
  clpi_each_shard (shards, shard)
    add_exact_locked(shard, bin, &sum.held_blocks, &sum.held_bytes);
  sum.active_blocks = (size_t)(sum.hits + sum.misses - releases);
  return sum;
}

void clpi_reset_peaks_locked(clpi_shards *shards)
{
  size_t active = 0;
  clpi_each_shard (shards, shard)
    active += clpi_relaxed(shard->active_bytes);
  clpi_set_relaxed(shards->peak_active_bytes, active);
  shards->peak_managed_bytes = shards->managed_bytes;
  clpi_each_shard (shards, shard)
    shard->noted_bytes = clpi_relaxed(shard->active_bytes);
}
