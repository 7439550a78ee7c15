/* SPDX-License-Identifier: MIT */
/* Records of streams: found, made, forgotten. */
#include "core/stream.h"

#include "core/allocator.h"
#include "core/error.h"
#include "core/order.h"
#include "core/pool.h"
#include "core/thread_cache.h"
#include "core/use.h"

#include <stdlib.h>

static void init(clpi_stream *stream, clp_stream handle, bool is_ordered)
{
  *stream = (clpi_stream){.handle = handle, .is_ordered = is_ordered, .epoch = 1, .done = 1};
  clpi_list_init(&stream->marks);
}

void clpi_stream_init_home(clpi_stream *home, const clp_allocator *allocator)
{
  clp_stream handle = allocator->ops.home_stream;
  init(home, handle, handle && clpi_allocator_orders_streams(allocator));
}

static void free_stream(clp_pool *pool, clpi_stream *stream)
{
  clpi_marks_end(pool, stream);
  pool->allocator->ops.stream_release(pool->allocator->self, stream->handle);
  free(stream);
}

static void free_streams(clp_pool *pool, clpi_list *streams)
{
  while (!clpi_list_is_empty(streams)) {
    clpi_stream *stream = clpi_list_entry(streams->next, clpi_stream, on_pool);
    clpi_list_remove(&stream->on_pool);
    free_stream(pool, stream);
  }
}

void clpi_streams_end(clp_pool *pool)
{
  clpi_marks_end(pool, &pool->home);
  free_streams(pool, &pool->streams);
}

size_t clpi_streams_visit(clp_pool *pool, bool (*visitor)(clp_pool *pool, clpi_stream *stream))
{
  size_t count = 0;
  if (pool->home.is_ordered)
    count += visitor(pool, &pool->home);
  pthread_mutex_lock(&pool->lock);
  uint64_t round = ++pool->stream_rounds;
  for (clpi_list *link = pool->streams.next; link != &pool->streams;) {
    clpi_stream *stream = clpi_list_entry(link, clpi_stream, on_pool);
    link = link->next;
    if (stream->visited >= round)
      continue;
    stream->visited = round;
    stream->pins++;
    pthread_mutex_unlock(&pool->lock);
    count += visitor(pool, stream);
    pthread_mutex_lock(&pool->lock);
    stream->pins--;
    link = pool->streams.next; /* the list may have changed */
  }
  pthread_mutex_unlock(&pool->lock);
  return count;
}

/* --- forgetting ---------------------------------------------------------------------------------
 */

/* Finds out which streams a handle needs. A held block whose uses are done needs none. */
static void note_needed(clp_buffer *handle, void *argument)
{
  clp_pool *pool = argument;
  clpi_uses uses = clpi_uses_of(handle);
  bool may_change = clpi_state_of(handle) == CLPI_BUFFER_HELD;
  for (size_t i = 0; i < uses.count; i++) {
    if (may_change && clpi_use_is_settled_locked(&uses.uses[i], NULL))
      uses.uses[i] = (clpi_use){&pool->home, 0};
    uses.uses[i].stream->is_needed = true;
  }
  if (handle->bound)
    handle->bound->is_needed = true;
}

static void forget_waits(clpi_stream *stream)
{
  for (size_t i = 0; i < CLPI_WAITS; i++)
    if (stream->waits[i].on && !stream->waits[i].on->is_needed)
      stream->waits[i].on = NULL;
}

/* Takes the streams that nothing needs off the pool, to `unneeded`. */
static void take_unneeded_locked(clp_pool *pool, clpi_list *unneeded)
{
  clpi_caches_claim_locked(pool);
  pool->home.is_needed = true;
  clpi_list_each (clpi_stream, stream, &pool->streams, on_pool)
    stream->is_needed = stream->pins > 0;
  clpi_handles_each_locked(pool, note_needed, pool);
  forget_waits(&pool->home);
  clpi_list_each (clpi_stream, stream, &pool->streams, on_pool)
    forget_waits(stream);
  for (clpi_list *link = pool->streams.next, *next; link != &pool->streams; link = next) {
    next = link->next;
    if (clpi_list_entry(link, clpi_stream, on_pool)->is_needed)
      continue;
    clpi_list_remove(link);
    clpi_list_push_back(unneeded, link);
    pool->stream_count--;
  }
  clpi_caches_forget_streams_locked(pool);
  clpi_caches_disclaim_locked(pool);
}

static bool poll_all(clp_pool *pool, clpi_stream *stream)
{
  clpi_use all = clpi_use_now(stream);
  return clpi_use_settle(pool, &all, NULL, CLPI_POLL);
}

static void forget_streams(clp_pool *pool)
{
  clpi_list unneeded;
  clpi_list_init(&unneeded);
  clpi_streams_visit(pool, poll_all);
  pthread_mutex_lock(&pool->lock);
  take_unneeded_locked(pool, &unneeded);
  pool->many_streams = 2 * pool->stream_count + CLPI_FEW_STREAMS;
  pthread_mutex_unlock(&pool->lock);
  free_streams(pool, &unneeded);
}

/* --- finding ------------------------------------------------------------------------------------
 */

static clpi_stream *find_locked(clp_pool *pool, clp_stream handle)
{
  if (pool->home.is_ordered && pool->home.handle == handle)
    return &pool->home;
  clpi_list_each (clpi_stream, stream, &pool->streams, on_pool)
    if (stream->handle == handle)
      return stream;
  return NULL;
}

static clpi_stream *pin_known(clp_pool *pool, clp_stream handle)
{
  pthread_mutex_lock(&pool->lock);
  clpi_stream *stream = find_locked(pool, handle);
  if (stream)
    stream->pins++;
  pthread_mutex_unlock(&pool->lock);
  return stream;
}

static clp_status make(clp_pool *pool, clp_stream handle, clpi_stream **out)
{
  unsigned long serial = clpi_error_serial();
  clp_status status = pool->allocator->ops.stream_retain(pool->allocator->self, handle);
  if (status)
    return clpi_allocator_failed(pool->allocator, status, serial, "retaining a stream");
  clpi_stream *stream = aligned_alloc(alignof(clpi_stream), sizeof(*stream));
  if (!stream) {
    pool->allocator->ops.stream_release(pool->allocator->self, handle);
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a stream");
  }
  init(stream, handle, true);
  *out = stream;
  return CLP_SUCCESS;
}

/* Enters a new record, unless another thread was faster; returns the one that counts. */
static clpi_stream *enter(clp_pool *pool, clpi_stream *made, bool *many)
{
  pthread_mutex_lock(&pool->lock);
  clpi_stream *stream = find_locked(pool, made->handle);
  if (!stream) {
    stream = made;
    clpi_list_push_front(&pool->streams, &stream->on_pool);
    pool->stream_count++;
  }
  stream->pins++;
  *many = pool->stream_count > pool->many_streams;
  pthread_mutex_unlock(&pool->lock);
  return stream;
}

clp_status clpi_stream_pin(clp_pool *pool, clp_stream handle, clpi_stream **out)
{
  *out = pin_known(pool, handle);
  if (*out)
    return CLP_SUCCESS;
  clpi_stream *made = NULL;
  clp_status status = make(pool, handle, &made);
  if (status)
    return status;
  bool many;
  *out = enter(pool, made, &many);
  if (*out != made)
    free_stream(pool, made);
  if (many)
    forget_streams(pool);
  return CLP_SUCCESS;
}

void clpi_stream_unpin(clp_pool *pool, clpi_stream *stream)
{
  pthread_mutex_lock(&pool->lock);
  stream->pins--;
  pthread_mutex_unlock(&pool->lock);
}
