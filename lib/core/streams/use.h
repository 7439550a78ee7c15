/* SPDX-License-Identifier: MIT */
/* Uses: work on a stream up to some moment, and whether it is done.
 *
 * A use is not marked on the device when it is noted, since that costs a call to the driver: it
 * just gets the stream's epoch. A mark that is made later raises the epoch before, so uses of lower
 * epochs come before the mark. For a thread gives its work to the stream and then loads the epoch;
 * if it loads the old one, its work was there before the mark, else the driver's own lock on the
 * stream would have brought the new epoch along. So the load can be relaxed. */
#ifndef CLPOOL_CORE_STREAMS_USE_H
#define CLPOOL_CORE_STREAMS_USE_H

#include "core/streams/stream.h"

typedef struct clpi_use {
  clpi_stream *stream;
  uint64_t epoch;
} clpi_use;

/* What memory is remembered to be used by is needed, in the words of clpi_streams. */
static inline void clpi_use_note_needed_locked(const clpi_use *use)
{
  clpi_stream *stream = use->stream;
  stream->is_needed = true;
  if (stream->last_use < use->epoch)
    stream->last_use = use->epoch;
}

static inline clpi_use clpi_use_now(clpi_stream *stream)
{
  return (clpi_use){stream, atomic_load_explicit(&stream->epoch, memory_order_relaxed)};
}

/* Whether a use is known to be done, or to come before all that `by` is given from now on; `by` may
 * be NULL. */
bool clpi_use_is_settled_locked(const clpi_use *use, const clpi_stream *by);

/* Settles a use for `by`, if it can be: by the allocator's word that it is done (CLPI_POLL), or by
 * making `by` wait for it (CLPI_WAIT, which needs a `by`). The host does not wait. A call to the
 * allocator that fails does not settle, and tells so as last error. Under no lock. */
enum { CLPI_POLL = 1, CLPI_WAIT = 2 };
bool clpi_use_settle(clpi_streams *streams, const clpi_use *use, clpi_stream *by, unsigned ways);

/* Waits on the host until the use is done. Under no lock. The allocator's status, or
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_use_wait(clpi_streams *streams, const clpi_use *use);

/* Notes that memory comes back with a use, so that its stream is kept for who waits for that. */
void clpi_use_note_freed_locked(const clpi_use *use);

/* Sees to it that a use is done or that a mark covers it. Under no lock. The allocator's status, or
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_use_cover(clpi_streams *streams, const clpi_use *use);

/* Makes the youngest mark of a stream stand for all its uses: it is given no more work, and those
 * up to its last_use are covered. Marks that serve nothing then are for clpi_marks_free. */
void clpi_marks_seal_locked(clpi_stream *stream, clpi_list *unneeded);
void clpi_marks_free(clpi_streams *streams, clpi_list *marks); /* under no lock */

/* Lets go of the marks of a stream that nobody else looks at. */
void clpi_marks_end(clpi_streams *streams, clpi_stream *stream);

#endif
