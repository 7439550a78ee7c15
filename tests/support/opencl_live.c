/* SPDX-License-Identifier: MIT */
/* What the driver has given out. */
#include "opencl_live.h"

#include "suite.h"
#include "wrap_opencl.h"

clpt_cl_live clpt_cl_live_now(void)
{
  return (clpt_cl_live){.contexts = clpt_cl_live_contexts(),
                        .queues = clpt_cl_live_queues(),
                        .mems = clpt_cl_live_mems(),
                        .events = clpt_cl_live_events(),
                        .svm = clpt_cl_live_svm()};
}

void clpt_cl_assert_live(const clpt_cl_live *then)
{
  clpt_cl_live now = clpt_cl_live_now();

  ck_assert_int_eq(now.contexts, then->contexts);
  ck_assert_int_eq(now.queues, then->queues);
  ck_assert_int_eq(now.mems, then->mems);
  ck_assert_int_eq(now.events, then->events);
  ck_assert_int_eq(now.svm, then->svm);
}
