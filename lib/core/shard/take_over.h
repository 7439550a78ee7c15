/* SPDX-License-Identifier: MIT */
/* What a thread's shard does not have is taken over from another. */
#ifndef CLPOOL_CORE_SHARD_TAKE_OVER_H
#define CLPOOL_CORE_SHARD_TAKE_OVER_H

#include "core/shard/warm_path.h"

/* Takes and hands out a block of `bytes`, of the bin of this index, that the stream used last: from
 * this shard, which has a slot for the bin, or else another, out of which come some more for the
 * next calls. NULL: no shard has one, or the stream is not among the shard's recent ones. Under no
 * lock. */
clp_buffer *clpi_take_over(clpi_shards *shards, clpi_shard *shard, uint32_t index, clpi_given given,
                           size_t bytes);

#endif
