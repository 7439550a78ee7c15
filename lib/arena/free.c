/* SPDX-License-Identifier: MIT */
/* Freeing blocks: each becomes a free range again, with what streams may still do with it. */
#include "arena/arena.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/streams/use.h"

#include <stdlib.h>

/* NULL: there is no such block. */
static clpi_range *take_block_locked(clpi_arena *arena, clp_memory memory, size_t bytes)
{
  uint64_t *found = clpi_map_find(&arena->blocks, memory), taken;
  clpi_range *block = found ? (clpi_range *)(uintptr_t)*found : NULL;
  if (!block || block->size.bytes != clpi_arena_room(arena, bytes))
    return NULL;
  clpi_map_take(&arena->blocks, memory, &taken);
  return block;
}

static clp_status unsplit(const clpi_arena *arena, clp_memory memory, size_t bytes)
{
  const clp_allocator *upstream = arena->upstream;
  unsigned long serial = clpi_error_serial();
  clp_status status = upstream->ops.unsplit(upstream->self, memory, bytes);
  return status ? clpi_allocator_failed(upstream, status, serial, "uniting a segment") : status;
}

/* Releases the lock meanwhile. The entry of the block stays reserved: on failure it is put back. */
static clp_status unsplit_locked(clpi_arena *arena, clpi_range *block, size_t bytes)
{
  (void)clpi_map_reserve(&arena->blocks);
  pthread_mutex_unlock(&arena->lock);
  clp_status status = unsplit(arena, block->memory, bytes);
  pthread_mutex_lock(&arena->lock);
  if (status)
    clpi_map_put(&arena->blocks, block->memory, (uintptr_t)block);
  else
    clpi_map_unreserve(&arena->blocks);
  return status;
}

static void free_block_locked(clpi_arena *arena, clpi_range *block, size_t bytes,
                              clpi_use_set *uses)
{
  block->uses = uses;
  for (size_t i = 0; uses && i < uses->count; i++)
    clpi_use_note_freed_locked(&uses->uses[i]);
  clpi_call_budget_end_block(&arena->budget, bytes);
  clpi_segments_free(&arena->segments, block);
}

/* On success the block owns the reference to `uses`. */
static clp_status free_after_set(clpi_arena *arena, clp_memory memory, size_t bytes,
                                 clpi_use_set *uses)
{
  clp_status status = CLP_SUCCESS;
  pthread_mutex_lock(&arena->lock);
  clpi_range *block = take_block_locked(arena, memory, bytes);
  if (block && !arena->has_addresses)
    status = unsplit_locked(arena, block, bytes);
  if (block && !status)
    free_block_locked(arena, block, bytes, uses);
  pthread_mutex_unlock(&arena->lock);
  if (block)
    return status;
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "the arena has no block of %zu bytes there", bytes);
}

clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes)
{
  return free_after_set(self, memory, bytes, NULL);
}

/* If there is no host memory for a set of uses, the host waits for the use. */
static clp_status free_after(clpi_arena *arena, clp_memory memory, size_t bytes, clpi_use use)
{
  clpi_use_set *uses = clpi_use_set_create(use);
  clp_status status = uses ? CLP_SUCCESS : clpi_use_wait(&arena->streams, &use);
  if (status)
    return status;
  status = free_after_set(arena, memory, bytes, uses);
  if (status)
    free(uses);
  return status;
}

clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  clpi_arena *arena = self;
  clpi_stream *by;
  clp_status status = clpi_stream_pin(&arena->streams, stream, &by);
  if (status)
    return status;
  status = free_after(arena, memory, bytes, clpi_use_now(by));
  clpi_stream_unpin(&arena->streams, by);
  return status;
}
