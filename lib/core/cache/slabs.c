/* SPDX-License-Identifier: MIT */
/* Slabs of buffers. */
#include "core/cache/slabs.h"

#include "core/cache/warm_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* An owner's are used inside its cache, orphans under the lock. */
static clpi_slab *_Atomic *open_slabs(clpi_stock *stock, clpi_cache *owner)
{
  return owner ? &owner->open_slabs : &stock->slabs.orphans;
}

void clpi_slabs_end(clpi_slabs *slabs)
{
  for (clpi_slab *slab = clpi_acquired(slabs->all), *next; slab; slab = next) {
    next = slab->next;
    for (unsigned i = 0; i < slab->count; i++)
      free(slab->buffers[i].noted);
    if (!slab->is_of_cache)
      clpi_slab_free(slab);
  }
}

void clpi_slab_init(clpi_slab *slab, clp_pool *pool, clp_buffer *buffers, unsigned count)
{
  *slab = (clpi_slab){.buffers = buffers, .count = count};
  for (unsigned i = count; i > 0; i--) {
    buffers[i - 1].pool = pool;
    buffers[i - 1].slab = slab;
    atomic_init(&buffers[i - 1].index, CLPI_NO_INDEX(CLPI_BUFFER_SPARE));
    buffers[i - 1].older = slab->spare;
    slab->spare = &buffers[i - 1];
  }
}

/* The slab stands behind its buffers, so that with malloc's own words it takes no more than one
 * more buffer, and pages lie back to back. */
clpi_slab *clpi_slab_make(clp_pool *pool, const clpi_cache *owner)
{
  enum { FIRST_BYTES = 512, PAGE_BYTES = 4096, PAGE_LOG = 3 };
  size_t size = (size_t)FIRST_BYTES << (owner ? MIN(owner->slab_count, PAGE_LOG) : PAGE_LOG);
  size_t alignment = size < PAGE_BYTES ? alignof(clp_buffer) : PAGE_BYTES;
  unsigned count = (unsigned)(size / sizeof(clp_buffer)) - 1;
  void *memory;
  if (posix_memalign(&memory, alignment, count * sizeof(clp_buffer) + sizeof(clpi_slab)))
    return NULL;
  clp_buffer *buffers = memset(memory, 0, count * sizeof(*buffers));
  clpi_slab *slab = (clpi_slab *)(buffers + count);
  clpi_slab_init(slab, pool, buffers, count);
  return slab;
}

void clpi_slab_free(clpi_slab *slab)
{
  free(slab->buffers);
}

void clpi_slab_add(clpi_stock *stock, clpi_cache *owner, clpi_slab *slab)
{
  slab->owner = owner;
  if (owner)
    owner->slab_count++;
  clpi_slab_open(open_slabs(stock, slab->owner), slab);
  slab->next = clpi_relaxed(stock->slabs.all);
  /* Release: whoever finds the slab sees what it was made as. */
  while (!atomic_compare_exchange_weak_explicit(&stock->slabs.all, &slab->next, slab,
                                                memory_order_release, memory_order_relaxed))
    ;
}

/* Opens a slab with what others returned of it, where none is open. False: there is none. */
static bool open_returned(clpi_cache *cache)
{
  /* Acquire: pairs with return_locked, as below. */
  if (!cache->returning && clpi_relaxed(cache->returned))
    cache->returning = atomic_exchange_explicit(&cache->returned, NULL, memory_order_acquire);
  clpi_slab *slab = cache->returning;
  if (!slab)
    return false;
  cache->returning = slab->next_returned;
  /* Release: from now on another thread may store next_returned. */
  slab->spare = atomic_exchange_explicit(&slab->returned, NULL, memory_order_acq_rel);
  clpi_slab_open(&cache->open_slabs, slab);
  return true;
}

clp_buffer *clpi_buffer_take_own(clpi_cache *cache)
{
  clp_buffer *buffer = clpi_slab_take(&cache->open_slabs);
  if (buffer || !open_returned(cache))
    return buffer;
  return clpi_slab_take(&cache->open_slabs);
}

