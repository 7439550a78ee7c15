/* SPDX-License-Identifier: MIT */
/* Sleeping between attempts, to wait briefly for a device by polling. */
#ifndef CLPOOL_CORE_BASE_NAP_H
#define CLPOOL_CORE_BASE_NAP_H

#include <stdbool.h>
#include <time.h>

/* Sleeps for 10 us at the first call, and at each further call twice as long. After 20 ms in all it
 * returns false and does not sleep. `*naps` counts the calls, from 0. */
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
