/* SPDX-License-Identifier: MIT */
/* What may be done inside one's own cache about a miss. */
#include "core/cache/miss.h"

#include "core/cache/exchange.h"
#include "core/cache/slabs.h"
#include "core/cache/slots.h"

/* So much is never reserved or managed by one cache, and sums over caches do not overflow. */
static const size_t most_bytes = SIZE_MAX / 1024;

static bool others_seem_to_keep(const clpi_stock *stock, const clpi_cache *own, uint32_t index)
{
  clpi_each_cache(stock, cache)
  {
    if (cache != own && clpi_cache_seems_to_keep(cache, index))
      return true;
  }
  return false;
}

/* Whether the owner should have a new block of the bin: none seems to be held. */
static bool is_empty(const clpi_stock *stock, const clpi_cache *own, const clpi_bin *bin)
{
  return !clpi_bin_held(bin) && !others_seem_to_keep(stock, own, bin->index) &&
         !clpi_bin_held(bin); /* where blocks may have gone meanwhile */
}

/* Or whether it should have one all the same (exchange.h). */
static bool may_exceed(const clpi_stock *stock, const clpi_cache *own, const clpi_bin *bin)
{
  return !clpi_bin_held(bin) && clpi_cache_may_exceed(own, bin) &&
         clpi_others_have_outlet(stock, own, bin->index);
}

static bool may_count(const clpi_cache *cache, const clpi_bin *bin)
{
  size_t bytes = bin->block_bytes;
  return bytes < most_bytes && clpi_relaxed(cache->managed_bytes) < most_bytes - bytes;
}

/* To give up, both are negative numbers as a size_t. */
static void reserve(clpi_miss *miss, size_t bytes, size_t misses)
{
  clpi_cache *cache = miss->cache;
  /* Release: pairs with clpi_taken_bytes_locked. */
  atomic_store_explicit(&cache->reserved_bytes, clpi_relaxed(cache->reserved_bytes) + bytes,
                        memory_order_release);
  cache->misses += misses;
  clpi_set_relaxed(cache->is_slow, misses == 1);
}

typedef enum { LOOK_WITH_LOCK, LACKS_SLAB, IS_MISS } finding;

/* The owner is inside. */
static finding look(clpi_stock *stock, clpi_given given, clpi_miss *miss)
{
  clpi_cache *cache = miss->cache;
  const clpi_slot *slot = clpi_slot_for(stock, cache, miss->bytes, &miss->bin);
  if (!slot || clpi_slot_count(slot) || stock->counts_all ||
      !clpi_recall_stream(stock, cache, given) || !may_count(cache, miss->bin))
    return LOOK_WITH_LOCK;
  bool exceeds = may_exceed(stock, cache, miss->bin);
  if (!exceeds && !is_empty(stock, cache, miss->bin))
    return LOOK_WITH_LOCK;
  miss->buffer = clpi_buffer_take_own(cache);
  if (!miss->buffer)
    return LACKS_SLAB;
  if (exceeds) /* whose line's neighbour other threads read */
    cache->excess_bytes += miss->bin->block_bytes;
  reserve(miss, miss->bin->block_bytes, 1);
  return IS_MISS;
}

/* Under no lock, and not inside. */
static bool add_slab(clpi_stock *stock, clpi_cache *cache)
{
  if (clpi_relaxed(stock->slabs.orphans))
    return false;
  clpi_slab *slab = clpi_slab_make(stock->pool, cache);
  if (!slab)
    return false;
  if (!clpi_door_enter(&cache->door)) {
    clpi_slab_free(slab);
    return false;
  }
  clpi_slab_add(stock, cache, slab);
  clpi_door_leave(&cache->door);
  return true;
}

bool clpi_miss_begin(clpi_stock *stock, size_t bytes, clpi_given given, clpi_miss *miss)
{
  *miss = (clpi_miss){.cache = clpi_cache_find(stock), .bytes = bytes};
  finding found = LACKS_SLAB;
  for (unsigned tries = 0; miss->cache && found == LACKS_SLAB && tries < 2; tries++) {
    if ((tries && !add_slab(stock, miss->cache)) || !clpi_door_enter(&miss->cache->door))
      return false;
    found = look(stock, given, miss);
    clpi_door_leave(&miss->cache->door);
  }
  return found == IS_MISS;
}

bool clpi_miss_end(clpi_stock *stock, clpi_miss *miss, clp_memory memory)
{
  clpi_cache *cache = miss->cache;
  clp_buffer *buffer = miss->buffer;
  size_t bytes = miss->bin->block_bytes;
  if (!clpi_door_enter(&cache->door))
    return false;
  clpi_set_relaxed(cache->managed_bytes, clpi_relaxed(cache->managed_bytes) + bytes);
  reserve(miss, -bytes, -(size_t)1);
  (*clpi_slot_at(cache, miss->bin->index)->misses)++;
  if (!clpi_relaxed(miss->bin->had_block)) /* whose line other threads read */
    clpi_set_relaxed(miss->bin->had_block, true);
  clpi_cache_count_active(stock, cache, miss->bytes);
  buffer->bin = miss->bin;
  buffer->memory = memory;
  buffer->size = miss->bytes;
  clpi_set_relaxed(buffer->index, miss->bin->index);
  clpi_door_leave(&cache->door);
  return true;
}

void clpi_miss_leave_locked(clpi_miss *miss)
{
  reserve(miss, -miss->bin->block_bytes, -(size_t)1);
}
