/* SPDX-License-Identifier: MIT */
/* Held blocks by bin. Bitmaps of the nonempty bins find the largest block in a few steps, whatever
 * leading_bits is; a list of these bins by age finds the oldest. */
#include "core/store/block_store.h"

#include "core/base/lock.h"
#include "core/store/runs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

enum { WORD_BITS = 64 };

static unsigned highest_bit(uint64_t word)
{
  return WORD_BITS - 1 - (unsigned)__builtin_clzll(word);
}

/* Sizes of level l, shifted, are 1m (bin.c), of leading_bits + 1 bits; or of l + 1 bits, where that
 * is less. So level l uses the part of the table behind its own, which level l + 1 does not use,
 * since it does so, too; or part of its own. False: out of host memory. */
static bool make_indexes(clpi_block_store *store)
{
  size_t row_bytes = MAX(store->bins_per_level * sizeof(uint32_t), CLPI_ROW_BYTES);
  /* calloc's zeros need not be touched, and with many leading bits most never are. */
  char *memory = calloc(1, (CLPI_SIZE_BITS + 1) * row_bytes + CLPI_ROW_BYTES - 1);
  if (!memory)
    return false;
  store->index_memory = memory;
  uintptr_t row = ((uintptr_t)memory + CLPI_ROW_BYTES - 1) & ~(uintptr_t)(CLPI_ROW_BYTES - 1);
  for (unsigned l = 0; l < CLPI_SIZE_BITS; l++, row += row_bytes) {
    unsigned shift = l > store->leading_bits ? l - store->leading_bits : 0;
    store->indexes.rows[clpi_bin_row((size_t)1 << l)] = row + shift;
  }
  return true;
}

bool clpi_store_init(clpi_block_store *store, unsigned leading_bits, size_t max_block_bytes)
{
  size_t bins = (size_t)1 << leading_bits;
  *store = (clpi_block_store){.leading_bits = leading_bits,
                              .bins_per_level = bins,
                              .words_per_level = (bins + WORD_BITS - 1) / WORD_BITS,
                              .max_block_bytes = max_block_bytes,
                              .index_count = 1};
  clpi_list_init(&store->by_age);
  return make_indexes(store);
}

void clpi_store_end(clpi_block_store *store)
{
  for (uint32_t i = 1; i < store->index_count; i++)
    clpi_depot_end(&store->by_index[i].bin->depot);
  for (size_t l = 0; l < CLPI_SIZE_BITS; l++) {
    free(store->levels[l].bins);
    free(store->levels[l].nonempty);
  }
  free(store->index_memory);
  free(store->by_index);
}

size_t clpi_bin_held(const clpi_bin *bin)
{
  return clpi_relaxed(bin->listed) + clpi_relaxed(bin->depot.count);
}

size_t clpi_store_block_bytes(const clpi_block_store *store, clpi_bin_parts parts)
{
  size_t bytes = clpi_bin_size(store->leading_bits, parts);
  return bytes < store->max_block_bytes ? bytes : store->max_block_bytes;
}

static bool make_level(const clpi_block_store *store, clpi_bin_level *level)
{
  size_t bytes = store->bins_per_level * sizeof(clpi_bin);
  clpi_bin *bins = aligned_alloc(alignof(clpi_bin), bytes);
  uint64_t *nonempty = calloc(store->words_per_level, sizeof(*nonempty));
  if (!bins || !nonempty) {
    free(bins);
    free(nonempty);
    return false;
  }
  memset(bins, 0, bytes);
  level->bins = bins;
  level->nonempty = nonempty;
  return true;
}

