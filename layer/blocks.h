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

/* How many blocks have gone back to the driver so far. */
extern atomic_uint_fast64_t clpi_blocks_returned;

#endif
