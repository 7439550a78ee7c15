/* SPDX-License-Identifier: MIT */
/* Pages of buffers. */
#include "core/shard/buffers.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BUFFERS = 31 };
struct clpi_page {
  clpi_page *next;
  clp_buffer buffers[PAGE_BUFFERS];
};
static_assert(sizeof(clpi_page) == 4096, "a page of most systems");

/* Buffers that others gave back, or a page of new ones, by `older`. NULL: out of host memory. */
static clp_buffer *find_more(clpi_shards *shards)
{
  pthread_mutex_lock(&shards->lock);
  clp_buffer *more = shards->spare;
  shards->spare = NULL;
  pthread_mutex_unlock(&shards->lock);
  clpi_page *page = more ? NULL : aligned_alloc(alignof(clpi_page), sizeof(*page));
  if (!page)
    return more;
  memset(page, 0, sizeof(*page));
  for (size_t i = PAGE_BUFFERS; i-- > 0; more = &page->buffers[i]) {
    page->buffers[i].pool = shards->pool;
    page->buffers[i].older = more;
    clpi_set_state(&page->buffers[i], CLPI_BUFFER_SPARE);
  }
  pthread_mutex_lock(&shards->lock);
  page->next = shards->pages;
  shards->pages = page;
  pthread_mutex_unlock(&shards->lock);
  return more;
}

/* The first of these buffers; the shard, which may have got others meanwhile, gets the rest. */
static clp_buffer *add_spare_locked(clpi_shard *shard, clp_buffer *more)
{
  clp_buffer **last = &shard->spare;
  while (*last)
    last = &(*last)->older;
  *last = more->older;
  return more;
}

clp_buffer *clpi_buffer_take(clpi_shards *shards, clpi_shard *shard)
{
  clpi_spinlock_lock(&shard->lock);
  clp_buffer *buffer = shard->spare;
  if (buffer)
    shard->spare = buffer->older;
  clpi_spinlock_unlock(&shard->lock);
  if (buffer || !(buffer = find_more(shards)))
    return buffer;
  clpi_spinlock_lock(&shard->lock);
  buffer = add_spare_locked(shard, buffer);
  clpi_spinlock_unlock(&shard->lock);
  return buffer;
}

void clpi_buffer_put_locked(clpi_shards *shards, clp_buffer *buffer)
{
  buffer->memory = 0;
  buffer->size = 0;
  clpi_set_state(buffer, CLPI_BUFFER_SPARE);
  buffer->bound = NULL;
  if (buffer->noted)
    buffer->noted->count = 0;
  buffer->older = shards->spare;
  shards->spare = buffer;
}

void clpi_buffers_each_locked(const clpi_shards *shards,
                              void (*visitor)(clp_buffer *buffer, void *argument), void *argument)
{
  for (clpi_page *page = shards->pages; page; page = page->next)
    for (size_t i = 0; i < PAGE_BUFFERS; i++)
      visitor(&page->buffers[i], argument);
}

void clpi_buffers_end(clpi_shards *shards)
{
  for (clpi_page *page = shards->pages, *next; page; page = next) {
    next = page->next;
    for (size_t i = 0; i < PAGE_BUFFERS; i++)
      free(page->buffers[i].noted);
    free(page);
  }
}
