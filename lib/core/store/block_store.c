/* SPDX-License-Identifier: MIT */
/* Held blocks by bin. Bitmaps of the nonempty bins find the largest block in a few steps, whatever
 * leading_bits is; a list of these bins by age finds the oldest. */
#include "core/store/block_store.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

static unsigned highest_bit(uint64_t word)
{
  return WORD_BITS - 1 - (unsigned)__builtin_clzll(word);
}

bool clpi_store_init(clpi_block_store *store, unsigned leading_bits, size_t max_block_bytes)
{
  size_t bins = (size_t)1 << leading_bits;
  *store = (clpi_block_store){.leading_bits = leading_bits,
                              .bins_per_level = bins,
                              .words_per_level = (bins + WORD_BITS - 1) / WORD_BITS,
                              .max_block_bytes = max_block_bytes,
                              .indexes = calloc(CLPI_SIZE_BITS * bins, sizeof(*store->indexes)),
                              .index_count = 1};
  clpi_list_init(&store->by_age);
  return store->indexes != NULL;
}

void clpi_store_end(clpi_block_store *store)
{
  for (size_t l = 0; l < CLPI_SIZE_BITS; l++) {
    free(store->levels[l].bins);
    free(store->levels[l].nonempty);
  }
  free(store->indexes);
  free(store->by_index);
  for (clpi_batch *batch = store->spare, *below; batch; batch = below) {
    below = batch->below;
    free(batch);
  }
}

size_t clpi_store_block_bytes(const clpi_block_store *store, clpi_bin_parts parts)
{
  size_t bytes = clpi_bin_size(store->leading_bits, parts);
  return bytes < store->max_block_bytes ? bytes : store->max_block_bytes;
}

static bool make_level(const clpi_block_store *store, clpi_bin_level *level)
{
  clpi_bin *bins = calloc(store->bins_per_level, sizeof(*bins));
  uint64_t *nonempty = calloc(store->words_per_level, sizeof(*nonempty));
  if (!bins || !nonempty) {
    free(bins);
    free(nonempty);
    return false;
  }
  level->bins = bins;
  level->nonempty = nonempty;
  return true;
}

static bool give_index(clpi_block_store *store, clpi_bin *bin)
{
  if (store->index_count >= store->index_capacity) {
    uint32_t capacity = store->index_capacity ? 2 * store->index_capacity : 64;
    clpi_bin **grown = realloc(store->by_index, capacity * sizeof(*grown));
    if (!grown)
      return false;
    store->by_index = grown;
    store->index_capacity = capacity;
  }
  store->by_index[store->index_count] = bin;
  bin->index = store->index_count++;
  /* Relaxed, as the load in clpi_allocate_cached. */
  atomic_store_explicit(&store->indexes[bin->number], bin->index, memory_order_relaxed);
  return true;
}

clpi_bin *clpi_store_use_bin(clpi_block_store *store, clpi_bin_parts parts)
{
  clpi_bin_level *level = &store->levels[parts.level];
  if (!level->bins && !make_level(store, level))
    return NULL;
  clpi_bin *bin = &level->bins[parts.mantissa];
  if (!bin->block_bytes) {
    bin->number = (parts.level << store->leading_bits) | parts.mantissa;
    bin->block_bytes = clpi_store_block_bytes(store, parts);
  }
  return bin->index || give_index(store, bin) ? bin : NULL;
}

const clpi_bin *clpi_store_find_bin(const clpi_block_store *store, clpi_bin_parts parts)
{
  const clpi_bin *bins = store->levels[parts.level].bins;
  return bins && bins[parts.mantissa].index ? &bins[parts.mantissa] : NULL;
}

clpi_bin *clpi_store_next_bin(const clpi_block_store *store, const clpi_bin *bin)
{
  clpi_bin_parts next = clpi_bin_split(store->leading_bits, bin ? bin->number + 1 : 0);
  for (; next.level < CLPI_SIZE_BITS; next = (clpi_bin_parts){next.level + 1, 0}) {
    clpi_bin *bins = store->levels[next.level].bins;
    for (; bins && next.mantissa < store->bins_per_level; next.mantissa++)
      if (bins[next.mantissa].index)
        return &bins[next.mantissa];
  }
  return NULL;
}

