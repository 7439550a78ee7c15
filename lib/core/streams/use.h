/* SPDX-License-Identifier: MIT */
/* Uses: work on a stream up to some moment, and whether it is done.
 *
 * Noting a use calls no driver, since that is slow: the use just gets the stream's epoch. Only when
 * someone asks for it, a mark (an event) is made on the stream. The stream's epoch is raised first,
 * so all uses of lower epochs come before the mark: a thread gives its work to the stream before it
 * loads the epoch, and if the work came after the mark, the driver's own lock on the stream would
 * have made the new epoch visible to it. So the load can be relaxed. */
#ifndef CLPOOL_CORE_STREAMS_USE_H
#define CLPOOL_CORE_STREAMS_USE_H

#include "core/streams/stream.h"

/* Notes that the owner's memory remembers this use (clpi_streams.note_needed_locked). */
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

/* Tries to settle a use for `by` (clpi_use_is_settled_locked): by asking the allocator whether it
 * is done (CLPI_POLL), or by making `by` wait for it (CLPI_WAIT, which needs a `by`). The host does
 * not wait. False, with a last error, also when a call to the allocator fails. Under no lock. */
enum { CLPI_POLL = 1, CLPI_WAIT = 2 };
bool clpi_use_settle(clpi_streams *streams, const clpi_use *use, clpi_stream *by, unsigned ways);

/* Waits on the host until the use is done. Under no lock. The allocator's status, or
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_use_wait(clpi_streams *streams, const clpi_use *use);

/* As CLPI_POLL, but waits on the host for some milliseconds. If that was in vain, the stream may
 * wait for the host itself, and nobody waits for it again so until something on it is done. */
bool clpi_use_wait_briefly(clpi_streams *streams, const clpi_use *use);

/* Makes `by` wait for the use, or where it cannot, the host. Under no lock. Statuses as above. If
 * it succeeds, the thread's last error is as it was. */
clp_status clpi_use_order(clpi_streams *streams, const clpi_use *use, clpi_stream *by);

/* Notes that memory was freed which comes back when this use is done. Its stream is kept until
 * then, so that clpi_streams_drain can wait for it. */
void clpi_use_note_freed_locked(const clpi_use *use);

/* Waits on the host for all uses noted as freed; whether it had to wait. Under no lock. */
bool clpi_streams_drain(clpi_streams *streams);

/* Asks the allocator whether all that the streams were given is done. Under no lock. */
void clpi_streams_poll(clpi_streams *streams);

/* Makes sure that a use is done or that a mark covers it. Under no lock. The allocator's status, or
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_use_cover(clpi_streams *streams, const clpi_use *use);

/* Seals a stream that gets no more work and whose uses up to last_use are covered: from now on its
 * latest mark covers them all. Marks without a purpose go to `unneeded`, for clpi_marks_free. */
void clpi_marks_seal_locked(clpi_stream *stream, clpi_list *unneeded);
void clpi_marks_free(clpi_streams *streams, clpi_list *marks); /* under no lock */

/* Frees the marks of a stream that nobody else looks at. */
void clpi_marks_end(clpi_streams *streams, clpi_stream *stream);

/* Uses of one piece of memory. */
typedef struct clpi_uses {
  clpi_use *uses;
  size_t count;
} clpi_uses;

/* Frees memory after all its uses, whose streams stay needed until that is so. Waits on the host
 * only where the allocator can do no better. Under no lock. The allocator's status; on failure the
 * memory is still the caller's. */
clp_status clpi_ordered_free(clpi_streams *streams, clp_allocator *allocator, clp_memory memory,
                             size_t bytes, clpi_uses uses);

#endif
