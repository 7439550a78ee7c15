/* SPDX-License-Identifier: MIT */
/* A loop over a call, in which the first allocation of host memory fails, then the second one, and
 * so on until the call needs no more of them:
 *
 *   clpt_host_failures each = {0};
 *   while (!each.is_over) {
 *     clpt_host_fail_next(&each);
 *     clp_status status = CALL;
 *     clpt_host_check(&each, status);
 *   }
 */
#ifndef CLPT_HOST_FAILURES_H
#define CLPT_HOST_FAILURES_H

#include <clpool/status.h>
#include <stdbool.h>

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
