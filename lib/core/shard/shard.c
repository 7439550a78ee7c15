/* SPDX-License-Identifier: MIT */
/* The life of shards, slots and buffers, and the peak of active bytes. */
#include "core/shard/shard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* glibc has adaptive mutexes, which spin briefly before they sleep. */
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
#define LOCK_INIT ((pthread_mutex_t)PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP)
#else
#define LOCK_INIT ((pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER)
#endif

/* Zeros, of a multiple of the alignment. NULL: out of host memory. */
static void *make_zeros(size_t alignment, size_t bytes)
{
  void *memory = aligned_alloc(alignment, bytes);
  return memory ? memset(memory, 0, bytes) : NULL;
}

/* --- buffers --- */

/* The buffers of a page are taken in an irregular order. Processors prefetch in regular patterns:
 * with a regular order, threads that take from a page in turn would fetch each other's buffers. */
static void add_page_locked(clpi_shards *shards, clpi_page *page)
{
  for (size_t i = 0, at = 0; i < CLPI_PAGE_BUFFERS; i++, at = at ? at * 3 % CLPI_PAGE_BUFFERS : 1) {
    clp_buffer *buffer = &page->buffers[at];
    buffer->pool = shards->pool;
    buffer->older = shards->spare;
    atomic_init(&buffer->index, CLPI_NO_INDEX(CLPI_BUFFER_SPARE));
    shards->spare = buffer;
  }
  page->next = shards->pages;
  shards->pages = page;
}

