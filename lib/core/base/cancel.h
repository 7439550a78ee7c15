/* SPDX-License-Identifier: MIT */
/* Cancellation: no call of the library is a cancellation point (POSIX, 2.9.5), and callbacks of the
 * program run with cancellation disabled. A thread that ended inside a call would leave locks
 * taken, and operations half done. */
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

/* Keeps the calling thread from being cancelled until the end of the block that begins with it.
 * Every public function that may wait, write, or call an allocator, a driver or the program has it.
 * The warm path does none of these, and does not have it. */
#define CLPI_UNCANCELLED                                                                           \
  const int clpi_cancel_state __attribute__((unused, cleanup(clpi_cancel_restore))) =              \
      clpi_cancel_disable()

#endif
