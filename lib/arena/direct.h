/* SPDX-License-Identifier: MIT */
/* What an arena does for direct pools (core/pool/direct.h). */
#ifndef CLPOOL_ARENA_DIRECT_H
#define CLPOOL_ARENA_DIRECT_H

#include "arena/arena.h"

extern const clpi_direct_ops clpi_arena_direct;

/* A block of `bytes` for the home stream, as the tape says or in a free range. 0: there is none, or
 * there is no tape. Under no lock. */
clp_memory clpi_arena_begin_direct(void *self, size_t bytes);

#endif