/* Updates the bitmaps after a bin became empty or nonempty. */
static void update_bitmaps(clpi_block_store *store, const clpi_bin *bin)
{
  clpi_bin_parts parts = clpi_bin_split(store->leading_bits, bin->number);
  clpi_bin_level *level = &store->levels[parts.level];
  size_t m = parts.mantissa;
  uint64_t bit = (uint64_t)1 << (m % WORD_BITS), level_bit = (uint64_t)1 << parts.level;
  if (bin->held_blocks) {
    level->nonempty[m / WORD_BITS] |= bit;
    store->nonempty_levels |= level_bit;
    return;
  }
  level->nonempty[m / WORD_BITS] &= ~bit;
  for (size_t word = 0; word < store->words_per_level; word++)
    if (level->nonempty[word])
      return;
  store->nonempty_levels &= ~level_bit;
}

/* Adds to the counts of held blocks; to subtract, `blocks` is a negative number as a size_t. */
static void count(clpi_block_store *store, clpi_bin *bin, size_t blocks)
{
  bool was_empty = bin->held_blocks == 0;
  bin->held_blocks += blocks;
  store->held_blocks += blocks;
  store->held_bytes += blocks * bin->block_bytes;
  if (was_empty != (bin->held_blocks == 0))
    update_bitmaps(store, bin);
}

/* --- bins by age --- */

static clpi_bin *bin_at(clpi_list *link)
{
  return clpi_list_entry(link, clpi_bin, on_by_age);
}

/* Inserts the bin by its age, searching from `after` in both directions. */
static void link_bin(clpi_block_store *store, clpi_bin *bin, clpi_list *after)
{
  while (after != &store->by_age && bin_at(after)->oldest_age > bin->oldest_age)
    after = after->previous;
  while (after->next != &store->by_age && bin_at(after->next)->oldest_age < bin->oldest_age)
    after = after->next;
  clpi_list_push_front(after, &bin->on_by_age);
}

/* Keeps the list of bins sorted after blocks came or went. Mostly the bin's oldest block is still
 * the same, and nothing moves. */
static void update_age(clpi_block_store *store, clpi_bin *bin)
{
  uint64_t age = bin->oldest ? bin->oldest->age : 0;
  bool is_linked = bin->on_by_age.next != NULL;
  if (is_linked && bin->held_blocks && age == bin->oldest_age)
    return;
  clpi_list *after = age ? store->by_age.previous : &store->by_age;
  if (is_linked)
    after = bin->on_by_age.previous;
  if (is_linked)
    clpi_list_remove(&bin->on_by_age);
  bin->on_by_age = (clpi_list){NULL, NULL};
  bin->oldest_age = age;
  if (bin->held_blocks)
    link_bin(store, bin, after);
}

/* --- the list --- */

/* Inserts a block by age, searching in both directions from `near`, a block on the list, or from
 * the newest. Blocks come from the caches of several threads, so a new one may be older than some
 * on the list; blocks that come together are in order, and each is near the one before. */
static void link_block(clpi_bin *bin, clp_buffer *block, clp_buffer *near)
{
  clp_buffer *older = near ? near : bin->newest;
  while (older && older->age > block->age)
    older = older->older;
  clp_buffer *newer = older ? older->newer : bin->oldest;
  for (; newer && newer->age <= block->age; newer = newer->newer)
    older = newer;
  block->newer = newer;
  block->older = older;
  *(newer ? &newer->older : &bin->newest) = block;
  *(older ? &older->newer : &bin->oldest) = block;
}

static void unlink_block(clpi_bin *bin, clp_buffer *block)
{
  *(block->newer ? &block->newer->older : &bin->newest) = block->older;
  *(block->older ? &block->older->newer : &bin->oldest) = block->newer;
}

/* --- batches --- */

static clpi_batch *take_spare(clpi_block_store *store)
{
  clpi_batch *batch = store->spare;
  if (!batch)
    return malloc(sizeof(*batch));
  store->spare = batch->below;
  return batch;
}

/* Takes the top batch off the bin. */
static clpi_batch *pop_batch(clpi_block_store *store, clpi_bin *bin)
{
  clpi_batch *batch = bin->batches;
  bin->batches = batch->below;
  batch->below = store->spare;
  store->spare = batch;
  return batch;
}

static clpi_batch *reversed(clpi_batch *chain)
{
  clpi_batch *reverse = NULL;
  while (chain) {
    clpi_batch *below = chain->below;
    chain->below = reverse;
    reverse = chain;
    chain = below;
  }
  return reverse;
}

