/* SPDX-License-Identifier: MIT */
/* The order of blocks: which streams may still use one, and what must be so before it serves
 * another or goes back to the device. */
#ifndef CLPOOL_CORE_POOL_REUSE_H
#define CLPOOL_CORE_POOL_REUSE_H

#include "core/store/buffer.h"
#include "core/streams/ordered_free.h"

/* What is noted of a handle's block: of a held one, all that may still use it; of an active one,
 * what was noted so far. */
clpi_uses clpi_uses_of(clp_buffer *block);

/* Notes that a stream uses an active buffer. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_order_note_use_locked(clp_buffer *buffer, clpi_stream *stream);

/* Notes the release of an active buffer on a stream, and with it of all noted uses. */
void clpi_order_note_release_locked(clp_buffer *buffer, clpi_stream *stream);

/* The newest block of the bin in the store that may serve `stream` without more ado; NULL: none. */
clp_buffer *clpi_order_take_settled_locked(clp_pool *pool, struct clpi_bin *bin,
                                           const clpi_stream *stream);

/* A held block of the bin that other streams used last, made safe for `stream` as the pool's
 * reuse_flags allow, or one of its own where that is out of order; it is in no list then. NULL:
 * there is none. Gives up the lock meanwhile, so the caller keeps the pool alive. */
clp_buffer *clpi_order_take_other_locked(clp_pool *pool, struct clpi_bin *bin, clpi_stream *stream);

/* Gives the memory of a block in no list back to the allocator, after all its uses. Waits on the
 * host only where the allocator can do no better. Under no lock. The allocator's status. */
clp_status clpi_order_free(clp_pool *pool, clp_buffer *block);

/* Whether all uses of a block in no list are done, as the allocator says. Under no lock. */
bool clpi_order_is_done(clp_pool *pool, clp_buffer *block);

/* Holds a block that was leaving again, by its age, or gives it back if the pool stopped holding
 * meanwhile: then it gives up the lock. */
void clpi_order_put_back_locked(clp_pool *pool, clp_buffer *block);

/* Tells which streams the pool's blocks and buffers need (clpi_streams). */
void clpi_order_note_needed_locked(clpi_streams *streams);

/* Waits on the host for what streams still do with memory that the pool gave back; whether there
 * was any such. Under no lock. */
bool clpi_order_drain(clp_pool *pool);

#endif
