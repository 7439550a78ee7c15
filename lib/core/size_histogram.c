/* SPDX-License-Identifier: MIT */
/* Looks at a pool's blocks, by size.
 *
 * What a look costs is paid for: at first there is credit for a millisecond or two of them, then
 * blocks from the device and releases pay, little each. */
#include "core/size_histogram.h"

#include "core/bin.h"
#include "core/pool.h"
#include "core/sizes.h"
#include "core/thread_cache.h"

#include <clpool/bin.h>
#include <stdlib.h>
#include <string.h>

/* All in blocks looked at, some nanoseconds each. */
enum {
  MOST_CREDIT = 1 << 18, /* and the claims of one look */
  CREDIT_A_NEW_BLOCK = 4,
  RELEASES_A_CREDIT = 8,
  COST_A_LEVEL = 32,
  COST_A_CLAIM = 1 << 12, /* of another thread's cache, which is held up by that */
  MOST_BLOCKS = 1 << 16   /* the lock is not kept for more */
};

void clpi_size_histogram_init(clpi_size_histogram *histogram)
{
  histogram->credit = MOST_CREDIT;
}

void clpi_size_histogram_end(clpi_size_histogram *histogram)
{
  for (size_t l = 0; l < CLPI_LEVELS; l++)
    free(histogram->levels[l]);
}

void clpi_size_histogram_reset_peaks(clpi_size_histogram *histogram)
{
  histogram->is_reset = true;
  histogram->peak_requested = 0;
  memset(histogram->peak_padded, 0, sizeof(histogram->peak_padded));
  for (size_t l = 0; l < CLPI_LEVELS; l++)
    if (histogram->levels[l])
      memset(histogram->levels[l], 0, sizeof(*histogram->levels[l]));
}

/* --- one look --- */

/* The ages of blocks in so many buckets. */
enum { AGE_BITS = 2, AGES = CLPI_LEVELS << AGE_BITS };

typedef struct glance {
  clpi_size_histogram *histogram;
  const clp_pool *pool;
  uint64_t now; /* the tick */
  size_t blocks;
  double in_use_bytes;
  double held_bytes[AGES]; /* as last asked for, by age */
} glance;

/* The age of a held block, in releases, by its bucket. */
static size_t age_of(const glance *look, const clp_buffer *block)
{
  uint64_t age = look->now > block->age ? look->now - block->age : 0;
  return clpi_bin_number(AGE_BITS, age + 1);
}

static clpi_size_level *level_of(clpi_size_histogram *histogram, unsigned level)
{
  if (!histogram->levels[level])
    histogram->levels[level] = calloc(1, sizeof(clpi_size_level));
  return histogram->levels[level];
}

static void count_block(clp_buffer *block, void *argument)
{
  glance *look = argument;
  bool in_use = clpi_buffer_is_active(block);
  if (!block->size || (!in_use && clpi_state_of(block) != CLPI_BUFFER_HELD))
    return;
  look->blocks++;
  clpi_bin_place place = clpi_bin_place_of(CLPI_CLASS_BITS, block->size);
  clpi_size_level *level = level_of(look->histogram, place.level);
  if (!level)
    return;
  size_t age = age_of(look, block);
  level->used |= (uint64_t)1 << place.index;
  level->all[place.index]++;
  level->in_use[place.index] += in_use;
  /* A block in use that was released not long ago was held for a shorter time still. */
  level->young |= (uint64_t)(age < look->histogram->old) << place.index;
  if (in_use)
    look->in_use_bytes += (double)block->size;
  else
    look->held_bytes[age] += (double)block->size;
}

/* A pool on an arena holds what was released last, as much as there is room for beside what is in
 * use, and the newest in any case. For the next look: at this one, blocks were counted by the last.
 */
static void find_old(const glance *look)
{
  double peak = (double)look->pool->figures.peak_active_bytes;
  double room = peak - look->in_use_bytes;
  size_t old = clpi_bin_number(AGE_BITS, 2) + 1;
  while (old < AGES && room >= look->held_bytes[old] / 2)
    room -= look->held_bytes[old++];
  look->histogram->old = old;
}

