/* SPDX-License-Identifier: MIT */
/* Held blocks by bin and by age. Bitmaps of the bins that hold something find the largest block in
 * a few steps, whatever leading_bits is. */
#include "core/block_store.h"

#include <clpool/bin.h>
#include <stdlib.h>

enum { WORD_BITS = 64 };

static size_t bins_per_level(const clpi_block_store *store)
{
  return (size_t)1 << store->leading_bits;
}

static size_t words_per_level(const clpi_block_store *store)
{
  return (bins_per_level(store) + WORD_BITS - 1) / WORD_BITS;
}

static unsigned highest_bit(uint64_t word)
{
  return WORD_BITS - 1 - (unsigned)__builtin_clzll(word);
}

void clpi_store_init(clpi_block_store *store, unsigned leading_bits, size_t max_block_bytes)
{
  *store = (clpi_block_store){.leading_bits = leading_bits, .max_block_bytes = max_block_bytes};
  clpi_list_init(&store->by_age);
}

void clpi_store_end(clpi_block_store *store)
{
  for (size_t l = 0; l < CLPI_LEVELS; l++) {
    free(store->levels[l].bins);
    free(store->levels[l].nonempty);
  }
}

size_t clpi_store_block_bytes(const clpi_block_store *store, size_t number)
{
  size_t bytes = clp_bin_size(store->leading_bits, number);
  return bytes < store->max_block_bytes ? bytes : store->max_block_bytes;
}

static bool make_level(const clpi_block_store *store, clpi_bin_level *level)
{
  clpi_bin *bins = calloc(bins_per_level(store), sizeof(*bins));
  uint64_t *nonempty = calloc(words_per_level(store), sizeof(*nonempty));
  if (!bins || !nonempty) {
    free(bins);
    free(nonempty);
    return false;
  }
  *level = (clpi_bin_level){bins, nonempty};
  return true;
}

clpi_bin *clpi_store_use_bin(clpi_block_store *store, size_t number)
{
  clpi_bin_level *level = &store->levels[number >> store->leading_bits];
  if (!level->bins && !make_level(store, level))
    return NULL;
  clpi_bin *bin = &level->bins[number & (bins_per_level(store) - 1)];
  if (!bin->block_bytes) {
    bin->number = number;
    bin->block_bytes = clpi_store_block_bytes(store, number);
  }
  return bin;
}

const clpi_bin *clpi_store_find_bin(const clpi_block_store *store, size_t number)
{
  size_t l = number >> store->leading_bits;
  if (l >= CLPI_LEVELS || !store->levels[l].bins)
    return NULL;
  const clpi_bin *bin = &store->levels[l].bins[number & (bins_per_level(store) - 1)];
  return bin->misses ? bin : NULL;
}

void clpi_store_visit_bins(const clpi_block_store *store,
                           void (*visit)(const clpi_bin *bin, void *context), void *context)
{
  for (size_t l = 0; l < CLPI_LEVELS; l++)
    for (size_t m = 0; store->levels[l].bins && m < bins_per_level(store); m++)
      if (store->levels[l].bins[m].misses)
        visit(&store->levels[l].bins[m], context);
}

/* Notes in the bitmaps whether the bin holds a block. */
static void mark_bin(clpi_block_store *store, const clpi_bin *bin)
{
  size_t l = bin->number >> store->leading_bits;
  size_t m = bin->number & (bins_per_level(store) - 1);
  clpi_bin_level *level = &store->levels[l];
  uint64_t bit = (uint64_t)1 << (m % WORD_BITS);
  if (bin->newest) {
    level->nonempty[m / WORD_BITS] |= bit;
    store->nonempty_levels |= (uint64_t)1 << l;
    return;
  }
  level->nonempty[m / WORD_BITS] &= ~bit;
  for (size_t word = 0; word < words_per_level(store); word++)
    if (level->nonempty[word])
      return;
  store->nonempty_levels &= ~((uint64_t)1 << l);
}

void clpi_store_put(clpi_block_store *store, struct clp_buffer *block)
{
  clpi_bin *bin = block->bin;
  block->state = CLPI_BUFFER_HELD;
  block->newer = NULL;
  block->older = bin->newest;
  bin->newest = block;
  bin->held_blocks++;
  if (block->older)
    block->older->newer = block;
  else
    mark_bin(store, bin);
  clpi_list_push_back(&store->by_age, &block->by_age);
}

/* The block's state is the caller's to set. */
static struct clp_buffer *take_out(clpi_block_store *store, struct clp_buffer *block)
{
  clpi_bin *bin = block->bin;
  if (block->older)
    block->older->newer = block->newer;
  if (block->newer)
    block->newer->older = block->older;
  else
    bin->newest = block->older;
  bin->held_blocks--;
  if (!bin->newest)
    mark_bin(store, bin);
  clpi_list_remove(&block->by_age);
  return block;
}

struct clp_buffer *clpi_store_take(clpi_block_store *store, clpi_bin *bin)
{
  return bin->newest ? take_out(store, bin->newest) : NULL;
}

struct clp_buffer *clpi_store_take_largest(clpi_block_store *store)
{
  if (!store->nonempty_levels)
    return NULL;
  const clpi_bin_level *level = &store->levels[highest_bit(store->nonempty_levels)];
  size_t word = words_per_level(store) - 1;
  while (!level->nonempty[word])
    word--;
  clpi_bin *bin = &level->bins[word * WORD_BITS + highest_bit(level->nonempty[word])];
  return clpi_store_take(store, bin);
}

struct clp_buffer *clpi_store_take_oldest(clpi_block_store *store)
{
  if (clpi_list_is_empty(&store->by_age))
    return NULL;
  return take_out(store, clpi_list_entry(store->by_age.next, struct clp_buffer, by_age));
}
