/* SPDX-License-Identifier: MIT */
/* Bins are made a level at a time, when the first of the level is used. */
#include "core/store/bins.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* Sizes of level l, shifted, are 1m (bin.c), of leading_bits + 1 bits; or of l + 1 bits, where that
 * is less. So level l uses the part of the table behind its own, which level l + 1 does not use,
 * since it does so, too; or part of its own. False: out of host memory. */
static bool make_indexes(clpi_bins *bins)
{
  size_t row_bytes = MAX(sizeof(uint32_t) << bins->leading_bits, CLPI_ROW_BYTES);
  /* calloc's zeros need not be touched, and with many leading bits most never are. */
  char *memory = calloc(1, (CLPI_SIZE_BITS + 1) * row_bytes + CLPI_ROW_BYTES - 1);
  if (!memory)
    return false;
  bins->index_memory = memory;
  uintptr_t row = ((uintptr_t)memory + CLPI_ROW_BYTES - 1) & ~(uintptr_t)(CLPI_ROW_BYTES - 1);
  for (unsigned l = 0; l < CLPI_SIZE_BITS; l++, row += row_bytes) {
    unsigned shift = l > bins->leading_bits ? l - bins->leading_bits : 0;
    bins->indexes.rows[clpi_bin_row((size_t)1 << l)] = row + shift;
  }
  return true;
}

bool clpi_bins_init(clpi_bins *bins, unsigned leading_bits, size_t max_block_bytes)
{
  memset(bins, 0, sizeof(*bins));
  bins->leading_bits = leading_bits;
  bins->max_block_bytes = max_block_bytes;
  bins->count = 1;
  return make_indexes(bins);
}

void clpi_bins_end(clpi_bins *bins)
{
  for (size_t l = 0; l < CLPI_SIZE_BITS; l++)
    free(bins->levels[l]);
  free(bins->index_memory);
  free((void *)bins->by_index);
}

size_t clpi_bins_block_bytes(const clpi_bins *bins, clpi_bin_parts parts)
{
  return MIN(clpi_bin_size(bins->leading_bits, parts), bins->max_block_bytes);
}

/* Puts the bin into use, if there is memory for that. */
static clpi_bin *find_or_begin_locked(clpi_bins *bins, clpi_bin_parts parts)
{
  if (!bins->levels[parts.level] || bins->count >= bins->capacity)
    return NULL;
  clpi_bin *bin = &bins->levels[parts.level][parts.mantissa];
  if (bin->index)
    return bin;
  bin->number = (parts.level << bins->leading_bits) | parts.mantissa;
  bin->block_bytes = clpi_bins_block_bytes(bins, parts);
  bin->index = bins->count++;
  bins->by_index[bin->index] = bin;
  /* Relaxed: a thread uses the index only to find a slot. */
  clpi_set_relaxed(*clpi_bin_index(&bins->indexes, bin->block_bytes), bin->index);
  return bin;
}

/* Has memory for the bin's level, and for one index more. Unlocks for malloc. */
static bool reserve_locked(clpi_bins *bins, size_t l, pthread_mutex_t *lock)
{
  uint32_t former = bins->capacity, capacity = MAX(64, 2 * former);
  bool lacks_level = !bins->levels[l], lacks_index = bins->count >= former;
  pthread_mutex_unlock(lock);
  clpi_bin *level = lacks_level ? calloc((size_t)1 << bins->leading_bits, sizeof(*level)) : NULL;
  clpi_bin **grown = lacks_index ? malloc(capacity * sizeof(clpi_bin *)) : NULL, **old = NULL;
  bool is_done = (level || !lacks_level) && (grown || !lacks_index);
  pthread_mutex_lock(lock);
  if (level && !bins->levels[l]) {
    bins->levels[l] = level;
    level = NULL;
  }
  if (grown && bins->capacity == former) {
    if (former)
      memcpy((void *)grown, (void *)bins->by_index, former * sizeof(*grown));
    old = bins->by_index;
    bins->by_index = grown;
    bins->capacity = capacity;
    grown = NULL;
  }
  free(level);
  free((void *)grown);
  free((void *)old);
  return is_done;
}

clpi_bin *clpi_bins_use(clpi_bins *bins, size_t size, pthread_mutex_t *lock)
{
  clpi_bin_parts parts = clpi_bin_parts_of(bins->leading_bits, size);
  pthread_mutex_lock(lock);
  clpi_bin *bin = find_or_begin_locked(bins, parts);
  while (!bin && reserve_locked(bins, parts.level, lock))
    bin = find_or_begin_locked(bins, parts);
  pthread_mutex_unlock(lock);
  return bin;
}

const clpi_bin *clpi_bins_find(const clpi_bins *bins, clpi_bin_parts parts)
{
  const clpi_bin *level = bins->levels[parts.level];
  return level && level[parts.mantissa].index ? &level[parts.mantissa] : NULL;
}

const clpi_bin *clpi_bins_next(const clpi_bins *bins, const clpi_bin *bin)
{
  clpi_bin_parts next = clpi_bin_split(bins->leading_bits, bin ? bin->number + 1 : 0);
  for (; next.level < CLPI_SIZE_BITS; next = (clpi_bin_parts){next.level + 1, 0}) {
    const clpi_bin *level = bins->levels[next.level];
    for (; level && next.mantissa < (size_t)1 << bins->leading_bits; next.mantissa++)
      if (level[next.mantissa].index)
        return &level[next.mantissa];
  }
  return NULL;
}
