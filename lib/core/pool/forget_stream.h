/* SPDX-License-Identifier: MIT */
/* Which streams a pool needs. */
#ifndef CLPOOL_CORE_POOL_FORGET_STREAM_H
#define CLPOOL_CORE_POOL_FORGET_STREAM_H

#include "core/pool/pool.h"

/* Sets is_needed and is_active of each stream that a block or buffer of the pool needs; the
 * callback of clpi_streams. */
void clpi_note_needed_locked(clpi_streams *streams);

#endif
