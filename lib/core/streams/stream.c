/* SPDX-License-Identifier: MIT */
/* Records of streams: finding and making them, visiting all, and what is known of their order. */
#include "core/streams/stream.h"

#include "core/allocator/allocator.h"

#include <stdlib.h>
#include <string.h>

void clpi_stream_init(clpi_stream *stream, clp_stream handle, bool is_ordered, bool is_in_order)
{
  *stream = (clpi_stream){.handle = handle,
                          .is_ordered = is_ordered,
                          .is_in_order = is_in_order,
                          .epoch = 1,
                          .done = 1};
  clpi_list_init(&stream->marks);
}

size_t clpi_streams_visit(clpi_streams *streams,
                          bool (*visitor)(clpi_streams *streams, clpi_stream *stream))
{
  size_t count = 0;
  if (streams->home.is_ordered)
    count += visitor(streams, &streams->home);
  pthread_mutex_lock(streams->lock);
  for (clpi_list *link = streams->list.next; link != &streams->list;) {
    clpi_stream *stream = clpi_list_entry(link, clpi_stream, on_streams);
    stream->visitors++; /* keeps it on the list */
    pthread_mutex_unlock(streams->lock);
    count += visitor(streams, stream);
    pthread_mutex_lock(streams->lock);
    link = link->next;
    stream->visitors--;
  }
  pthread_mutex_unlock(streams->lock);
  return count;
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

static clp_status make(clpi_streams *streams, clp_stream handle, clpi_stream **out)
{
  const clp_allocator *allocator = streams->allocator;
  if (!clpi_allocator_orders_streams(allocator))
    return clpi_error(CLP_NOT_SUPPORTED, 0, "this allocator cannot order streams");
  clp_status status = clpi_allocator_call(allocator, "retaining a stream", stream_retain, handle);
  if (status)
    return status;
  clpi_stream *stream = aligned_alloc(alignof(clpi_stream), sizeof(*stream));
  if (!stream) {
    allocator->ops.stream_release(allocator->self, handle);
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a stream");
  }
  bool is_in_order = allocator->ops.stream_is_in_order(allocator->self, handle);
  clpi_stream_init(stream, handle, true, is_in_order);
  *out = stream;
  return CLP_SUCCESS;
}

/* Lists a new record, unless another thread was faster; returns the listed one, pinned. */
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

static clp_status pin_new(clpi_streams *streams, clp_stream handle, clpi_stream **out)
{
  clpi_stream *made = NULL;
  clp_status status = make(streams, handle, &made);
  if (status)
    return status;
  bool many;
  *out = enter(streams, made, &many);
  if (*out != made) {
    streams->allocator->ops.stream_release(streams->allocator->self, handle);
    free(made);
  }
  if (many)
    streams->forget_unneeded(streams);
  return CLP_SUCCESS;
}

clp_status clpi_stream_pin(clpi_streams *streams, clp_stream handle, clpi_stream **out)
{
  pthread_mutex_lock(streams->lock);
  *out = clpi_stream_find_locked(streams, handle);
  if (*out)
    (*out)->pins++;
  pthread_mutex_unlock(streams->lock);
  return *out ? CLP_SUCCESS : pin_new(streams, handle, out);
}

void clpi_stream_unpin_locked(clpi_streams *streams, clpi_stream *stream)
{
  if (--stream->pins == 0 && stream->is_forgotten)
    pthread_cond_broadcast(&streams->released);
}

void clpi_stream_unpin(clpi_streams *streams, clpi_stream *stream)
{
  pthread_mutex_lock(streams->lock);
  clpi_stream_unpin_locked(streams, stream);
  pthread_mutex_unlock(streams->lock);
}

void clpi_stream_unpin_recent_locked(clpi_streams *streams, clpi_recent recent, clpi_stream *stream)
{
  size_t i = 0;
  while (i < CLPI_RECENT_STREAMS - 1 && recent[i] != stream)
    i++;
  if (stream->is_in_order) {
    memmove((void *)&recent[1], (void *)&recent[0], i * sizeof(recent[0]));
    recent[0] = stream;
  }
  clpi_stream_unpin_locked(streams, stream);
}

/* --- what comes before what --- */

void clpi_stream_note_wait_locked(clpi_stream *by, const clpi_stream *on, uint64_t epoch)
{
  clpi_wait *wait = &by->waits[by->next_wait];
  for (size_t i = 0; i < CLPI_WAITS; i++)
    if (by->waits[i].on == on)
      wait = &by->waits[i];
  if (wait == &by->waits[by->next_wait])
    by->next_wait = (by->next_wait + 1) % CLPI_WAITS;
  if (wait->on != on || wait->epoch < epoch)
    *wait = (clpi_wait){on, epoch};
}

static bool has_waited(const clpi_stream *by, const clpi_use *use)
{
  for (size_t i = 0; i < CLPI_WAITS; i++)
    if (by->waits[i].on == use->stream)
      return by->waits[i].epoch > use->epoch;
  return false;
}

bool clpi_use_is_settled_locked(const clpi_use *use, const clpi_stream *by)
{
  if (!use->stream->is_ordered || use->epoch < use->stream->done)
    return true;
  return by && ((by == use->stream && by->is_in_order) || has_waited(by, use));
}

bool clpi_uses_are_settled_locked(const clpi_use *uses, size_t count, const clpi_stream *by)
{
  for (size_t i = 0; i < count; i++)
    if (!clpi_use_is_settled_locked(&uses[i], by))
      return false;
  return true;
}
