/* SPDX-License-Identifier: MIT */
/* Which streams use the block of a buffer. */
#ifndef CLPOOL_CORE_STORE_BUFFER_USES_H
#define CLPOOL_CORE_STORE_BUFFER_USES_H

#include "core/store/buffer.h"
#include "core/streams/ordered_free.h"

/* What is noted of a buffer's block: of a held one, all that may still use it; of an active one,
 * what was noted so far. */
clpi_uses clpi_uses_of(clp_buffer *block);

/* Notes that a stream uses an active buffer. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_buffer_note_use_locked(clp_buffer *buffer, clpi_stream *stream);

/* Notes the release of an active buffer on a stream, and with it of all noted uses. */
void clpi_buffer_note_release_locked(clp_buffer *buffer, clpi_stream *stream);

#endif
