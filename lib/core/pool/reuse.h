/* SPDX-License-Identifier: MIT */
/* Reuse of held blocks of other streams: which one a request may have, and how it is made safe. */
#ifndef CLPOOL_CORE_POOL_REUSE_H
#define CLPOOL_CORE_POOL_REUSE_H

#include "core/pool/request.h"

/* Takes and hands out a held block of the request's bin, of any shard: one that is settled for its
 * stream; else one that other streams used last, settled as far as the pool's reuse_flags allow, or
 * one of the stream's own if it is out of order. NULL: none. Under no lock; the pool is pinned. */
clp_buffer *clpi_take_other(const clpi_request *wanted);

/* Takes a settled block; it is leaving, until clpi_hand_out. NULL: none. */
clp_buffer *clpi_take_settled(const clpi_request *wanted);

/* Hands out a leaving block. Under no lock. */
void clpi_hand_out(const clpi_request *wanted, clp_buffer *block);

/* Asks the allocator whether all uses of a block are done. The block is leaving. Under no lock. */
bool clpi_is_done(clp_pool *pool, clp_buffer *block);

#endif
