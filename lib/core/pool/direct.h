/* SPDX-License-Identifier: MIT */
/* Direct pools. Where an allocator keeps memory itself, and one thread and one stream in order use
 * the pool, it becomes direct when it had to give back what it held again and again. From then on
 * it holds nothing: what is released is the allocator's again at once, which so finds room for
 * requests of other sizes. */
#ifndef CLPOOL_CORE_POOL_DIRECT_H
#define CLPOOL_CORE_POOL_DIRECT_H

#include "core/pool/pool.h"

/* Whether the pool is direct; it is so no more when another thread or stream has come. */
bool clpi_is_direct_locked(clp_pool *pool);

/* What it held had to go back for a request to fit. Makes it direct, if that was the last time.
 * Under no lock. */
void clpi_consider_direct(clp_pool *pool);

#endif
