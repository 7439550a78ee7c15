/* SPDX-License-Identifier: MIT */
/* Reuse: which held block a stream may have, and how it is made safe. */
#ifndef CLPOOL_CORE_POOL_REUSE_H
#define CLPOOL_CORE_POOL_REUSE_H

#include "core/pool/pool.h"

/* Takes a block of the bin in the store whose uses are all settled for `stream`: the newest of
 * those at the ends of the bin's runs. NULL: no block is settled. */
clp_buffer *clpi_take_settled_locked(clp_pool *pool, clpi_bin *bin, const clpi_stream *stream);

/* Takes a block of the bin from the store and settles its uses for `stream`: one that other streams
 * used last, as far as the pool's reuse_flags allow, or one of the stream's own if it is out of
 * order. NULL: none. Releases the lock meanwhile, so the caller must keep the pool alive. */
clp_buffer *clpi_take_other_locked(clp_pool *pool, clpi_bin *bin, clpi_stream *stream);

/* Asks the allocator whether all uses of a block are done. The block is in no list. Under no
 * lock. */
bool clpi_is_done(clp_pool *pool, clp_buffer *block);

#endif
