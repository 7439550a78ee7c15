/* SPDX-License-Identifier: MIT */
/* Giving memory back: as the allocator orders frees, else by waiting. */
#include "core/ordered_free.h"

#include "core/allocator.h"
#include "core/error.h"

/* Whether there is a use on a real stream. */
static bool are_ordered(clpi_uses all)
{
  for (size_t i = 0; i < all.count; i++)
    if (all.uses[i].stream->is_ordered)
      return true;
  return false;
}

/* A use that is not known to be done, or NULL. */
static clpi_use *find_pending(clpi_streams *streams, clpi_uses all)
{
  clpi_use *pending = NULL;
  if (!are_ordered(all))
    return NULL;
  pthread_mutex_lock(streams->lock);
  for (size_t i = 0; !pending && i < all.count; i++)
    if (!clpi_use_is_settled_locked(&all.uses[i], NULL))
      pending = &all.uses[i];
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

/* After all work on the stream of `last`, which the other uses are made to come before. */
static clp_status free_on(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                          size_t bytes, clpi_uses all, const clpi_use *last)
{
  for (size_t i = 0; i < all.count; i++)
    if (!clpi_use_settle(streams, &all.uses[i], last->stream, CLPI_WAIT))
      return clp_last_error()->status;
  unsigned long serial = clpi_error_serial();
  clp_status status = allocator->ops.free_on(allocator->self, memory, bytes, last->stream->handle);
  if (status)
    return clpi_allocator_failed(allocator, status, serial, "freeing on a stream");
  clpi_use freed = clpi_use_now(last->stream);
  pthread_mutex_lock(streams->lock);
  clpi_use_note_freed_locked(&freed);
  pthread_mutex_unlock(streams->lock);
  return CLP_SUCCESS;
}

clp_status clpi_ordered_free(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                             size_t bytes, clpi_uses all)
{
  const clpi_use *pending = find_pending(streams, all);
  if (pending && allocator->ops.free_is_ordered)
    return free_behind(streams, allocator, memory, bytes, all);
  if (pending && allocator->ops.free_on)
    return free_on(streams, allocator, memory, bytes, all, pending);
  for (size_t i = 0; pending && i < all.count; i++) {
    clp_status status = clpi_use_wait(streams, &all.uses[i]);
    if (status)
      return status;
  }
  return clp_allocator_free(allocator, memory, bytes);
}