static bool give_index(clpi_block_store *store, clpi_bin *bin)
{
  if (store->index_count >= store->index_capacity) {
    uint32_t capacity = store->index_capacity ? 2 * store->index_capacity : 64;
    clpi_indexed_bin *grown = realloc(store->by_index, capacity * sizeof(*grown));
    if (!grown)
      return false;
    store->by_index = grown;
    store->index_capacity = capacity;
  }
  store->by_index[store->index_count] = (clpi_indexed_bin){bin, bin->block_bytes};
  bin->index = store->index_count++;
  bin->depot.lock = CLPI_LOCK_INIT;
  /* Relaxed, as the load in clpi_allocate_cached. */
  clpi_set_relaxed(*clpi_bin_index(&store->indexes, bin->block_bytes), bin->index);
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
  if (clpi_relaxed(bin->listed)) {
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

/* Adds to the counts of listed blocks; to subtract, `blocks` is a negative number as a size_t. */
static void count(clpi_block_store *store, clpi_bin *bin, size_t blocks)
{
  size_t before = clpi_relaxed(bin->listed);
  clpi_set_relaxed(bin->listed, before + blocks);
  store->listed_blocks += blocks;
  store->listed_bytes += blocks * bin->block_bytes;
  if (!before != !(before + blocks))
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
  bool is_linked = bin->on_by_age.next != NULL;
  if (is_linked && bin->oldest && bin->oldest->age == bin->oldest_age)
    return;
  clpi_list *after = is_linked ? bin->on_by_age.previous : store->by_age.previous;
  if (is_linked)
    clpi_list_remove(&bin->on_by_age);
  bin->on_by_age = (clpi_list){NULL, NULL};
  if (!bin->oldest)
    return;
  bin->oldest_age = bin->oldest->age;
  link_bin(store, bin, after);
}

/* --- the list --- */

/* Inserts a block by age, searching in both directions from `near`, a block on the list, or from
 * the newest; but one that is put back after it was the oldest is that again. Blocks come from the
 * caches of several threads, so a new one may be older than some on the list; blocks that come
 * together are in order, and each is near the one before. */
static void link_block(clpi_bin *bin, clp_buffer *block, clp_buffer *near)
{
  bool is_oldest = !near && bin->oldest && block->age < bin->oldest->age;
  clp_buffer *older = is_oldest ? NULL : near ? near : bin->newest;
  while (older && older->age > block->age)
    older = older->older;
  clp_buffer *newer = older ? older->newer : bin->oldest;
  for (; newer && newer->age <= block->age; newer = newer->newer)
    older = newer;
  block->newer = newer;
  block->older = older;
  *(newer ? &newer->older : &bin->newest) = block;
  *(older ? &older->newer : &bin->oldest) = block;
  clpi_runs_link(bin, block);
}

static void unlink_block(clpi_bin *bin, clp_buffer *block)
{
  clpi_runs_unlink(bin, block);
  *(block->newer ? &block->newer->older : &bin->newest) = block->older;
  *(block->older ? &block->older->newer : &bin->oldest) = block->newer;
}

/* --- depots --- */

/* Goes through the batches from the oldest, so that each block is near the one before. */
void clpi_store_list(clpi_block_store *store, clpi_bin *bin)
{
  clp_buffer *last = NULL;
  if (!atomic_load(&bin->depot.count))
    return;
  for (clpi_batch *batch = clpi_depot_take_all(&bin->depot), *next; batch; batch = next) {
    next = batch->below;
    for (unsigned i = 0; i < batch->count; last = batch->blocks[i++])
      link_block(bin, batch->blocks[i], last);
    count(store, bin, batch->count);
    clpi_depot_spare(&bin->depot, batch);
  }
  update_age(store, bin);
}

/* Sequentially consistent, as are the counts of depots: whoever fills a depot counts, and then
 * looks at the flag; here the flag is lowered, and then the counts are looked at. So one of both
 * sees the other, and no block is overlooked. */
void clpi_store_list_all(clpi_block_store *store)
{
  if (!atomic_load(&store->uses_depots))
    return;
  atomic_store(&store->uses_depots, false);
  for (uint32_t i = 1; i < store->index_count; i++)
    clpi_store_list(store, store->by_index[i].bin);
}

bool clpi_store_put_batch(clpi_block_store *store, clpi_bin *bin, clp_buffer *const *blocks,
                          unsigned blocks_count, bool may_allocate)
{
  if (!clpi_depot_put(&bin->depot, blocks, blocks_count, may_allocate))
    return false;
  if (!atomic_load(&store->uses_depots))
    atomic_store(&store->uses_depots, true);
  return true;
}

/* --- the interface --- */

static void put_near(clpi_block_store *store, clpi_bin *bin, clp_buffer *const *blocks,
                     unsigned blocks_count, clp_buffer *near)
{
  clpi_store_list(store, bin);
  for (unsigned i = 0; i < blocks_count; near = blocks[i++]) {
    clpi_set_state(blocks[i], CLPI_BUFFER_HELD);
    link_block(bin, blocks[i], near);
  }
  count(store, bin, blocks_count);
  update_age(store, bin);
}

void clpi_store_put(clpi_block_store *store, clp_buffer *block)
{
  put_near(store, block->bin, &block, 1, NULL);
}

/* The link to the block that followed is still there. That one may have gone as well, and come back
 * or not: buffers last as long as the pool. */
void clpi_store_put_back(clpi_block_store *store, clp_buffer *block)
{
  clp_buffer *next = block->newer;
  bool is_near = next && next->run.newer && next->bin == block->bin;
  put_near(store, block->bin, &block, 1, is_near ? next : NULL);
}

void clpi_store_put_many(clpi_block_store *store, clpi_bin *bin, clp_buffer *const *blocks,
                         unsigned blocks_count)
{
  put_near(store, bin, blocks, blocks_count, NULL);
}

void clpi_store_remove(clpi_block_store *store, clp_buffer *block)
{
  count(store, block->bin, -(size_t)1);
  unlink_block(block->bin, block);
  update_age(store, block->bin);
}

void clpi_store_sort_uses(clpi_block_store *store)
{
  for (uint32_t i = 1; i < store->index_count; i++)
    clpi_runs_remake(store->by_index[i].bin);
}

clp_buffer *clpi_store_take(clpi_block_store *store, clpi_bin *bin)
{
  clp_buffer *block = bin->newest;
  if (block)
    clpi_store_remove(store, block);
  return block;
}

clp_buffer *clpi_store_take_largest(clpi_block_store *store)
{
  clpi_store_list_all(store);
  if (!store->nonempty_levels)
    return NULL;
  const clpi_bin_level *level = &store->levels[highest_bit(store->nonempty_levels)];
  size_t word = store->words_per_level - 1;
  while (!level->nonempty[word])
    word--;
  clpi_bin *bin = &level->bins[word * WORD_BITS + highest_bit(level->nonempty[word])];
  return clpi_store_take(store, bin);
}

void clpi_store_add_held(const clpi_block_store *store, size_t *blocks, size_t *bytes)
{
  *blocks += store->listed_blocks;
  *bytes += store->listed_bytes;
  for (uint32_t i = 1; clpi_relaxed(store->uses_depots) && i < store->index_count; i++) {
    size_t count = clpi_relaxed(store->by_index[i].bin->depot.count);
    *blocks += count;
    *bytes += count * store->by_index[i].block_bytes;
  }
}

clp_buffer *clpi_store_find_oldest(clpi_block_store *store)
{
  clpi_store_list_all(store);
  return clpi_list_is_empty(&store->by_age) ? NULL : bin_at(store->by_age.next)->oldest;
}

clp_buffer *clpi_store_take_oldest(clpi_block_store *store)
{
  clp_buffer *oldest = clpi_store_find_oldest(store);
  if (oldest)
    clpi_store_remove(store, oldest);
  return oldest;
}
