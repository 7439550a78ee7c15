/* SPDX-License-Identifier: MIT */
/* Segments on their way from upstream or back to it. Who finds no memory waits for those of other
 * threads, which may leave some behind. Guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_MOVES_H
#define CLPOOL_ARENA_MOVES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_moves {
  size_t coming_bytes, leaving_bytes;
  size_t count;
  uint64_t ended, done; /* ever; done: those that did not fail, and so made a difference */
  pthread_cond_t end;
} clpi_moves;

/* `bytes` are one of the two sums above. */
static inline void clpi_move_begin_locked(clpi_moves *moves, size_t *sum, size_t bytes)
{
  *sum += bytes;
  moves->count++;
}

static inline void clpi_move_end_locked(clpi_moves *moves, size_t *sum, size_t bytes, bool is_done)
{
  *sum -= bytes;
  moves->count--;
  moves->ended++;
  moves->done += is_done;
  pthread_cond_broadcast(&moves->end);
}

/* Whether one was done since `*done`, which is brought up to date. Waits for that, but not for more
 * ends than there are moves now: others who lack memory go on failing. Gives up the lock meanwhile.
 * The caller has none under way. */
static inline bool clpi_move_await_locked(clpi_moves *moves, pthread_mutex_t *lock, uint64_t *done)
{
  uint64_t last = moves->ended + moves->count;
  while (moves->done == *done && moves->ended < last)
    pthread_cond_wait(&moves->end, lock);
  bool was_done = moves->done != *done;
  *done = moves->done;
  return was_done;
}

#endif
