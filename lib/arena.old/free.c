/* SPDX-License-Identifier: MIT */
/* Freeing blocks: each becomes a free range again, with what streams may still do with it. */
#include "arena/ahead.h"
#include "arena/blocks.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/streams/use.h"

#include <stdlib.h>

static clp_status refuse(size_t bytes)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "the arena has no block of %zu bytes there", bytes);
}

static clp_status unsplit(const clpi_arena *arena, clp_memory memory, size_t bytes)
{
  const clp_allocator *upstream = arena->upstream;
  unsigned long serial = clpi_error_serial();
  clp_status status = upstream->ops.unsplit(upstream->self, memory, bytes);
  return status ? clpi_allocator_failed(upstream, status, serial, "uniting a segment") : status;
}

/* Has upstream take the memory of a used site back, which nobody else finds meanwhile: it is out of
 * the tables. Releases the lock. On failure it is as before. */
static clp_status give_up_locked(clpi_arena *arena, clpi_site *site)
{
  clpi_sites_remove(&arena->sites, site);
  pthread_mutex_unlock(&arena->lock);
  clp_status status = unsplit(arena, site->memory, site->bytes);
  pthread_mutex_lock(&arena->lock);
  clpi_sites_add(&arena->sites, site);
  return status;
}

/* Without a tape. */
static clp_status end_locked(clpi_arena *arena, clpi_site *site, clpi_use_set *uses)
{
  clp_status status = !arena->has_addresses ? give_up_locked(arena, site) : CLP_SUCCESS;
  if (status)
    return status;
  site->is_used = false;
  clpi_arena_count_ended(arena, site->bytes, false);
  site->block->uses = uses;
  for (size_t i = 0; uses && i < uses->count; i++)
    clpi_use_note_freed_locked(&uses->uses[i]);
  clpi_block_end_locked(arena, site);
  return CLP_SUCCESS;
}

/* On success the block owns the reference to `uses`. NULL: its work is done. */
static clp_status free_after_set(clpi_arena *arena, clp_memory memory, size_t bytes,
                                 clpi_use_set *uses)
{
  clp_status status = CLP_SUCCESS;
  clpi_arena_lock_to_work(arena);
  clpi_site *site = arena->has_tape ? NULL : clpi_sites_of(&arena->sites, memory, bytes);
  bool is_there = site && site->is_used;
  if (arena->has_tape)
    is_there = clpi_ahead_end_locked(arena, memory, bytes, uses);
  else if (is_there)
    status = end_locked(arena, site, uses);
  if (arena->has_tape && is_there)
    clpi_use_set_release(uses);
  clpi_arena_unlock(arena);
  return is_there ? status : refuse(bytes);
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

static clp_status free_behind(clpi_arena *arena, clp_memory memory, size_t bytes, clp_stream stream)
{
  clpi_stream *by;
  clp_status status = clpi_stream_pin(&arena->streams, stream, &by);
  if (status)
    return status;
  clpi_arena_lock_to_work(arena);
  if (arena->may_track && by != clpi_arena_home(arena))
    clpi_arena_stop_tracking_locked(arena);
  clpi_arena_unlock(arena);
  status = free_after(arena, memory, bytes, clpi_use_now(by));
  clpi_stream_unpin(&arena->streams, by);
  return status;
}

clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  clpi_arena *arena = self;
  clpi_arena_lock_to_work(arena);
  const clpi_stream *home = clpi_arena_home(arena);
  bool tracks = arena->has_tape && home && home->handle == stream;
  bool is_free = tracks && clpi_ahead_end_locked(arena, memory, bytes, true);
  clpi_arena_unlock(arena);
  if (!tracks)
    return free_behind(arena, memory, bytes, stream);
  return is_free ? CLP_SUCCESS : refuse(bytes);
}
