/* SPDX-License-Identifier: MIT */
/* Handles, and the pages that they are made on. */
#include "core/cache/handles.h"

#include "core/cache/thread_cache.h"
#include "core/pool/pool.h"

#include <stdlib.h>
#include <string.h>

enum { SLAB_BYTES = 4096, HANDLES_PER_SLAB = SLAB_BYTES / sizeof(clp_buffer) - 1 };

typedef struct slab {
  alignas(SLAB_BYTES) clpi_list on_pool;
  clpi_list on_owner; /* on the owner's slabs or on the orphans: those with spare handles first */
  clpi_cache *owner;  /* NULL: an orphan */
  clp_buffer *spare;  /* handles without a block, chained by `older` */
  clp_buffer handles[HANDLES_PER_SLAB];
} slab;

static slab *slab_of(const clp_buffer *handle)
{
  return (slab *)((uintptr_t)handle & -(uintptr_t)SLAB_BYTES);
}

static clpi_list *list_of(clp_pool *pool, clpi_cache *owner)
{
  return owner ? &owner->slabs : &pool->handles.orphans;
}

static void give_to(slab *page, clp_pool *pool, clpi_cache *owner)
{
  page->owner = owner;
  if (page->spare)
    clpi_list_push_front(list_of(pool, owner), &page->on_owner);
  else
    clpi_list_push_back(list_of(pool, owner), &page->on_owner);
}

void clpi_handles_init(clpi_handles *handles)
{
  clpi_list_init(&handles->slabs);
  clpi_list_init(&handles->orphans);
}

void clpi_handles_end(clpi_handles *handles)
{
  while (!clpi_list_is_empty(&handles->slabs)) {
    slab *page = clpi_list_entry(handles->slabs.next, slab, on_pool);
    clpi_list_remove(&page->on_pool);
    for (size_t i = 0; i < HANDLES_PER_SLAB; i++)
      free(page->handles[i].several);
    free(page);
  }
}

static slab *make_slab_locked(clp_pool *pool, clpi_cache *owner)
{
  slab *page = aligned_alloc(alignof(slab), sizeof(*page));
  if (!page)
    return NULL;
  memset(page, 0, sizeof(*page));
  for (size_t i = HANDLES_PER_SLAB; i > 0; i--) {
    page->handles[i - 1].pool = pool;
    page->handles[i - 1].older = page->spare;
    page->spare = &page->handles[i - 1];
  }
  clpi_list_push_back(&pool->handles.slabs, &page->on_pool);
  give_to(page, pool, owner);
  return page;
}

/* The first page of the list, if it has a spare handle; else none has. */
static slab *first_spare(const clpi_list *list)
{
  if (clpi_list_is_empty(list))
    return NULL;
  slab *page = clpi_list_entry(list->next, slab, on_owner);
  return page->spare ? page : NULL;
}

static slab *find_slab_locked(clp_pool *pool, clpi_cache *cache)
{
  slab *page = first_spare(list_of(pool, cache));
  if (page)
    return page;
  page = first_spare(&pool->handles.orphans);
  if (!page)
    return make_slab_locked(pool, cache);
  clpi_list_remove(&page->on_owner);
  give_to(page, pool, cache);
  return page;
}

clp_buffer *clpi_handle_take_locked(clp_pool *pool, clpi_cache *cache)
{
  slab *page = find_slab_locked(pool, cache);
  if (!page)
    return NULL;
  clp_buffer *handle = page->spare;
  page->spare = handle->older;
  handle->older = NULL;
  if (!page->spare) {
    clpi_list_remove(&page->on_owner);
    give_to(page, pool, page->owner);
  }
  return handle;
}

void clpi_handle_put_locked(clp_buffer *handle)
{
  slab *page = slab_of(handle);
  /* `pool`, `bin` and `index` stay: a second release reads them before it has the lock. */
  handle->memory = 0;
  handle->size = 0;
  clpi_set_state(handle, CLPI_BUFFER_SPARE);
  handle->bound = NULL;
  if (handle->several)
    handle->several->count = 0;
  handle->older = page->spare;
  page->spare = handle;
  if (!handle->older) {
    clpi_list_remove(&page->on_owner);
    give_to(page, handle->pool, page->owner);
  }
}

clp_buffer *clpi_handle_adopt_locked(clp_buffer *block, clpi_cache *cache)
{
  if (slab_of(block)->owner == cache)
    return block;
  clp_buffer *handle = clpi_handle_take_locked(block->pool, cache);
  if (!handle)
    return block;
  handle->memory = block->memory;
  handle->bin = block->bin;
  handle->index = block->index;
  handle->age = block->age;
  handle->use = block->use;
  clpi_several *several = handle->several;
  handle->several = block->several;
  block->several = several;
  clpi_set_state(handle, CLPI_BUFFER_HELD);
  clpi_handle_put_locked(block);
  return handle;
}

void clpi_handles_each_locked(clp_pool *pool, void (*visitor)(clp_buffer *handle, void *argument),
                              void *argument)
{
  clpi_list_each (slab, page, &pool->handles.slabs, on_pool)
    for (size_t i = 0; i < HANDLES_PER_SLAB; i++)
      visitor(&page->handles[i], argument);
}

void clpi_handles_disown_locked(clp_pool *pool, clpi_cache *cache)
{
  while (!clpi_list_is_empty(&cache->slabs)) {
    slab *page = clpi_list_entry(cache->slabs.next, slab, on_owner);
    clpi_list_remove(&page->on_owner);
    give_to(page, pool, NULL);
  }
}