static size_t padded(const clp_pool *pool, unsigned bits, size_t level, size_t index)
{
  return clpi_smaller(clp_bin_size(bits, level << bits | index), pool->store.max_block_bytes);
}

/* The first of the classes in `classes`, which it is taken out of. */
static unsigned take_class(uint64_t *classes)
{
  unsigned first = (unsigned)__builtin_ctzll(*classes);
  *classes &= *classes - 1;
  return first;
}

/* Where the bin of a class stands among those of all settings. */
static size_t node_of(unsigned bits, unsigned class)
{
  return ((size_t)1 << bits) + (class >> (CLPI_CLASS_BITS - bits));
}

/* That a size was there at all is worth knowing, also where it was not in use. */
static void note_most(clpi_size_level *level, const uint32_t sums[2 * CLPI_CLASSES])
{
  for (uint64_t classes = level->used; classes;) {
    unsigned class = take_class(&classes);
    for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++) {
      size_t node = node_of(bits, class);
      uint32_t most = sums[node] ? sums[node] : 1;
      if (most > level->most[node])
        level->most[node] = most;
    }
  }
}

static void note_level(const glance *look, size_t l, double padded_bytes[CLPI_SETTINGS])
{
  clpi_size_level *level = look->histogram->levels[l];
  uint32_t sums[2 * CLPI_CLASSES] = {0};
  for (uint64_t classes = level->used; classes;) {
    unsigned class = take_class(&classes);
    for (unsigned bits = 0; level->in_use[class] && bits < CLPI_SETTINGS; bits++) {
      size_t node = node_of(bits, class);
      sums[node] += level->in_use[class];
      padded_bytes[bits] += (double)level->in_use[class] *
                            (double)padded(look->pool, bits, l, node - ((size_t)1 << bits));
    }
  }
  note_most(level, sums);
}

static void note_in_use(const glance *look)
{
  clpi_size_histogram *histogram = look->histogram;
  double padded_bytes[CLPI_SETTINGS] = {0};
  for (size_t l = 0; l < CLPI_LEVELS; l++)
    if (histogram->levels[l] && histogram->levels[l]->used)
      note_level(look, l, padded_bytes);
  if (look->in_use_bytes > histogram->peak_requested)
    histogram->peak_requested = look->in_use_bytes;
  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++)
    if (padded_bytes[bits] > histogram->peak_padded[bits])
      histogram->peak_padded[bits] = padded_bytes[bits];
}

/* --- what requests an arena's pool would serve from what it holds --- */

static uint32_t count_all(const clpi_size_level *level, size_t first, size_t count)
{
  uint32_t sum = 0;
  for (size_t i = first; i < first + count; i++)
    sum += level->all[i];
  return sum;
}

/* Among so many classes, 1 at least. */
static bool has_young(const clpi_size_level *level, size_t first, size_t count)
{
  return level->young >> first & UINT64_MAX >> (CLPI_CLASSES - count);
}

/* Of the requests for a bin, `m` of those of `base` leading bits, the part that finds a held block
 * where bins are of `bits`. Sizes within a bin are asked for as often as blocks have them. */
static double part_found(const clpi_size_level *level, unsigned base, size_t m, unsigned bits)
{
  size_t width = CLPI_CLASSES >> bits, own_width = CLPI_CLASSES >> base;
  if (bits <= base)
    return has_young(level, (m >> (base - bits)) * width, width);
  size_t first = m * own_width;
  uint32_t all = count_all(level, first, own_width);
  uint32_t found = 0;
  for (size_t i = first; i < first + own_width; i += width)
    found += has_young(level, i, width) ? count_all(level, i, width) : 0;
  return all ? (double)found / all : 0;
}

static void note_requests_of_bin(const glance *look, const clpi_bin *bin, unsigned requests)
{
  unsigned own = look->pool->store.leading_bits;
  unsigned base = own < CLPI_CLASS_BITS ? own : CLPI_CLASS_BITS;
  const clpi_size_level *level = look->histogram->levels[bin->number >> own];
  if (!level)
    return;
  size_t m = (bin->number & (((size_t)1 << own) - 1)) >> (own - base);
  look->histogram->requests += requests;
  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++)
    look->histogram->found[bits] += requests * part_found(level, base, m, bits);
}

