/* SPDX-License-Identifier: MIT */
/* What a thread's shard does not have is taken over from another. */
#ifndef CLPOOL_CORE_SHARD_TAKE_OVER_H
#define CLPOOL_CORE_SHARD_TAKE_OVER_H

#include "core/shard/shard.h"

/* Takes and hands out a block of `bytes` that the stream, which is in order, used last: from this
 * shard, which has a slot for the bin, or else another, out of which come some more for the next
 * calls. NULL: no shard has one. Under no lock. */
clp_buffer *clpi_take_over(clpi_shards *shards, clpi_shard *shard, const clpi_bin *bin,
                           const clpi_stream *stream, size_t bytes);

#endif
