/* SPDX-License-Identifier: MIT */
/* Direct pools. Where an allocator keeps memory itself and has clpi_direct_ops, as an arena has
 * whose memory is an address and no cl_mem, and one thread and one stream in order use the pool, it
 * becomes direct when it gave back what it held again and again. From then on it holds nothing:
 * what is released is the allocator's again at once, which so finds room for requests of other
 * sizes. */
#ifndef CLPOOL_CORE_POOL_DIRECT_H
#define CLPOOL_CORE_POOL_DIRECT_H

#include "core/pool/pool.h"

/* Whether the pool is direct. If another thread or stream has come, that ends here. */
bool clpi_is_direct_locked(clp_pool *pool);

/* What it held went back, since it was due or for a request to fit. When that was so often enough,
 * makes it direct if it may be. Under no lock. */
void clpi_consider_direct(clp_pool *pool);

#endif
