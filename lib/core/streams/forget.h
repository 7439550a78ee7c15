/* SPDX-License-Identifier: MIT */
/* Forgetting streams: those that nothing needs any more, when there are many, and those that their
 * users give up, and may then destroy.
 *
 * When a user has given a stream up, all its uses that memory remembers are done, or covered by a
 * mark. Its record stays while they are needed, but no handle leads to it, and its own handle is
 * never passed to the allocator again: that may be another stream by then. */
#ifndef CLPOOL_CORE_STREAMS_FORGET_H
#define CLPOOL_CORE_STREAMS_FORGET_H

#include "core/streams/stream.h"

/* When there are many streams, those that nothing needs any more are forgotten. */
void clpi_streams_init(clpi_streams *streams, const clp_allocator *allocator, pthread_mutex_t *lock,
                       const clpi_streams_owner *owner);

/* Releases all streams. */
void clpi_streams_end(clpi_streams *streams);

/* Forgets a stream that its user gives up, if it is known. Waits for other threads' calls with the
 * stream, if it may, but not for its work. Under no lock. On failure nothing has changed.
 * CLP_BUSY: an active buffer needs it, or a call with it is under way and it may not wait.
 * CLP_OUT_OF_HOST_MEMORY, or the allocator's status: no mark could be made. */
clp_status clpi_stream_forget(clpi_streams *streams, clp_stream handle, bool may_wait);

#endif
