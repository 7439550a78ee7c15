/* SPDX-License-Identifier: MIT */
/* Records of streams: found, made, and kept while they are looked at. */
#include "core/streams/stream.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/streams/use.h"

#include <stdlib.h>

static void init(clpi_stream *stream, clp_stream handle, bool is_ordered, bool is_in_order)
{
  *stream = (clpi_stream){.handle = handle,
                          .is_ordered = is_ordered,
                          .is_in_order = is_in_order,
                          .epoch = 1,
                          .done = 1};
  clpi_list_init(&stream->marks);
}

static bool runs_in_order(const clp_allocator *allocator, clp_stream handle)
{
  return allocator->ops.stream_is_in_order(allocator->self, handle);
}

void clpi_streams_init(clpi_streams *streams, const clp_allocator *allocator, pthread_mutex_t *lock,
                       void (*note_needed_locked)(clpi_streams *streams))
{
  *streams = (clpi_streams){.allocator = allocator,
                            .lock = lock,
                            .note_needed_locked = note_needed_locked,
                            .many = CLPI_FEW_STREAMS};
  /* Unordered use of an out-of-order queue is the user's to synchronize. */
  clp_stream home = allocator->ops.home_stream;
  bool is_ordered =
      home && clpi_allocator_orders_streams(allocator) && runs_in_order(allocator, home);
  init(&streams->home, home, is_ordered, true);
  clpi_list_init(&streams->list);
  pthread_cond_init(&streams->released, NULL);
}

static void free_stream(clpi_streams *streams, clpi_stream *stream)
{
  clpi_marks_end(streams, stream);
  if (!stream->is_forgotten)
    streams->allocator->ops.stream_release(streams->allocator->self, stream->handle);
  free(stream);
}

/* Ends streams that are on no list of clpi_streams. Under no lock. */
static void free_all(clpi_streams *streams, clpi_list *list)
{
  while (!clpi_list_is_empty(list)) {
    clpi_stream *stream = clpi_list_entry(list->next, clpi_stream, on_streams);
    clpi_list_remove(&stream->on_streams);
    free_stream(streams, stream);
  }
}

void clpi_streams_end(clpi_streams *streams)
{
  clpi_marks_end(streams, &streams->home);
  free_all(streams, &streams->list);
  pthread_cond_destroy(&streams->released);
}

/* Calls `visitor` for each stream, the home stream included, if they are ordered. Under no lock.
 * Returns how many calls returned true. */
static size_t visit(clpi_streams *streams,
                    bool (*visitor)(clpi_streams *streams, clpi_stream *stream))
{
  size_t count = 0;
  if (streams->home.is_ordered)
    count += visitor(streams, &streams->home);
  pthread_mutex_lock(streams->lock);
  for (clpi_list *link = streams->list.next; link != &streams->list;) {
    clpi_stream *stream = clpi_list_entry(link, clpi_stream, on_streams);
    stream->visitors++; /* which keeps it on the list */
    pthread_mutex_unlock(streams->lock);
    count += visitor(streams, stream);
    pthread_mutex_lock(streams->lock);
    link = link->next;
    stream->visitors--;
  }
  pthread_mutex_unlock(streams->lock);
  return count;
}

/* --- streams that nothing needs --- */

void clpi_streams_note_needed_locked(clpi_streams *streams)
{
  streams->home.is_needed = true;
  clpi_list_each (clpi_stream, stream, &streams->list, on_streams) {
    stream->is_needed = stream->pins > 0 || stream->visitors > 0 || stream->freed >= stream->done;
    stream->is_active = false;
    stream->last_use = stream->freed;
  }
  streams->note_needed_locked(streams);
}

static void forget_waits(clpi_stream *stream)
{
  for (size_t i = 0; i < CLPI_WAITS; i++)
    if (stream->waits[i].on && !stream->waits[i].on->is_needed)
      stream->waits[i].on = NULL;
}

