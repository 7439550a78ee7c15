/* SPDX-License-Identifier: MIT */
/* Slabs of buffers. A slab with spare buffers is "open" and on its owner's list of open slabs, or
 * on the stock's list of orphans if no cache owns it. */
#include "core/cache/slabs.h"

#include "core/cache/warm_path.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB_BYTES = 4096, BUFFERS_PER_SLAB = SLAB_BYTES / sizeof(clp_buffer) - 1 };

/* At a multiple of SLAB_BYTES, and less than that, with room for what malloc keeps between blocks:
 * slabs then lie one behind the other, where whole pages would take twice their memory. */
typedef struct clpi_slab {
  clp_buffer buffers[BUFFERS_PER_SLAB];
  struct clpi_slab *next;
  struct clpi_slab *next_open;
  clpi_cache *owner; /* NULL: an orphan */
  clp_buffer *spare; /* buffers without a block, by `older` */
} clpi_slab;
enum { SLAB_USED_BYTES = offsetof(clpi_slab, spare) + sizeof(clp_buffer *) };
static_assert(SLAB_USED_BYTES + 2 * sizeof(size_t) <= SLAB_BYTES, "no room for malloc's header");

static clpi_slab *slab_of(const clp_buffer *buffer)
{
  return (clpi_slab *)((uintptr_t)buffer & -(uintptr_t)SLAB_BYTES);
}

/* An owner's are used inside its cache, orphans under the lock. */
static clpi_slab *_Atomic *open_slabs(clpi_stock *stock, clpi_cache *owner)
{
  return owner ? &owner->open_slabs : &stock->slabs.orphans;
}

static void push_open(clpi_stock *stock, clpi_slab *slab)
{
  clpi_slab *_Atomic *open = open_slabs(stock, slab->owner);
  slab->next_open = clpi_relaxed(*open);
  clpi_set_relaxed(*open, slab);
}

void clpi_slabs_end(clpi_slabs *slabs)
{
  for (clpi_slab *slab = clpi_acquired(slabs->all), *next; slab; slab = next) {
    next = slab->next;
    for (size_t i = 0; i < BUFFERS_PER_SLAB; i++)
      free(slab->buffers[i].noted);
    free(slab);
  }
}

clpi_slab *clpi_slab_make(clp_pool *pool)
{
  void *block;
  if (posix_memalign(&block, SLAB_BYTES, SLAB_BYTES - 2 * sizeof(size_t)))
    return NULL;
  clpi_slab *slab = memset(block, 0, SLAB_USED_BYTES);
  for (size_t i = BUFFERS_PER_SLAB; i > 0; i--) {
    slab->buffers[i - 1].pool = pool;
    slab->buffers[i - 1].older = slab->spare;
    slab->spare = &slab->buffers[i - 1];
  }
  return slab;
}

void clpi_slab_free(clpi_slab *slab)
{
  free(slab);
}

bool clpi_slabs_wait(const clpi_stock *stock, const clpi_cache *owner)
{
  return clpi_relaxed(owner->returned) || clpi_relaxed(stock->slabs.orphans);
}

void clpi_slab_add(clpi_stock *stock, clpi_cache *owner, clpi_slab *slab)
{
  slab->owner = owner;
  push_open(stock, slab);
  slab->next = clpi_relaxed(stock->slabs.all);
  /* Release: whoever finds the slab sees what it was made as. */
  while (!atomic_compare_exchange_weak_explicit(&stock->slabs.all, &slab->next, slab,
                                                memory_order_release, memory_order_relaxed))
    ;
}

/* Puts a spare buffer into its slab, whose owner's cache the caller may use. */
static void put_into_slab(clpi_stock *stock, clp_buffer *buffer)
{
  clpi_slab *slab = slab_of(buffer);
  buffer->older = slab->spare;
  slab->spare = buffer;
  if (!buffer->older)
    push_open(stock, slab);
}

/* Puts what others gave back into the slabs. */
static void take_back_locked(clpi_stock *stock, clpi_cache *cache)
{
  for (clp_buffer *buffer = clpi_relaxed(cache->returned), *next; buffer; buffer = next) {
    next = buffer->older;
    put_into_slab(stock, buffer);
  }
  clpi_set_relaxed(cache->returned, NULL);
}

/* Gives an owner without open slabs one: an orphan or a new one. `owner` may be NULL. False: out of
 * host memory. */
static bool open_slab_locked(clpi_stock *stock, clpi_cache *owner)
{
  clpi_slab *slab = clpi_relaxed(stock->slabs.orphans);
  if (slab) {
    clpi_set_relaxed(stock->slabs.orphans, slab->next_open);
    slab->owner = owner;
    push_open(stock, slab);
    return true;
  }
  slab = clpi_slab_make(stock->pool);
  if (slab)
    clpi_slab_add(stock, owner, slab);
  return slab;
}

clp_buffer *clpi_buffer_take_own(clpi_stock *stock, clpi_cache *owner)
{
  clpi_slab *_Atomic *open = open_slabs(stock, owner);
  clpi_slab *slab = clpi_relaxed(*open);
  if (!slab)
    return NULL;
  clp_buffer *buffer = slab->spare;
  slab->spare = buffer->older;
  buffer->older = NULL;
  if (!slab->spare)
    clpi_set_relaxed(*open, slab->next_open);
  return buffer;
}

clp_buffer *clpi_buffer_take_locked(clpi_stock *stock, clpi_cache *cache)
{
  if (cache && clpi_relaxed(cache->returned))
    take_back_locked(stock, cache);
  if (!clpi_relaxed(*open_slabs(stock, cache)) && !open_slab_locked(stock, cache))
    return NULL;
  return clpi_buffer_take_own(stock, cache);
}

void clpi_buffer_put_locked(clpi_stock *stock, clp_buffer *buffer)
{
  /* `pool`, `bin` and `index` stay: a second release reads them without the lock. */
  buffer->memory = 0;
  buffer->size = 0;
  clpi_set_state(buffer, CLPI_BUFFER_SPARE);
  buffer->bound = NULL;
  if (buffer->noted)
    buffer->noted->count = 0;
  clpi_cache *owner = slab_of(buffer)->owner;
  if (!owner || !owner->owner || clpi_cache_is_own(owner)) {
    put_into_slab(stock, buffer);
    return;
  }
  buffer->older = clpi_relaxed(owner->returned);
  clpi_set_relaxed(owner->returned, buffer);
}

clp_buffer *clpi_buffer_adopt_locked(clpi_stock *stock, clp_buffer *block, clpi_cache *cache)
{
  if (slab_of(block)->owner == cache)
    return block;
  clp_buffer *buffer = clpi_buffer_take_locked(stock, cache);
  if (!buffer)
    return block;
  buffer->memory = block->memory;
  buffer->bin = block->bin;
  buffer->index = block->index;
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
    for (size_t i = 0; i < BUFFERS_PER_SLAB; i++)
      visitor(&slab->buffers[i], argument);
}

void clpi_slabs_disown_locked(clpi_stock *stock, clpi_cache *cache)
{
  take_back_locked(stock, cache);
  for (clpi_slab *slab = clpi_acquired(stock->slabs.all); slab; slab = slab->next) {
    if (slab->owner != cache)
      continue;
    slab->owner = NULL;
    if (slab->spare)
      push_open(stock, slab);
  }
  clpi_set_relaxed(cache->open_slabs, NULL);
}
