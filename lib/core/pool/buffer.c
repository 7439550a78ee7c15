/* SPDX-License-Identifier: MIT */
/* The properties of a buffer. */
#include "core/base/error.h"
#include "core/pool/pool.h"

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
  return buffer && buffer->memory ? buffer->bytes : 0;
}

clp_pool *clp_buffer_pool(const clp_buffer *buffer)
{
  return buffer ? buffer->pool : NULL;
}

clp_memory clpi_buffer_memory_of(const clp_buffer *buffer, clp_memory_kind kind,
                                 const char *function, const char *type)
{
  if (!buffer)
    return 0;
  const clp_allocator *allocator = buffer->pool->allocator;
  if (allocator->ops.memory_kind != kind && allocator->ops.memory_kind != CLP_MEMORY_UNSTATED) {
    clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: memory of allocator %s is no %s", function,
               allocator->name, type);
    return 0;
  }
  return buffer->memory;
}
