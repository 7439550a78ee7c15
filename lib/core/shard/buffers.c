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

static clpi_page *make_page(clp_pool *pool)
{
  clpi_page *page = aligned_alloc(alignof(clpi_page), sizeof(*page));
  if (!page)
    return NULL;
  memset(page, 0, sizeof(*page));
  for (size_t i = 0; i < PAGE_BUFFERS; i++) {
    page->buffers[i].pool = pool;
    page->buffers[i].older = i + 1 < PAGE_BUFFERS ? &page->buffers[i + 1] : NULL;
    clpi_set_state(&page->buffers[i], CLPI_BUFFER_SPARE);
  }
  return page;
}

/* Adds the page before what other threads gave back meanwhile. */
static void add_page_locked(clpi_shards *shards, clpi_page *page)
{
  page->buffers[PAGE_BUFFERS - 1].older = shards->spare;
  shards->spare = page->buffers;
  page->next = shards->pages;
  shards->pages = page;
}

clp_buffer *clpi_buffer_take_locked(clpi_shards *shards)
{
  clp_buffer *buffer = shards->spare;
  if (buffer)
    shards->spare = buffer->older;
  return buffer;
}

clp_buffer *clpi_buffer_take(clpi_shards *shards)
{
  pthread_mutex_lock(&shards->lock);
  clp_buffer *buffer = clpi_buffer_take_locked(shards);
  pthread_mutex_unlock(&shards->lock);
  clpi_page *page = buffer ? NULL : make_page(shards->pool);
  if (!page)
    return buffer;
  pthread_mutex_lock(&shards->lock);
  add_page_locked(shards, page);
  buffer = clpi_buffer_take_locked(shards);
  pthread_mutex_unlock(&shards->lock);
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
