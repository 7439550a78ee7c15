/* SPDX-License-Identifier: MIT */
/* Host memory that fails on purpose, and counts: the program is linked with -Wl,--wrap for every
 * function of libc that allocates (failmalloc_link_flags in tests.mk). Only calls of the thread
 * that arms it are counted and fail; Check's own must be kept out, so assert after the stop. */
#ifndef CLPT_FAILMALLOC_H
#define CLPT_FAILMALLOC_H

#include <stdbool.h>

/** Which of the calls to come fail. */
typedef enum clpt_host_failure {
  CLPT_HOST_COUNTS,     /**< none: they are counted */
  CLPT_HOST_FAILS_ONCE, /**< one */
  CLPT_HOST_STAYS_OUT   /**< one and all after it */
} clpt_host_failure;

/** From now on, this thread's allocations of host memory are counted, and call number `nth` (0 is
 * the next) fails as `failure` says. */
void clpt_host_start(clpt_host_failure failure, unsigned long nth);

/** Between a start and a stop: whether what this thread allocates from now on counts, and fails. */
void clpt_host_count(bool counts);

/** All is as it was. Returns how many calls there were since clpt_host_start. */
unsigned long clpt_host_stop(void);

/** How many blocks were allocated less those freed, over all stretches between a start and a stop:
 * 0 when all that the library took in them it gave back in them. */
long clpt_host_live(void);

/** Whether a call failed between the last start and stop. */
bool clpt_host_failed(void);

#endif
