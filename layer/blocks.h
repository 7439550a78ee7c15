/* SPDX-License-Identifier: MIT */
/* The blocks of a context's pool, memory objects of the driver: how they are made, and how they go
 * back. Any thread. */
#ifndef CLPOOL_LAYER_BLOCKS_H
#define CLPOOL_LAYER_BLOCKS_H

#include "context.h"

/* Makes the context's pool, which the context ends. All other members must be set. False: the pool
 * cannot be made. */
bool clpi_blocks_begin(clpi_context *context);

/* Gives back the held block that was released first. False: nothing is held. */
bool clpi_blocks_free_oldest(clpi_context *context);

/* Gives held blocks back, the first released first, until there is no excess. */
void clpi_blocks_trim(clpi_context *context);

/* Whether the thread makes memory for a pool of the program (lib/opencl/under_layer.h). */
extern _Thread_local bool clpi_leaves_buffers;

/* Calls that run out of memory. The layer makes a call of the program again as long as this thread
 * or another one gives blocks of pools back. So a call fails only if it would fail without pools,
 * too. Before each attempt, the layer waits for the context's queues to finish with these blocks:
 * at most one second for a call, because their work may wait for the program. */
typedef struct clpi_attempt {
  uint64_t returned; /* how many blocks had gone back before the latest call */
  unsigned turns;    /* of waiting that are left */
} clpi_attempt;

/* Call it before the first call. */
clpi_attempt clpi_attempt_begin(void);

/* Returns whether the call, which failed with `code`, may succeed now. The context is
 * NULL if the layer does not know it. */
bool clpi_attempt_again(clpi_attempt *attempt, cl_int code, clpi_context *context);

#endif
