/* SPDX-License-Identifier: MIT */
/* clp_pool_mark_stream. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/pool/pool.h"
#include "core/streams/use.h"

clp_status clp_pool_mark_stream(clp_pool *pool, clp_stream handle)
{
  CLPI_UNCANCELLED;
  clpi_stream *stream;
  clp_status status = clpi_pool_check(pool, "clp_pool_mark_stream");
  if (!status)
    status = clpi_stream_pin(&pool->shards.streams, handle, &stream);
  if (status)
    return status;
  const clpi_use now = clpi_use_now(stream);
  status = clpi_use_cover(&pool->shards.streams, &now);
  clpi_stream_unpin(&pool->shards.streams, stream);
  return status;
}
