/* SPDX-License-Identifier: MIT */
/* Freeing memory after its uses: in the way that the allocator can order frees, else by waiting. */
#include "core/streams/stream.h"

#include "core/allocator/allocator.h"

/* Whether a use is on a stream that the allocator knows. */
static bool are_ordered(clpi_uses all)
{
  for (size_t i = 0; i < all.count; i++)
    if (all.uses[i].stream->is_ordered)
      return true;
  return false;
}

static bool are_pending(clpi_streams *streams, clpi_uses all)
{
  if (!are_ordered(all))
    return false;
  pthread_mutex_lock(streams->lock);
  bool pending = !clpi_uses_are_settled_locked(all.uses, all.count, NULL);
  pthread_mutex_unlock(streams->lock);
  return pending;
}

/* The allocator itself keeps the memory until the uses are done. */
static clp_status free_behind(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                              size_t bytes, clpi_uses all)
{
  clp_status status = clpi_allocator_free(allocator, memory, bytes);
  if (status)
    return status;
  pthread_mutex_lock(streams->lock);
  for (size_t i = 0; i < all.count; i++)
    clpi_use_note_freed_locked(&all.uses[i]);
  pthread_mutex_unlock(streams->lock);
  return CLP_SUCCESS;
}

/* Returns the stream of the only use that is not done, or if the allocator has no stream of its
 * own, of one of them. Never a forgotten stream. Never one that is out of order, if there is
 * another way: a free behind its work needs a barrier. That holds up later work, and another
 * barrier may undo it (opencl/queue_order.c). NULL: there is none. */
static clpi_stream *find_last_locked(const clpi_streams *streams, clpi_uses all)
{
  clpi_stream *last = NULL;
  size_t pending = 0;
  for (size_t i = 0; i < all.count; i++) {
    if (clpi_use_is_settled_locked(&all.uses[i], NULL))
      continue;
    pending++;
    if (!all.uses[i].stream->is_forgotten)
      last = all.uses[i].stream;
  }
  bool serves = pending == 1 && last && last->is_in_order;
  return serves || !streams->allocator->ops.free_stream ? last : NULL;
}

/* Pins the stream to free on: that of a use, else the allocator's own, else the home stream. NULL:
 * there is none. The allocator's status, or CLP_OUT_OF_HOST_MEMORY. */
static clp_status pin_last(clpi_streams *streams, clpi_uses all, clpi_stream **out)
{
  const clp_allocator *allocator = streams->allocator;
  clp_stream handle;
  pthread_mutex_lock(streams->lock);
  clpi_stream *last = find_last_locked(streams, all);
  if (!last && !allocator->ops.free_stream && streams->home.is_ordered)
    last = &streams->home;
  if (last)
    last->pins++;
  pthread_mutex_unlock(streams->lock);
  *out = last;
  if (last || !allocator->ops.free_stream)
    return CLP_SUCCESS;
  clp_status status =
      clpi_allocator_call(allocator, "getting its stream for frees", free_stream, &handle);
  return status ? status : clpi_stream_pin(streams, handle, out);
}

/* Makes the stream `last` wait for all uses but its own, and then frees on it. */
static clp_status free_on(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                          size_t bytes, clpi_uses all, clpi_stream *last)
{
  for (size_t i = 0; i < all.count; i++) {
    bool is_own = all.uses[i].stream == last;
    clp_status status = is_own ? CLP_SUCCESS : clpi_use_order(streams, &all.uses[i], last);
    if (status)
      return status;
  }
  clp_status status =
      clpi_allocator_call(allocator, "freeing on a stream", free_on, memory, bytes, last->handle);
  if (status)
    return status;
  clpi_note_given_back((int64_t)bytes);
  clpi_use freed = clpi_use_now(last);
  pthread_mutex_lock(streams->lock);
  clpi_use_note_freed_locked(&freed);
  pthread_mutex_unlock(streams->lock);
  return CLP_SUCCESS;
}

static clp_status free_after_wait(clpi_streams *streams, clp_allocator *allocator,
                                  clp_memory memory, size_t bytes, clpi_uses all)
{
  for (size_t i = 0; i < all.count; i++) {
    clp_status status = clpi_use_wait(streams, &all.uses[i]);
    if (status)
      return status;
  }
  return clpi_allocator_free(allocator, memory, bytes);
}

clp_status clpi_ordered_free(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                             size_t bytes, clpi_uses all)
{
  if (!are_pending(streams, all))
    return clpi_allocator_free(allocator, memory, bytes);
  if (allocator->ops.free_is_ordered)
    return free_behind(streams, allocator, memory, bytes, all);
  clpi_stream *last = NULL;
  clp_status status = allocator->ops.free_on ? pin_last(streams, all, &last) : CLP_SUCCESS;
  if (!status && !last)
    return free_after_wait(streams, allocator, memory, bytes, all);
  if (status)
    return status;
  status = free_on(streams, allocator, memory, bytes, all, last);
  clpi_stream_unpin(streams, last);
  return status;
}
