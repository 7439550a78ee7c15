/* SPDX-License-Identifier: MIT */
/* Segments on their way from upstream or back to it. Who finds no memory waits for those of other
 * threads, which may leave some behind. Guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_MOVES_H
#define CLPOOL_ARENA_MOVES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_moves {
  size_t coming_bytes, leaving_bytes;
  size_t count;
  pthread_cond_t ended; /* one of them */
} clpi_moves;

/* `bytes` are one of the two sums above. */
static inline void clpi_move_begin_locked(clpi_moves *moves, size_t *sum, size_t bytes)
{
  *sum += bytes;
  moves->count++;
}

static inline void clpi_move_end_locked(clpi_moves *moves, size_t *sum, size_t bytes)
{
  *sum -= bytes;
  moves->count--;
  pthread_cond_broadcast(&moves->ended);
}

/* Waits until one has ended, but gives up the lock meanwhile; false: there are none. The caller has
 * none under way. */
static inline bool clpi_move_await_locked(clpi_moves *moves, pthread_mutex_t *lock)
{
  if (!moves->count)
    return false;
  pthread_cond_wait(&moves->ended, lock);
  return true;
}

#endif
