/* SPDX-License-Identifier: MIT */
/* Repeats calls that run out of memory. The layer makes a call of the program again as long as this
 * thread or another one gives blocks of pools back. So a call fails only if it would fail without
 * pools, too. Before each attempt, the layer waits for the context's queues to finish with these
 * blocks: at most one second for a call, because their work may wait for the program. */
#ifndef CLPOOL_LAYER_ATTEMPT_H
#define CLPOOL_LAYER_ATTEMPT_H

#include "context.h"

/* Whether the thread makes memory for a pool of the program (lib/opencl/under_layer.h). */
extern _Thread_local bool clpi_leaves_buffers;
void CL_API_CALL clpi_leave_buffers(cl_bool leave);

typedef struct clpi_attempt {
  uint64_t returned; /* clpi_blocks_returned, before the latest call */
  unsigned turns;    /* of waiting that are left */
} clpi_attempt;

/* Call it before the first call. */
clpi_attempt clpi_attempt_begin(void);

/* Returns whether the call, which failed with `code`, may succeed now. The context is NULL if the
 * layer does not know it. */
bool clpi_attempt_again(clpi_attempt *attempt, cl_int code, clpi_context *context);

#endif