/* Those of the cache's thread since its last look. */
static void note_requests(const glance *look, clpi_cache *cache)
{
  for (uint32_t i = 1; i < cache->slot_count && i < look->pool->store.index_count; i++) {
    clpi_cache_slot *slot = &cache->slots[i];
    unsigned requests = (unsigned)(slot->tally.hits + slot->tally.misses);
    if (requests != slot->looked)
      note_requests_of_bin(look, look->pool->store.by_index[i], requests - slot->looked);
    slot->looked = requests;
  }
}

/* --- when to look --- */

static void begin_look(glance *look)
{
  for (size_t l = 0; l < CLPI_LEVELS; l++) {
    clpi_size_level *level = look->histogram->levels[l];
    for (uint64_t classes = level ? level->used : 0; classes;) {
      unsigned class = take_class(&classes);
      level->all[class] = level->in_use[class] = 0;
    }
    if (level)
      level->used = level->young = 0;
  }
  look->now = look->pool->tick;
  clpi_each_cache(look->pool, cache) if (cache->tick > look->now) look->now = cache->tick;
}

void clpi_size_histogram_look_locked(clp_pool *pool, clpi_cache *cache)
{
  clpi_size_histogram *histogram = &pool->sizes;
  glance look = {.histogram = histogram, .pool = pool};
  begin_look(&look);
  clpi_handles_each_locked(pool, count_block, &look);
  find_old(&look);
  note_in_use(&look);
  if (cache)
    note_requests(&look, cache);
  histogram->looks++;
  histogram->blocks = look.blocks;
  histogram->new_blocks = 0;
}

static size_t cost_of_claims(const clp_pool *pool)
{
  return pool->cache_count > 1 ? (pool->cache_count - 1) * COST_A_CLAIM : 0;
}

static size_t cost_of_look(const clp_pool *pool)
{
  const clpi_size_histogram *histogram = &pool->sizes;
  size_t cost = histogram->blocks + histogram->new_blocks;
  for (size_t l = 0; l < CLPI_LEVELS; l++)
    cost += histogram->levels[l] ? COST_A_LEVEL : 0;
  return cost + cost_of_claims(pool);
}

/* Above the most, after threads have ended, it stays what it is. */
static void pay_locked(clp_pool *pool, uint64_t credit)
{
  size_t most = MOST_CREDIT + cost_of_claims(pool);
  size_t room = most - clpi_smaller(most, pool->sizes.credit);
  pool->sizes.credit += credit < room ? (size_t)credit : room;
}

/* Without a cache there is no telling what the thread asked for since. */
static void look_if_paid_locked(clp_pool *pool, clpi_cache *cache)
{
  clpi_size_histogram *histogram = &pool->sizes;
  if (!cache || !pool->holding || histogram->blocks + histogram->new_blocks > MOST_BLOCKS)
    return;
  size_t cost = cost_of_look(pool);
  if (histogram->credit < cost)
    return;
  histogram->credit -= cost;
  clpi_caches_claim_locked(pool);
  clpi_size_histogram_look_locked(pool, cache);
  clpi_caches_disclaim_locked(pool);
}

void clpi_size_histogram_note_new_locked(clp_pool *pool, clpi_cache *cache)
{
  enum { BLOCKS_A_NEW_ONE = 8 };
  clpi_size_histogram *histogram = &pool->sizes;
  histogram->new_blocks++;
  pay_locked(pool, CREDIT_A_NEW_BLOCK);
  if (histogram->new_blocks > histogram->blocks / BLOCKS_A_NEW_ONE)
    look_if_paid_locked(pool, cache);
}

void clpi_size_histogram_note_releases_locked(clp_pool *pool, clpi_cache *cache, uint64_t releases)
{
  pay_locked(pool, releases / RELEASES_A_CREDIT);
  look_if_paid_locked(pool, cache);
}