/* Takes the streams that nothing needs off the list, to `unneeded`. */
static void take_unneeded_locked(clpi_streams *streams, clpi_list *unneeded)
{
  clpi_streams_note_needed_locked(streams);
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

static bool poll_all(clpi_streams *streams, clpi_stream *stream)
{
  clpi_use all = clpi_use_now(stream);
  return clpi_use_settle(streams, &all, NULL, CLPI_POLL);
}

/* Asks what streams have done, and lets go of those that nothing needs. Under no lock. */
static void forget_unneeded(clpi_streams *streams)
{
  clpi_list unneeded;
  clpi_list_init(&unneeded);
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  visit(streams, poll_all);
  clpi_error_restore(&kept);
  pthread_mutex_lock(streams->lock);
  take_unneeded_locked(streams, &unneeded);
  streams->many = 2 * streams->count + CLPI_FEW_STREAMS;
  streams->ending++;
  pthread_mutex_unlock(streams->lock);
  free_all(streams, &unneeded);
  pthread_mutex_lock(streams->lock);
  if (--streams->ending == 0)
    pthread_cond_broadcast(&streams->released);
  pthread_mutex_unlock(streams->lock);
}

/* --- finding --- */

clpi_stream *clpi_stream_find_locked(clpi_streams *streams, clp_stream handle)
{
  if (streams->home.is_ordered && streams->home.handle == handle)
    return &streams->home;
  clpi_list_each (clpi_stream, stream, &streams->list, on_streams)
    if (stream->handle == handle && !stream->is_forgotten)
      return stream;
  return NULL;
}

static clpi_stream *pin_known(clpi_streams *streams, clp_stream handle)
{
  pthread_mutex_lock(streams->lock);
  clpi_stream *stream = clpi_stream_find_locked(streams, handle);
  if (stream)
    stream->pins++;
  pthread_mutex_unlock(streams->lock);
  return stream;
}

static clp_status make(clpi_streams *streams, clp_stream handle, clpi_stream **out)
{
  unsigned long serial = clpi_error_serial();
  clp_status status = streams->allocator->ops.stream_retain(streams->allocator->self, handle);
  if (status)
    return clpi_allocator_failed(streams->allocator, status, serial, "retaining a stream");
  clpi_stream *stream = aligned_alloc(alignof(clpi_stream), sizeof(*stream));
  if (!stream) {
    streams->allocator->ops.stream_release(streams->allocator->self, handle);
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a stream");
  }
  init(stream, handle, true, runs_in_order(streams->allocator, handle));
  *out = stream;
  return CLP_SUCCESS;
}

/* Enters a new record, unless another thread was faster; returns the one that counts. */
static clpi_stream *enter(clpi_streams *streams, clpi_stream *made, bool *many)
{
  pthread_mutex_lock(streams->lock);
  clpi_stream *stream = clpi_stream_find_locked(streams, made->handle);
  if (!stream) {
    stream = made;
    clpi_list_push_front(&streams->list, &stream->on_streams);
    streams->count++;
  }
  stream->pins++;
  *many = streams->count > streams->many;
  pthread_mutex_unlock(streams->lock);
  return stream;
}

clp_status clpi_stream_pin(clpi_streams *streams, clp_stream handle, clpi_stream **out)
{
  *out = pin_known(streams, handle);
  if (*out)
    return CLP_SUCCESS;
  clpi_stream *made = NULL;
  clp_status status = make(streams, handle, &made);
  if (status)
    return status;
  bool many;
  *out = enter(streams, made, &many);
  if (*out != made)
    free_stream(streams, made);
  if (many)
    forget_unneeded(streams);
  return CLP_SUCCESS;
}

void clpi_stream_unpin(clpi_streams *streams, clpi_stream *stream)
{
  pthread_mutex_lock(streams->lock);
  clpi_stream_unpin_locked(streams, stream);
  pthread_mutex_unlock(streams->lock);
}

/* --- draining --- */

static bool wait_for_freed(clpi_streams *streams, clpi_stream *stream)
{
  pthread_mutex_lock(streams->lock);
  clpi_use last = {stream, stream->freed};
  bool is_pending = last.epoch && !clpi_use_is_settled_locked(&last, NULL);
  pthread_mutex_unlock(streams->lock);
  return is_pending && !clpi_use_wait(streams, &last);
}

bool clpi_streams_drain(clpi_streams *streams)
{
  return visit(streams, wait_for_freed) > 0;
}
