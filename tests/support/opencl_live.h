/* SPDX-License-Identifier: MIT */
/* What the driver has given out and not got back: taken at the start of a test, and asserted on. */
#ifndef CLPT_OPENCL_LIVE_H
#define CLPT_OPENCL_LIVE_H

typedef struct clpt_cl_live {
  long contexts, queues, mems, events, svm;
} clpt_cl_live;

clpt_cl_live clpt_cl_live_now(void);

/** Asserts that there is as much as then. */
void clpt_cl_assert_live(const clpt_cl_live *then);

#endif
