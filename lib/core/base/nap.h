/* SPDX-License-Identifier: MIT */
/* Waiting briefly for what a device does, by asking again and again. */
#ifndef CLPOOL_CORE_BASE_NAP_H
#define CLPOOL_CORE_BASE_NAP_H

#include <stdbool.h>
#include <time.h>

/* Sleeps for 10 us, and each time twice as long as before. False, without a sleep: 20 ms in all
 * have passed. `*naps` counts them, from 0. */
static inline bool clpi_nap(unsigned *naps)
{
  enum { MOST_NAPS = 11, FIRST_NANOSECONDS = 10000 };
  const struct timespec nap = {.tv_nsec = (long)FIRST_NANOSECONDS << *naps};
  if (*naps == MOST_NAPS)
    return false;
  (void)nanosleep(&nap, NULL);
  ++*naps;
  return true;
}

#endif
