/* SPDX-License-Identifier: MIT */
/* Forgetting a stream that its user gives up and may end then.
 *
 * What memory still notes of it is done, or covered by a mark. Its record stays for as long as that
 * is needed, but no handle leads to it, and the allocator is never called with its own handle: that
 * may come back as another stream. */
#ifndef CLPOOL_CORE_STREAMS_FORGET_H
#define CLPOOL_CORE_STREAMS_FORGET_H

#include "core/streams/stream.h"

/* Forgets a stream, if it is known, that its user gives up. Waits for calls with it of other
 * threads, if it may, but not for its work. Under no lock. On failure it is as before.
 * CLP_BUSY: an active buffer needs it, or such a call is under way and it may not wait.
 * CLP_OUT_OF_HOST_MEMORY, or the allocator's status: no mark. */
clp_status clpi_stream_forget(clpi_streams *streams, clp_stream handle, bool may_wait);

#endif
