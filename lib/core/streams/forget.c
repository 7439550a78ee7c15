/* SPDX-License-Identifier: MIT */
/* Forgetting streams: those that nothing needs, when there are many, and those that the program
 * forgets, and may then destroy.
 *
 * When the program has forgotten a stream, all its uses that memory remembers are done, or covered
 * by a mark. Its record stays while they are needed. But no handle leads to the record, and the
 * allocator never gets its handle again, because that may then be another stream. */
#include "core/streams/stream.h"

#include "core/allocator/allocator.h"

#include <stdlib.h>

static void free_stream(clpi_streams *streams, clpi_stream *stream)
{
  clpi_marks_end(streams, stream);
  if (!stream->is_forgotten)
    streams->allocator->ops.stream_release(streams->allocator->self, stream->handle);
  free(stream);
}

static void free_all(clpi_streams *streams, clpi_list *list)
{
  while (!clpi_list_is_empty(list)) {
    clpi_stream *stream = clpi_list_entry(list->next, clpi_stream, on_streams);
    clpi_list_remove(&stream->on_streams);
    free_stream(streams, stream);
  }
}

/* Under all of the owner's locks. */
static void find_needed_locked(clpi_streams *streams)
{
  streams->home.is_needed = true;
  clpi_list_each (clpi_stream, stream, &streams->list, on_streams) {
    stream->is_needed = stream->pins > 0 || stream->visitors > 0 || stream->freed >= stream->done;
    stream->is_active = false;
    stream->last_use = stream->freed;
  }
  streams->owner->note_needed_locked(streams);
}

/* --- streams that nothing needs --- */

static void forget_waits(clpi_stream *stream)
{
  for (size_t i = 0; i < CLPI_WAITS; i++)
    if (stream->waits[i].on && !stream->waits[i].on->is_needed)
      stream->waits[i].on = NULL;
}

/* Takes the streams that nothing needs off the list, to `unneeded`. */
static void take_unneeded_locked(clpi_streams *streams, clpi_list *unneeded)
{
  find_needed_locked(streams);
  forget_waits(&streams->home);
  clpi_list_each (clpi_stream, stream, &streams->list, on_streams)
    forget_waits(stream);
  for (clpi_list *link = streams->list.next, *next; link != &streams->list; link = next) {
    next = link->next;
    if (clpi_list_entry(link, clpi_stream, on_streams)->is_needed)
      continue;
    clpi_list_remove(link);
    clpi_list_push_back(unneeded, link);
    streams->count--;
  }
}

static void forget_unneeded(clpi_streams *streams)
{
  clpi_list unneeded;
  clpi_list_init(&unneeded);
  clpi_streams_poll(streams);
  streams->owner->lock_all(streams);
  take_unneeded_locked(streams, &unneeded);
  streams->many = 2 * streams->count + CLPI_FEW_STREAMS;
  streams->ending++;
  streams->owner->unlock_all(streams);
  free_all(streams, &unneeded);
  pthread_mutex_lock(streams->lock);
  if (--streams->ending == 0)
    pthread_cond_broadcast(&streams->released);
  pthread_mutex_unlock(streams->lock);
}

/* --- a pool's streams --- */

void clpi_streams_init(clpi_streams *streams, const clp_allocator *allocator, pthread_mutex_t *lock,
                       const clpi_streams_owner *owner)
{
  *streams = (clpi_streams){.allocator = allocator->orders,
                            .owner = owner,
                            .lock = lock,
                            .forget_unneeded = forget_unneeded,
                            .many = CLPI_FEW_STREAMS};
  clp_stream home = allocator->ops.home_stream;
  bool is_ordered = home && clpi_allocator_orders_streams(allocator);
  bool is_in_order =
      !is_ordered || allocator->orders->ops.stream_is_in_order(allocator->orders->self, home);
  clpi_stream_init(&streams->home, home, is_ordered, is_in_order);
  clpi_list_init(&streams->list);
  pthread_cond_init(&streams->released, NULL);
}

void clpi_streams_end(clpi_streams *streams)
{
  clpi_marks_end(streams, &streams->home);
  free_all(streams, &streams->list);
  pthread_cond_destroy(&streams->released);
}

/* --- streams that are given up --- */

/* Hides the record of a handle: from now on a call with the handle gets another record. NULL: there
 * is none, and no other thread is about to release one. */
static clpi_stream *hide(clpi_streams *streams, clp_stream handle)
{
  pthread_mutex_lock(streams->lock);
  while (streams->ending > 0)
    pthread_cond_wait(&streams->released, streams->lock);
  clpi_stream *stream = clpi_stream_find_locked(streams, handle);
  if (stream) {
    stream->is_forgotten = true;
    stream->visitors++;
  }
  pthread_mutex_unlock(streams->lock);
  return stream;
}

static void await_unpinned_locked(clpi_streams *streams, const clpi_stream *stream)
{
  while (stream->pins > 0)
    pthread_cond_wait(&streams->released, streams->lock);
}

/* Finds the last use for which a hidden stream is needed; 0: there is none. */
static clp_status find_last_use(clpi_streams *streams, clpi_stream *stream, bool may_wait,
                                uint64_t *last)
{
  streams->owner->lock_all(streams);
  while (may_wait && stream->pins > 0) {
    streams->owner->unlock_all(streams);
    pthread_mutex_lock(streams->lock);
    await_unpinned_locked(streams, stream);
    pthread_mutex_unlock(streams->lock);
    streams->owner->lock_all(streams);
  }
  find_needed_locked(streams);
  *last = stream->last_use >= stream->done ? stream->last_use : 0;
  bool is_pinned = stream->pins > 0, is_active = stream->is_active;
  streams->owner->unlock_all(streams);
  if (is_pinned)
    return clpi_error(CLP_BUSY, 0, "a call in another thread is using the stream");
  if (is_active)
    return clpi_error(CLP_BUSY, 0, "an active buffer is bound to the stream or uses it");
  return CLP_SUCCESS;
}

/* Forgets a hidden stream for good, or after a failure makes it known again. */
static void conclude(clpi_streams *streams, clpi_stream *stream, clp_status status)
{
  clp_stream handle = stream->handle;
  clpi_list dead;
  clpi_list_init(&dead);
  pthread_mutex_lock(streams->lock);
  if (!status) {
    await_unpinned_locked(streams, stream); /* other threads may be making marks, too */
    clpi_marks_seal_locked(stream, &dead);
  } else {
    stream->is_forgotten = false;
  }
  stream->visitors--;
  pthread_mutex_unlock(streams->lock);
  clpi_marks_free(streams, &dead);
  if (!status)
    streams->allocator->ops.stream_release(streams->allocator->self, handle);
}

/* A handle has one record, and a second one if it was used while forgetting the first failed. */
clp_status clpi_stream_forget(clpi_streams *streams, clp_stream handle, bool may_wait)
{
  clp_status status = CLP_SUCCESS;
  for (clpi_stream *stream; !status && (stream = hide(streams, handle));) {
    uint64_t last;
    status = find_last_use(streams, stream, may_wait, &last);
    if (!status && last)
      status = clpi_use_cover(streams, &(clpi_use){stream, last});
    conclude(streams, stream, status);
  }
  return status;
}
