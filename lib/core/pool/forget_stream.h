/* SPDX-License-Identifier: MIT */
/* Which streams a pool needs. */
#ifndef CLPOOL_CORE_POOL_FORGET_STREAM_H
#define CLPOOL_CORE_POOL_FORGET_STREAM_H

#include "core/pool/pool.h"

/* Each stream that a block or a buffer of the pool needs is so noted. */
extern const clpi_streams_owner clpi_pool_owns_streams __attribute__((visibility("hidden")));

#endif
