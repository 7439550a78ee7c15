/* SPDX-License-Identifier: MIT */
/* Host memory that fails on purpose, and counts: the program is linked with -Wl,--wrap for every
 * function of libc that allocates (failmalloc_link_flags in tests.mk). Only calls of the thread
 * that arms it are counted and fail; Check's own must be kept out, so assert after the stop. */
#ifndef CLPT_FAILMALLOC_H
#define CLPT_FAILMALLOC_H

#include <clpool/status.h>
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

/** A loop over a call, in which the first allocation of host memory fails, then the second one, and
 * so on until the call needs no more of them:
 *
 *   clpt_host_failures each = {0};
 *   while (!each.is_over) {
 *     clpt_host_fail_next(&each);
 *     clp_status status = CALL;
 *     clpt_host_check(&each, status);
 *   }
 */
typedef struct clpt_host_failures {
  unsigned stride;     /**< after the first 50, only every stride-th allocation fails; 0: each */
  bool may_do_without; /**< the call may succeed although an allocation failed */
  bool is_over;        /**< the last call met no failure */
  unsigned long count; /**< how many calls met a failure */
  unsigned long nth;   /**< which allocation fails next; 0 is the first */
  long live;           /**< blocks of host memory before the call */
} clpt_host_failures;

/** From here on, host memory is counted, and the next allocation in turn fails. */
void clpt_host_fail_next(clpt_host_failures *each);

/** Ends the counting. Asserts that the call since clpt_host_fail_next succeeded if no allocation
 * failed, and else returned CLP_OUT_OF_HOST_MEMORY, set the thread's last error, and gave back all
 * host memory that it had taken. */
void clpt_host_check(clpt_host_failures *each, clp_status status);

#endif
