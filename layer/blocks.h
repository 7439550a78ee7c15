/* SPDX-License-Identifier: MIT */
/* The blocks of a context's pool: memory objects of the driver. */
#ifndef CLPOOL_LAYER_BLOCKS_H
#define CLPOOL_LAYER_BLOCKS_H

#include "context.h"

/* Makes the context's pool, which the context ends. All other members must be set. False: the pool
 * cannot be made. */
bool clpi_blocks_begin(clpi_context *context);

/* Returns how many blocks have gone back to the driver so far. Any thread. */
uint64_t clpi_blocks_returned(void);

#endif
