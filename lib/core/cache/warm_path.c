/* SPDX-License-Identifier: MIT */
/* What the warm path needs seldom, and what both slow ways have in common. */
#include "core/cache/warm_path.h"

#include <string.h>

clp_buffer *clpi_slot_search(clpi_cache *cache, clpi_cache_slot *slot, const clpi_stream *stream)
{
  unsigned count = clpi_slot_count(slot);
  for (unsigned i = count; i > 0; i--) {
    clp_buffer *block = slot->blocks[i - 1];
    if (block->use.stream != stream)
      continue;
    memmove(&slot->blocks[i - 1], &slot->blocks[i], (count - i) * sizeof(*slot->blocks));
    clpi_slot_set_count(slot, count - 1);
    cache->cached_bytes -= slot->block_bytes;
    return block;
  }
  return NULL;
}

clpi_place clpi_find_place_locked(clp_pool *pool, clpi_bin *bin)
{
  if (!bin)
    return (clpi_place){.tally = &pool->empty};
  clpi_cache *cache = clpi_cache_of_thread_locked(pool);
  clpi_cache_slot *slot = cache ? clpi_cache_slot_locked(cache, bin) : NULL;
  return (clpi_place){cache, slot, slot ? &slot->tally : &bin->tally};
}

/* The last to come is the first to be found. */
static void remember_locked(clpi_cache *cache, clpi_stream *stream)
{
  size_t i = 0;
  while (i < CLPI_RECENT_STREAMS - 1 && cache->recent[i] != stream)
    i++;
  memmove(&cache->recent[1], &cache->recent[0], i * sizeof(cache->recent[0]));
  cache->recent[0] = stream;
}

clp_status clpi_given_pin(clp_pool *pool, clpi_given given, clpi_stream **stream)
{
  *stream = &pool->streams.home;
  return given.is_given ? clpi_stream_pin(&pool->streams, given.handle, stream) : CLP_SUCCESS;
}

void clpi_given_unpin_locked(clp_pool *pool, clpi_given given, clpi_stream *stream)
{
  if (!given.is_given)
    return;
  clpi_stream_unpin_locked(&pool->streams, stream);
  clpi_cache *cache = stream->is_in_order ? clpi_cache_of_thread_locked(pool) : NULL;
  if (cache)
    remember_locked(cache, stream);
}
