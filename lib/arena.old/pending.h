/* SPDX-License-Identifier: MIT */
/* Segments that are being taken from upstream, or given back to it, just now. A thread that finds
 * no memory waits for those of other threads, which may leave some for it. Guarded by the arena's
 * lock.
 */
#ifndef CLPOOL_ARENA_PENDING_H
#define CLPOOL_ARENA_PENDING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_pending {
  size_t taken_bytes, returned_bytes; /* of the segments, by direction */
  size_t count;
  uint64_t ended, succeeded; /* how many ever did */
  pthread_cond_t end;
} clpi_pending;

/* `*sum` is one of the two sums of bytes above. */
static inline void clpi_pending_begin_locked(clpi_pending *pending, size_t *sum, size_t bytes)
{
  *sum += bytes;
  pending->count++;
}

static inline void clpi_pending_end_locked(clpi_pending *pending, size_t *sum, size_t bytes,
                                           bool has_succeeded)
{
  *sum -= bytes;
  pending->count--;
  pending->ended++;
  pending->succeeded += has_succeeded;
  pthread_cond_broadcast(&pending->end);
}

/* Waits until `succeeded` is no longer `*seen`, and updates that. False: all that were pending when
 * the wait began have ended, and none succeeded. It does not wait for later ones: they may be those
 * of threads that find no memory either. The caller has none pending. */
static inline bool clpi_pending_await_locked(clpi_pending *pending, pthread_mutex_t *lock,
                                             uint64_t *seen)
{
  uint64_t last = pending->ended + pending->count;
  while (pending->succeeded == *seen && pending->ended < last)
    pthread_cond_wait(&pending->end, lock);
  bool has_changed = pending->succeeded != *seen;
  *seen = pending->succeeded;
  return has_changed;
}

#endif
