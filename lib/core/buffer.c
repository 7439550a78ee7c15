/* SPDX-License-Identifier: MIT */
/* What a buffer tells. */
#include "core/buffer.h"

#include "core/block_store.h"

clp_memory clp_buffer_memory(const clp_buffer *buffer)
{
  return buffer ? buffer->memory : 0;
}

size_t clp_buffer_size(const clp_buffer *buffer)
{
  return buffer ? buffer->size : 0;
}

size_t clp_buffer_capacity(const clp_buffer *buffer)
{
  return buffer && buffer->memory ? buffer->bin->block_bytes : 0;
}

clp_pool *clp_buffer_pool(const clp_buffer *buffer)
{
  return buffer ? buffer->pool : NULL;
}
