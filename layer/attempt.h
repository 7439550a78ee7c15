/* SPDX-License-Identifier: MIT */
/* Memory that runs out. A call of the program's that fails for lack of it is made again while pools
 * have something to give back, be it this thread or another one that sees to that: a thread's call
 * fails only where it would without pools. The context's queues get time to be done with what was
 * given back, at most a second for a call, since their work may wait for the program. */
#ifndef CLPOOL_LAYER_ATTEMPT_H
#define CLPOOL_LAYER_ATTEMPT_H

#include "context.h"

/* The thread makes memory for a pool of the program's: lib/opencl/under_layer.h. */
extern _Thread_local bool clpi_leaves_buffers;
void CL_API_CALL clpi_leave_buffers(cl_bool leave);

typedef struct clpi_attempt {
  uint64_t returned; /* clpi_blocks_returned, before the latest call */
  unsigned turns;    /* of waiting that are left */
} clpi_attempt;

/* Before the first call. */
clpi_attempt clpi_attempt_begin(void);

/* Whether the call, which failed with this code, may succeed now. The context is NULL where it is
 * none of ours. */
bool clpi_attempt_again(clpi_attempt *attempt, cl_int code, clpi_context *context);

#endif
