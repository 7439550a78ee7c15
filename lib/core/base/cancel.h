/* SPDX-License-Identifier: MIT */
/* Cancellation: no call of the library is a cancellation point (POSIX, 2.9.5), and what it calls of
 * the program is entered with cancellation disabled. A thread that ended in the midst of a call
 * would leave its locks taken, and what it was about to do half done. */
#ifndef CLPOOL_CORE_BASE_CANCEL_H
#define CLPOOL_CORE_BASE_CANCEL_H

#include <pthread.h>

static inline int clpi_cancel_disable(void)
{
  int before;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static inline void clpi_cancel_restore(const int *before)
{
  int disabled;
  pthread_setcancelstate(*before, &disabled);
}

/* Until the end of the block that begins with it, the calling thread is not cancelled. Stands in
 * every public function that may wait, write, or call an allocator, a driver or the program; not on
 * the warm path, which does nothing of that. */
#define CLPI_UNCANCELLED                                                                           \
  const int clpi_cancel_state __attribute__((unused, cleanup(clpi_cancel_restore))) =              \
      clpi_cancel_disable()

#endif
