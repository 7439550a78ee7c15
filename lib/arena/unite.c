/* SPDX-License-Identifier: MIT */
#include "arena/unite.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"

clp_status clpi_arena_unite(clpi_arena *arena, clpi_segment *segment, clpi_part *part)
{
  const clp_allocator *upstream = arena->upstream;
  unsigned long serial = clpi_error_serial();
  clp_status status = upstream->ops.unsplit(upstream->self, part->memory, part->bytes);
  if (status)
    status = clpi_allocator_failed(upstream, status, serial, "uniting a segment");
  pthread_mutex_lock(&arena->lock);
  if (status)
    clpi_parts_keep(&arena->parts, &segment->parts, part);
  else
    clpi_part_destroy(&arena->parts, part);
  pthread_mutex_unlock(&arena->lock);
  return status;
}
