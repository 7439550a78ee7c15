/* SPDX-License-Identifier: MIT */
/* Giving memory back: as the allocator orders frees, else by waiting. */
#include "core/streams/ordered_free.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"

/* Whether there is a use on a real stream. */
static bool are_ordered(clpi_uses all)
{
  for (size_t i = 0; i < all.count; i++)
    if (all.uses[i].stream->is_ordered)
      return true;
  return false;
}

static bool are_pending(clpi_streams *streams, clpi_uses all)
{
  bool pending = false;
  if (!are_ordered(all))
    return false;
  pthread_mutex_lock(streams->lock);
  for (size_t i = 0; !pending && i < all.count; i++)
    pending = !clpi_use_is_settled_locked(&all.uses[i], NULL);
  pthread_mutex_unlock(streams->lock);
  return pending;
}

/* The device waits for the uses. */
static clp_status free_behind(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                              size_t bytes, clpi_uses all)
{
  clp_status status = clp_allocator_free(allocator, memory, bytes);
  if (status)
    return status;
  pthread_mutex_lock(streams->lock);
  for (size_t i = 0; i < all.count; i++)
    clpi_use_note_freed_locked(&all.uses[i]);
  pthread_mutex_unlock(streams->lock);
  return CLP_SUCCESS;
}

/* The stream of a use that is not done, else the home stream, pinned: one that was given up cannot
 * be freed on. NULL: there is none. */
static clpi_stream *pin_last(clpi_streams *streams, clpi_uses all)
{
  clpi_stream *last = NULL;
  pthread_mutex_lock(streams->lock);
  for (size_t i = 0; !last && i < all.count; i++)
    if (!all.uses[i].stream->is_forgotten && !clpi_use_is_settled_locked(&all.uses[i], NULL))
      last = all.uses[i].stream;
  if (!last && streams->home.is_ordered)
    last = &streams->home;
  if (last)
    last->pins++;
  pthread_mutex_unlock(streams->lock);
  return last;
}

/* After all work on the stream, which the uses are made to come before. */
static clp_status free_on(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                          size_t bytes, clpi_uses all, clpi_stream *last)
{
  for (size_t i = 0; i < all.count; i++)
    if (!clpi_use_settle(streams, &all.uses[i], last, CLPI_WAIT))
      return clp_last_error()->status;
  unsigned long serial = clpi_error_serial();
  clp_status status = allocator->ops.free_on(allocator->self, memory, bytes, last->handle);
  if (status)
    return clpi_allocator_failed(allocator, status, serial, "freeing on a stream");
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
  return clp_allocator_free(allocator, memory, bytes);
}

clp_status clpi_ordered_free(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                             size_t bytes, clpi_uses all)
{
  if (!are_pending(streams, all))
    return clp_allocator_free(allocator, memory, bytes);
  if (allocator->ops.free_is_ordered)
    return free_behind(streams, allocator, memory, bytes, all);
  clpi_stream *last = allocator->ops.free_on ? pin_last(streams, all) : NULL;
  if (!last)
    return free_after_wait(streams, allocator, memory, bytes, all);
  clp_status status = free_on(streams, allocator, memory, bytes, all, last);
  clpi_stream_unpin(streams, last);
  return status;
}