/* The loops go on where the owner takes what is there meanwhile. */
static void return_locked(clpi_cache *owner, clp_buffer *buffer)
{
  clpi_slab *slab = buffer->slab;
  clp_buffer *others = clpi_relaxed(slab->returned);
  do
    buffer->older = others;
  while (!atomic_compare_exchange_weak_explicit(&slab->returned, &others, buffer,
                                                memory_order_acq_rel, memory_order_relaxed));
  if (others)
    return;
  slab->next_returned = clpi_relaxed(owner->returned);
  while (!atomic_compare_exchange_weak_explicit(&owner->returned, &slab->next_returned, slab,
                                                memory_order_release, memory_order_relaxed))
    ;
}

/* Gives an owner without open slabs one: an orphan or a new one. `owner` may be NULL. False: out of
 * host memory. */
static bool open_slab_locked(clpi_stock *stock, clpi_cache *owner)
{
  clpi_slab *slab = clpi_relaxed(stock->slabs.orphans);
  if (slab) {
    clpi_set_relaxed(stock->slabs.orphans, slab->next_open);
    slab->owner = owner;
    clpi_slab_open(open_slabs(stock, slab->owner), slab);
    return true;
  }
  slab = clpi_slab_make(stock->pool, owner);
  if (slab)
    clpi_slab_add(stock, owner, slab);
  return slab;
}

clp_buffer *clpi_buffer_take_locked(clpi_stock *stock, clpi_cache *cache)
{
  clp_buffer *buffer = cache ? clpi_buffer_take_own(cache) : clpi_slab_take(&stock->slabs.orphans);
  if (buffer || !open_slab_locked(stock, cache))
    return buffer;
  return clpi_slab_take(open_slabs(stock, cache));
}

void clpi_buffer_put_locked(clpi_stock *stock, clp_buffer *buffer)
{
  clpi_cache *owner = buffer->slab->owner;
  clpi_buffer_clear(buffer);
  if (!owner || !owner->owner || clpi_cache_is_own(owner))
    clpi_slab_put(open_slabs(stock, owner), buffer);
  else
    return_locked(owner, buffer);
}

clp_buffer *clpi_buffer_adopt_locked(clpi_stock *stock, clp_buffer *block, clpi_cache *cache)
{
  if (block->slab->owner == cache)
    return block;
  clp_buffer *buffer = clpi_buffer_take_locked(stock, cache);
  if (!buffer)
    return block;
  buffer->memory = block->memory;
  buffer->bin = block->bin;
  buffer->age = block->age;
  buffer->use = block->use;
  clpi_noted_uses *noted = buffer->noted;
  buffer->noted = block->noted;
  block->noted = noted;
  clpi_set_state(buffer, CLPI_BUFFER_HELD);
  clpi_buffer_put_locked(stock, block);
  return buffer;
}

void clpi_buffers_each_locked(clpi_stock *stock,
                              void (*visitor)(clp_buffer *buffer, void *argument), void *argument)
{
  for (clpi_slab *slab = clpi_acquired(stock->slabs.all); slab; slab = slab->next)
    for (unsigned i = 0; i < slab->count; i++)
      visitor(&slab->buffers[i], argument);
}

void clpi_slabs_disown_locked(clpi_stock *stock, clpi_cache *cache)
{
  for (clpi_slab *slab = clpi_acquired(stock->slabs.all); slab; slab = slab->next) {
    if (slab->owner != cache)
      continue;
    for (clp_buffer *buffer = clpi_relaxed(slab->returned), *next; buffer; buffer = next) {
      next = buffer->older;
      clpi_slab_put(&cache->open_slabs, buffer);
    }
    clpi_set_relaxed(slab->returned, NULL);
    slab->owner = NULL;
    if (slab->spare)
      clpi_slab_open(open_slabs(stock, slab->owner), slab);
  }
  clpi_set_relaxed(cache->open_slabs, NULL);
  clpi_set_relaxed(cache->returned, NULL);
  cache->returning = NULL;
}
