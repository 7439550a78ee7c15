/* SPDX-License-Identifier: MIT */
/* A loop over a call, in which each allocation of host memory fails in turn. */
#include "host_failures.h"

#include "failmalloc.h"
#include "suite.h"

enum { EACH = 50 };

void clpt_host_fail_next(clpt_host_failures *each)
{
  each->live = clpt_host_live();
  clpt_host_start(CLPT_HOST_FAILS_ONCE, each->nth);
}

void clpt_host_check(clpt_host_failures *each, clp_status status)
{
  (void)clpt_host_stop();
  bool has_failed = clpt_host_failed();
  if (has_failed && (status || !each->may_do_without)) {
    ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
    ck_assert_int_eq(clp_last_error()->status, CLP_OUT_OF_HOST_MEMORY);
    ck_assert_int_eq(clpt_host_live(), each->live);
  } else {
    ck_assert_int_eq(status, CLP_SUCCESS);
  }
  each->count += has_failed;
  each->nth += each->stride && each->nth >= EACH ? each->stride : 1;
  each->is_over = !has_failed;
}
