/* SPDX-License-Identifier: MIT */
/* Which streams use the block of a buffer. */
#ifndef CLPOOL_CORE_STORE_BUFFER_USES_H
#define CLPOOL_CORE_STORE_BUFFER_USES_H

#include "core/store/buffer.h"
#include "core/streams/ordered_free.h"

/* The recorded uses of a buffer's block. If it is held, all work that may still use it; if it is
 * active, what the owner has recorded so far. */
clpi_uses clpi_uses_of(clp_buffer *block);

/* Records that a stream uses an active buffer. Fails with CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_buffer_note_use_locked(clp_buffer *buffer, clpi_stream *stream);

/* Records the release of an active buffer on a stream, and brings all recorded uses up to now. */
void clpi_buffer_note_release_locked(clp_buffer *buffer, clpi_stream *stream);

#endif
