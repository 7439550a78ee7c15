/* SPDX-License-Identifier: MIT */
/* The blocks of a context's pool: memory objects of the driver's. */
#ifndef CLPOOL_LAYER_BLOCKS_H
#define CLPOOL_LAYER_BLOCKS_H

#include "context.h"

/* Makes the context's pool. The context is complete otherwise, and ends the pool. False: it cannot
 * be had. */
bool clpi_blocks_begin(clpi_context *context);

/* How many blocks have gone back to the driver so far. Any thread. */
uint64_t clpi_blocks_returned(void);

#endif
