/* SPDX-License-Identifier: MIT */
/* Freeing memory after its uses: in the way that the allocator can order frees, else by waiting. */
#include "core/streams/ordered_free.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"

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
  bool pending = false;
  if (!are_ordered(all))
    return false;
  pthread_mutex_lock(streams->lock);
  for (size_t i = 0; !pending && i < all.count; i++)
    pending = !clpi_use_is_settled_locked(&all.uses[i], NULL);
  pthread_mutex_unlock(streams->lock);
  return pending;
}

/* The allocator itself keeps the memory until the uses are done. */
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

/* The stream to free on, pinned: that of a use that is not done, but not a forgotten one; else the
 * home stream. NULL: there is none. */
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

/* Makes the stream `last` wait for all uses, and then frees on it. */
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