clp_buffer *clpi_buffer_take(clpi_shards *shards)
{
  clpi_page *page = NULL;
  clp_buffer *buffer;
  do {
    clpi_shards_lock_pool(shards);
    if (page)
      add_page_locked(shards, page);
    buffer = shards->spare;
    if (buffer)
      shards->spare = buffer->older;
    clpi_shards_unlock_pool(shards);
    page = buffer ? NULL : make_zeros(alignof(clpi_page), sizeof(*page));
  } while (page);
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

static void free_pages(clpi_shards *shards)
{
  for (clpi_page *page = shards->pages, *next; page; page = next) {
    next = page->next;
    for (size_t i = 0; i < CLPI_PAGE_BUFFERS; i++)
      free(page->buffers[i].noted);
    free(page);
  }
}

/* --- the peak of active bytes --- */

/* Reads each count twice and takes the lower one. Otherwise, if one thread allocates bytes and
 * another releases them meanwhile, they would count as often as they pass. With several shards, a
 * shard need not look again before it has 1/64 more, or all have. */
void clpi_note_peak_locked(clpi_shards *shards, clpi_shard *shard)
{
  size_t bias = clpi_relaxed(shards->bias), all = 0, seen[CLPI_SHARDS] = {0};
  clpi_each_shard (shards, each)
    seen[each->number] = clpi_acquired(each->active_bytes);
  clpi_each_shard (shards, each) {
    size_t before = seen[each->number] + bias, now = clpi_relaxed(each->active_bytes) + bias;
    all += MIN(before, now) - bias;
  }
  size_t peak = clpi_relaxed(shards->peak_active_bytes);
  while (peak + bias < all + bias &&
         !atomic_compare_exchange_weak_explicit(&shards->peak_active_bytes, &peak, all,
                                                memory_order_relaxed, memory_order_relaxed))
    ;
  size_t own = clpi_relaxed(shard->active_bytes);
  shard->noted_bytes = own + (bias ? MIN(own, all) / 64 : 0);
  shard->calls = 0;
}

void clpi_look_locked(clpi_shards *shards, clpi_shard *shard)
{
  clpi_note_peak_locked(shards, shard);
  if (shards->hold_bytes != SIZE_MAX)
    atomic_fetch_or_explicit(&shards->unusual, CLPI_MAY_SHED, memory_order_relaxed);
}

bool clpi_may_manage_locked(const clpi_shards *shards, size_t limit, size_t bytes)
{
  size_t most = limit ? limit : SIZE_MAX, taken = shards->managed_bytes + shards->reserved_bytes;
  return taken <= most && bytes <= most - taken;
}

void clpi_count_new_locked(clpi_shards *shards, clpi_shard *shard, clp_buffer *buffer,
                           clpi_bin *bin, size_t block_bytes, size_t bytes)
{
  shards->managed_bytes += block_bytes;
  shards->peak_managed_bytes = MAX(shards->peak_managed_bytes, shards->managed_bytes);
  bin->had_block = true;
  buffer->bin = bin;
  buffer->bytes = block_bytes;
  buffer->size = bytes;
  bool is_exact = clpi_buffer_is_exact(buffer) && !shards->carving;
  clpi_set_relaxed(buffer->index, is_exact ? CLPI_NO_INDEX(CLPI_BUFFER_SHARED) : bin->index);
  shards->tick = shard->tick = MAX(shards->tick, shard->tick) + 1; /* what comes is newer */
  clpi_count_allocated_locked(shard, bytes);
}

/* --- shards and slots --- */

void clpi_shards_end(clpi_shards *shards)
{
  clpi_each_shard (shards, shard) {
    for (size_t i = 0; i < CLPI_INDEX_CHUNKS; i++)
      free(clpi_relaxed(shard->far[i]));
    free(shard);
  }
  free(shards->first);
  free_pages(shards);
  clpi_bins_end(&shards->bins);
  pthread_mutex_destroy(&shards->all);
  pthread_mutex_destroy(&shards->lock);
}

/* The new shard's releases must be newer than all before. */
static void look_at_others(clpi_shards *shards, clpi_shard *made)
{
  clpi_each_shard (shards, shard) {
    clpi_spinlock_lock(&shard->lock);
    clpi_look_locked(shards, shard);
    made->tick = MAX(made->tick, shard->tick);
    clpi_spinlock_unlock(&shard->lock);
  }
}

/* If there are several shards, threads may release what others allocated. So a shard's count may be
 * negative: a wrapped number, never below -SIZE_MAX / 1024. With one shard it is not negative, and
 * may be higher than that would allow. */
static clpi_shard *make_shard(clpi_shards *shards, uint32_t number)
{
  enum { CALLS = 64 }; /* of a shard for each shard; where hold_bytes is a bound, for all */
  bool is_first = !clpi_relaxed(shards->count);
  clpi_shard *made = is_first ? NULL : make_zeros(alignof(clpi_shard), sizeof(*made));
  pthread_mutex_lock(&shards->all);
  if (!made) {
    made = shards->first;
    shards->first = NULL;
  }
  uint32_t count = clpi_relaxed(shards->count) + 1;
  clpi_shard *found = clpi_relaxed(shards->by_number[number]);
  if (!found && made) {
    if (count > 1)
      look_at_others(shards, made);
    made->number = number;
    clpi_set_relaxed(shards->bias, count > 1 ? SIZE_MAX / 1024 : 0);
    uint32_t look_after = count > 1 ? 2 * CALLS * count : UINT32_MAX;
    clpi_set_relaxed(shards->look_after, shards->hold_bytes != SIZE_MAX ? CALLS : look_after);
    clpi_set_relaxed(shards->count, count);
    clpi_publish(shards->end, MAX(clpi_relaxed(shards->end), number + 1));
    clpi_publish(shards->by_number[number], made);
    found = made;
    made = NULL;
  }
  pthread_mutex_unlock(&shards->all);
  free(made);
  return found;
}

/* The calling thread's shard, made if need be; if there is no host memory for that, another one:
 * a pool is made with the first. */
static clpi_shard *shard_of_thread(clpi_shards *shards)
{
  if (clpi_self.number == CLPI_NO_SHARD)
    clpi_thread_join();
  uint32_t number = shards->carving ? 0 : clpi_self.number;
  clpi_shard *own = clpi_acquired(shards->by_number[number]);
  if (!own)
    own = make_shard(shards, number);
  for (uint32_t i = 0; !own && i < CLPI_SHARDS; i++)
    own = clpi_acquired(shards->by_number[i]);
  return own;
}

bool clpi_shards_init(clpi_shards *shards, clp_pool *pool, unsigned leading_bits,
                      size_t max_block_bytes)
{
  clpi_threads_watch();
  if (clpi_self.number == CLPI_NO_SHARD)
    clpi_thread_join();
  shards->pool = pool;
  shards->forks = clpi_relaxed(clpi_forks);
  shards->all = shards->lock = LOCK_INIT;
  if (!clpi_bins_init(&shards->bins, leading_bits, max_block_bytes))
    return false;
  shards->first = make_zeros(alignof(clpi_shard), sizeof(*shards->first));
  if (!shards->first)
    clpi_bins_end(&shards->bins);
  return shards->first;
}

static clpi_slot *make_slot(clpi_shard *shard, uint32_t index)
{
  unsigned chunk = clpi_place_of(index).chunk;
  clpi_slot *made = make_zeros(alignof(clpi_slot), sizeof(*made) * clpi_chunk_count(chunk));
  clpi_slot *none = NULL;
  if (made && !atomic_compare_exchange_strong(&shard->far[chunk], &none, made))
    free(made);
  return clpi_slot_at(shard, index);
}

clpi_shard *clpi_shard_for(clpi_shards *shards, uint32_t index)
{
  clpi_shard *own = shard_of_thread(shards);
  if (clpi_slot_at(own, index) || make_slot(own, index))
    return own;
  clpi_each_slot (shards, index, shard, slot)
    return shard;
  return NULL;
}

clpi_shard *clpi_shards_lock(clpi_shards *shards, uint32_t index)
{
  clpi_shard *shard = clpi_shard_for(shards, index);
  clpi_spinlock_lock(&shard->lock);
  clpi_shards_lock_pool(shards);
  return shard;
}

void clpi_shards_unlock(clpi_shards *shards, clpi_shard *shard)
{
  clpi_shards_unlock_pool(shards);
  clpi_spinlock_unlock(&shard->lock);
}

void clpi_shards_set_unusual_locked(clpi_shards *shards, unsigned flag, bool is)
{
  unsigned now = is ? atomic_fetch_or(&shards->unusual, flag) | flag
                    : atomic_fetch_and(&shards->unusual, ~flag) & ~flag;
  bool is_cold = now & ~CLPI_MAY_SHED || !shards->streams.home.is_in_order;
  clpi_set_relaxed(shards->warm_bytes, is_cold ? 0 : shards->bins.max_block_bytes);
}
