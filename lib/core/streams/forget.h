/* SPDX-License-Identifier: MIT */
/* Streams that are forgotten: those that nothing needs any more, when there are many, and those
 * that their users give up, who may end them then.
 *
 * What memory remembers of a stream that was given up is covered by a mark of it, or done. Its
 * record stays for as long as that is needed, but no handle leads to it, and the allocator is never
 * called with its own: that may come back as another stream. */
#ifndef CLPOOL_CORE_STREAMS_FORGET_H
#define CLPOOL_CORE_STREAMS_FORGET_H

#include "core/streams/stream.h"

/* Asks what streams have done, and lets go of those that nothing needs. Under no lock. */
void clpi_streams_forget_unneeded(clpi_streams *streams);

/* Forgets a stream, if it is known, that its user gives up. Waits for calls with it of other
 * threads, if it may, but not for its work. Under no lock. On failure it is as before.
 * CLP_BUSY: an active buffer needs it, or such a call is under way and it may not wait.
 * CLP_OUT_OF_HOST_MEMORY, or the allocator's status: no mark. */
clp_status clpi_stream_forget(clpi_streams *streams, clp_stream handle, bool may_wait);

#endif
