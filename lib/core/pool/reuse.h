/* SPDX-License-Identifier: MIT */
/* Reuse: which held block a stream may have, and what must be so before. */
#ifndef CLPOOL_CORE_POOL_REUSE_H
#define CLPOOL_CORE_POOL_REUSE_H

#include "core/pool/pool.h"

/* The newest block of the bin in the store that may serve `stream` without more ado; NULL: none. */
clp_buffer *clpi_take_settled_locked(clp_pool *pool, clpi_bin *bin, const clpi_stream *stream);

/* A held block of the bin that other streams used last, made safe for `stream` as the pool's
 * reuse_flags allow, or one of its own where that is out of order; it is in no list then. NULL:
 * there is none. Gives up the lock meanwhile, so the caller keeps the pool alive. */
clp_buffer *clpi_take_other_locked(clp_pool *pool, clpi_bin *bin, clpi_stream *stream);

/* Whether all uses of a block in no list are done, as the allocator says. Under no lock. */
bool clpi_is_done(clp_pool *pool, clp_buffer *block);

#endif
