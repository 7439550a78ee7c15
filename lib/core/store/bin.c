/* SPDX-License-Identifier: MIT */
/* The arithmetic of bins, and those in use.
 *
 * With b leading bits and l = floor(log2 size), write a size in binary as a leading one, b bits m
 * and the rest. Its bin is (l << b) | m. The largest size of that bin has the same leading one and
 * m, and all ones in the rest.
 *
 * Where l >= b, size = 1 m...m r...r and the largest is ((1m + 1) << (l - b)) - 1. For the top bin,
 * 1m + 1 is shifted out of the word, and the subtraction wraps to SIZE_MAX, which is right.
 *
 * Where l < b, there is no rest; m is padded with b - l zeros on the right, and the largest is
 * size. */
#include "core/store/store.h"

#include <clpool/bin.h>
#include <stdlib.h>
#include <sys/param.h>

size_t clp_bin_number(unsigned leading_bits, size_t size)
{
  if (leading_bits > CLP_MAX_LEADING_BITS || size == 0)
    return 0;
  return clpi_bin_number(leading_bits, size);
}

size_t clpi_bin_size(unsigned leading_bits, size_t number)
{
  size_t l = number >> leading_bits, one = (size_t)1 << leading_bits;
  size_t leading = one | (number & (one - 1));
  if (l >= CLPI_SIZE_BITS)
    return SIZE_MAX;
  if (l < leading_bits)
    return leading >> (leading_bits - l);
  return ((leading + 1) << (l - leading_bits)) - 1;
}

size_t clp_bin_size(unsigned leading_bits, size_t bin)
{
  return leading_bits > CLP_MAX_LEADING_BITS ? 0 : clpi_bin_size(leading_bits, bin);
}

/* calloc may have to write the zeros, so the table ends with the largest size. */
bool clpi_bins_init(clpi_bins *bins, unsigned leading_bits, size_t max_block_bytes)
{
  size_t numbers = clpi_bin_number(leading_bits, max_block_bytes) + 1;
  *bins = (clpi_bins){.leading_bits = leading_bits,
                      .max_block_bytes = max_block_bytes,
                      .indexes = calloc(numbers, sizeof(*bins->indexes)),
                      .count = 1};
  return bins->indexes;
}

void clpi_bins_end(clpi_bins *bins)
{
  for (unsigned i = 0; i < CLPI_INDEX_CHUNKS; i++)
    free(clpi_relaxed(bins->chunks[i]));
  free((void *)bins->indexes);
}

size_t clpi_bins_block_bytes(const clpi_bins *bins, size_t number)
{
  return MIN(clpi_bin_size(bins->leading_bits, number), bins->max_block_bytes);
}

static bool make_chunk(clpi_bins *bins, unsigned chunk)
{
  clpi_bin *made = calloc(clpi_chunk_count(chunk), sizeof(*made)), *none = NULL;
  if (made && !atomic_compare_exchange_strong(&bins->chunks[chunk], &none, made))
    free(made);
  return made;
}

clpi_bin *clpi_bins_use(clpi_bins *bins, size_t number, pthread_mutex_t *lock)
{
  uint32_t index;
  while (!(index = clpi_acquired(bins->indexes[number]))) {
    pthread_mutex_lock(lock);
    unsigned chunk = clpi_place_of(bins->count).chunk;
    bool has_place = clpi_relaxed(bins->chunks[chunk]);
    if (has_place && !clpi_relaxed(bins->indexes[number])) {
      clpi_bin **at = &bins->largest, *bin = clpi_bin_at(bins, bins->count);
      while (*at && (*at)->number > number)
        at = &(*at)->smaller;
      *bin = (clpi_bin){.index = bins->count++,
                        .number = number,
                        .block_bytes = clpi_bins_block_bytes(bins, number),
                        .smaller = *at};
      *at = bin;
      clpi_publish(bins->indexes[number], bin->index);
    }
    pthread_mutex_unlock(lock);
    if (!has_place && !make_chunk(bins, chunk))
      return NULL;
  }
  return clpi_bin_at(bins, index);
}
