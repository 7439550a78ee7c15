/* SPDX-License-Identifier: MIT */
/* The parts of the warm path that are seldom needed, kept out of line. */
#include "core/cache/warm_path.h"

#include <string.h>

atomic_uint clpi_watchers;

clp_buffer *clpi_slot_search(clpi_slot *slot, const clpi_stream *stream)
{
  clp_buffer **top = clpi_relaxed(slot->top), **oldest = clpi_relaxed(slot->blocks);
  for (clp_buffer **next = top; next > oldest; next--) {
    clp_buffer *block = next[-1];
    if (block->use.stream != stream)
      continue;
    memmove(next - 1, next, (size_t)(top - next) * sizeof(*next));
    clpi_set_relaxed(slot->top, top - 1);
    return block;
  }
  return NULL;
}

/* Moves the stream to the front, so that the next search finds it first. */
static void remember(clpi_cache *cache, clpi_stream *stream)
{
  size_t i = 0;
  while (i < CLPI_RECENT_STREAMS - 1 && cache->recent[i] != stream)
    i++;
  memmove(&cache->recent[1], &cache->recent[0], i * sizeof(cache->recent[0]));
  cache->recent[0] = stream;
}

void clpi_given_unpin_locked(clpi_stock *stock, clpi_stream *stream)
{
  clpi_stream_unpin_locked(&stock->streams, stream);
  clpi_cache *cache = stream->is_in_order ? clpi_cache_of_thread_locked(stock, NULL) : NULL;
  if (cache)
    remember(cache, stream);
}