/* Goes through the batches from the oldest, so that each block is near the one before. */
void clpi_store_list(clpi_block_store *store, clpi_bin *bin)
{
  if (!bin->batches)
    return;
  bin->batches = reversed(bin->batches);
  clp_buffer *last = NULL;
  while (bin->batches) {
    clpi_batch *batch = pop_batch(store, bin);
    for (unsigned i = 0; i < batch->count; last = batch->blocks[i++])
      link_block(bin, batch->blocks[i], last);
  }
  update_age(store, bin);
}

/* --- the interface --- */

void clpi_store_put(clpi_block_store *store, clp_buffer *block)
{
  clpi_store_put_run(store, block->bin, &block, 1);
}

void clpi_store_put_run(clpi_block_store *store, clpi_bin *bin, clp_buffer *const *blocks,
                        unsigned blocks_count)
{
  clpi_store_list(store, bin);
  for (unsigned i = 0; i < blocks_count; i++) {
    clpi_set_state(blocks[i], CLPI_BUFFER_HELD);
    link_block(bin, blocks[i], i ? blocks[i - 1] : NULL);
  }
  count(store, bin, blocks_count);
  update_age(store, bin);
}

void clpi_store_put_batch(clpi_block_store *store, clpi_bin *bin, clp_buffer *const *blocks,
                          unsigned blocks_count)
{
  clpi_batch *batch = take_spare(store);
  if (!batch) {
    for (unsigned i = 0; i < blocks_count; i++)
      clpi_store_put(store, blocks[i]);
    return;
  }
  memcpy(batch->blocks, blocks, blocks_count * sizeof(*blocks));
  batch->count = blocks_count;
  batch->oldest_age = blocks[0]->age;
  for (unsigned i = 1; i < blocks_count; i++)
    batch->oldest_age = blocks[i]->age < batch->oldest_age ? blocks[i]->age : batch->oldest_age;
  batch->below = bin->batches;
  bin->batches = batch;
  count(store, bin, blocks_count);
  update_age(store, bin);
}

unsigned clpi_store_take_batches(clpi_block_store *store, clpi_bin *bin, clp_buffer **blocks,
                                 unsigned most, uint64_t *age)
{
  unsigned left = most;
  while (left && bin->batches) {
    clpi_batch *batch = bin->batches;
    unsigned taken = batch->count < left ? batch->count : left;
    left -= taken;
    batch->count -= taken;
    *age = batch->oldest_age < *age ? batch->oldest_age : *age;
    memcpy(blocks + left, batch->blocks + batch->count, taken * sizeof(*blocks));
    if (!batch->count)
      pop_batch(store, bin);
  }
  unsigned taken = most - left;
  if (!taken)
    return 0;
  memmove(blocks, blocks + left, taken * sizeof(*blocks));
  count(store, bin, -(size_t)taken);
  update_age(store, bin);
  return taken;
}

void clpi_store_remove(clpi_block_store *store, clp_buffer *block)
{
  count(store, block->bin, -(size_t)1);
  unlink_block(block->bin, block);
  update_age(store, block->bin);
}

clp_buffer *clpi_store_take(clpi_block_store *store, clpi_bin *bin)
{
  clpi_store_list(store, bin);
  clp_buffer *block = bin->newest;
  if (block)
    clpi_store_remove(store, block);
  return block;
}

clp_buffer *clpi_store_take_largest(clpi_block_store *store)
{
  if (!store->nonempty_levels)
    return NULL;
  const clpi_bin_level *level = &store->levels[highest_bit(store->nonempty_levels)];
  size_t word = store->words_per_level - 1;
  while (!level->nonempty[word])
    word--;
  clpi_bin *bin = &level->bins[word * WORD_BITS + highest_bit(level->nonempty[word])];
  return clpi_store_take(store, bin);
}

/* The ages in unlisted batches are unknown, so a bin of batches alone comes first; it is listed,
 * and the search goes on. */
clp_buffer *clpi_store_find_oldest(clpi_block_store *store)
{
  while (!clpi_list_is_empty(&store->by_age)) {
    clpi_bin *bin = bin_at(store->by_age.next);
    if (bin->oldest)
      return bin->oldest;
    clpi_store_list(store, bin);
  }
  return NULL;
}

clp_buffer *clpi_store_take_oldest(clpi_block_store *store)
{
  clp_buffer *oldest = clpi_store_find_oldest(store);
  if (oldest)
    clpi_store_remove(store, oldest);
  return oldest;
}
