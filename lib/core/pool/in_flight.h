/* SPDX-License-Identifier: MIT */
/* Held blocks that streams still use, where parts are exclusive: they go back to the allocator only
 * when that is done, so without a bound the pool would take the more the further the host is ahead
 * of the device. What the pool manages may be as much as was ever active at once; before it becomes
 * more, the host waits. */
#ifndef CLPOOL_CORE_POOL_IN_FLIGHT_H
#define CLPOOL_CORE_POOL_IN_FLIGHT_H

#include "core/pool/pool.h"

/* Notes what is active when `bytes` are missing. All that was held is leaving. */
void clpi_in_flight_note_locked(clp_pool *pool, size_t bytes);

/* Before the pool gets `bytes` that it would then manage beyond the bound, waits for the oldest of
 * the held blocks, half of them at least, and gives them back; some milliseconds at most for each
 * stream, whose work may itself wait for the host. Under no lock. */
void clpi_in_flight_bound(clp_pool *pool, size_t bytes);

#endif
