/* SPDX-License-Identifier: MIT */
/* Blocks of an arena: carved and freed. */
#include "arena/arena.h"

#include "arena/growth.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/streams/use.h"

#include <stdlib.h>
#include <sys/param.h>

static size_t room_for(const clpi_arena *arena, size_t bytes)
{
  return (bytes + arena->alignment - 1) & ~(arena->alignment - 1);
}

/* --- placing --- */

static bool has_spare_locked(clpi_arena *arena)
{
  clpi_range *spare = arena->segments.spares ? NULL : malloc(sizeof(*spare));
  if (spare)
    clpi_segments_add_spare(&arena->segments, spare);
  return arena->segments.spares;
}

/* Takes the lock, and sees to it that there is a spare range and a place for the block. Else the
 * lock is not taken. */
static clp_status lock_to_carve(clpi_placing *placing)
{
  clpi_arena *arena = placing->arena;
  pthread_mutex_lock(&arena->lock);
  placing->has_place = placing->has_place || clpi_map_reserve(&arena->blocks);
  if (placing->has_place && has_spare_locked(arena))
    return CLP_SUCCESS;
  pthread_mutex_unlock(&arena->lock);
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a range");
}

/* Whether a range can be the placing's without more ado. */
static bool is_settled_locked(const clpi_placing *placing, const clpi_range *range)
{
  return clpi_use_set_is_settled(range->uses, placing->arena->is_exclusive ? NULL : placing->by);
}

/* The best fit. If that has to be made safe for the stream, one of the next that has not. */
static clpi_range *find_locked(const clpi_placing *placing, const clpi_free_ranges *ranges,
                               size_t most)
{
  enum { MOST_LOOKS = 4 };
  clpi_range *best = clpi_range_at(clpi_free_ranges_best_fit(ranges, placing->room));
  clpi_range *range = best;
  for (int i = 0; i < MOST_LOOKS && range && range->size.bytes <= most; i++) {
    if (is_settled_locked(placing, range))
      return range;
    range = clpi_range_at(clpi_free_ranges_next(&range->size));
  }
  return best && best->size.bytes <= most ? best : NULL;
}

void clpi_arena_carve_locked(clpi_placing *placing, clpi_range *range)
{
  clpi_segments_carve(&placing->arena->segments, range, placing->room);
  placing->placed = range;
}

/* Makes the placed block memory of its own. */
static void enter_locked(clpi_placing *placing, clp_memory memory)
{
  clpi_arena *arena = placing->arena;
  clpi_range *block = placing->placed;
  clpi_use_set_release(block->uses);
  block->uses = NULL;
  block->memory = memory;
  arena->peak_used_bytes = MAX(arena->peak_used_bytes, arena->segments.used_bytes);
  clpi_map_put(&arena->blocks, memory, (uintptr_t)block);
  placing->has_place = false;
  placing->is_entered = true;
}

void clpi_arena_put_back(clpi_placing *placing)
{
  clpi_arena *arena = placing->arena;
  pthread_mutex_lock(&arena->lock);
  clpi_segments_free(&arena->segments, placing->placed);
  pthread_mutex_unlock(&arena->lock);
  placing->placed = NULL;
}

/* How the request allows that a block which streams may still use becomes its stream's. */
static unsigned ways_to_settle(const clpi_placing *placing)
{
  unsigned flags = placing->request->reuse_flags;
  const clpi_use_set *set = placing->placed->uses;
  unsigned ways = flags & CLP_REUSE_OPPORTUNISTIC ? CLPI_POLL : 0;
  if (placing->by && flags & CLP_REUSE_INTERNAL_DEPENDENCIES)
    ways |= CLPI_WAIT;
  /* What an out-of-order stream alone used is its own again once that is done. */
  if (!ways && set->count == 1 && set->uses[0].stream == placing->by)
    ways = CLPI_POLL;
  return ways && placing->arena->is_exclusive ? CLPI_POLL : ways;
}

static bool settle(const clpi_placing *placing)
{
  clpi_stream *by = placing->arena->is_exclusive ? NULL : placing->by;
  const clpi_use_set *set = placing->placed->uses;
  unsigned ways = ways_to_settle(placing);
  for (size_t i = 0; i < set->count; i++)
    if (!ways || !clpi_use_settle(&placing->arena->streams, &set->uses[i], by, ways))
      return false;
  return true;
}

clp_status clpi_arena_place(clpi_placing *placing, const clpi_free_ranges *ranges, size_t most)
{
  clpi_arena *arena = placing->arena;
  clp_status status = lock_to_carve(placing);
  if (status)
    return status;
  clpi_range *range = find_locked(placing, ranges, most);
  bool is_settled = range && is_settled_locked(placing, range);
  if (range)
    clpi_arena_carve_locked(placing, range);
  if (is_settled && arena->has_addresses)
    enter_locked(placing, range->segment->memory + clpi_range_offset(range));
  pthread_mutex_unlock(&arena->lock);
  if (!range)
    return CLP_OUT_OF_DEVICE_MEMORY;
  if (is_settled || settle(placing))
    return CLP_SUCCESS;
  clpi_arena_put_back(placing);
  return CLP_OUT_OF_DEVICE_MEMORY;
}

static clp_status split(clpi_placing *placing)
{
  clpi_arena *arena = placing->arena;
  const clpi_range *block = placing->placed;
  const clp_allocator *upstream = arena->upstream;
  unsigned long serial = clpi_error_serial();
  clp_memory part = 0;
  clp_status status = upstream->ops.split(upstream->self, block->segment->memory,
                                          clpi_range_offset(block), placing->request->bytes, &part);
  if (status) {
    clpi_arena_put_back(placing);
    return clpi_allocator_failed(upstream, status, serial, "splitting a segment");
  }
  pthread_mutex_lock(&arena->lock);
  enter_locked(placing, part);
  pthread_mutex_unlock(&arena->lock);
  return CLP_SUCCESS;
}

static clp_status place_somewhere(clpi_placing *placing)
{
  clp_status status = clpi_arena_place(placing, &placing->arena->segments.partial, SIZE_MAX);
  if (status != CLP_OUT_OF_DEVICE_MEMORY || !placing->request->most_bytes)
    return status;
  return clpi_arena_grow(placing);
}

static void give_place_up(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  clpi_map_unreserve(&arena->blocks);
  pthread_mutex_unlock(&arena->lock);
}

clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out)
{
  clpi_arena *arena = self;
  clpi_placing placing = {
      .arena = arena, .request = request, .room = room_for(arena, request->bytes)};
  bool has_stream = request->stream && clpi_allocator_orders_streams(arena->upstream);
  clp_status status =
      has_stream ? clpi_stream_pin(&arena->streams, request->stream, &placing.by) : CLP_SUCCESS;
  if (status)
    return status;
  status = place_somewhere(&placing);
  if (!status && !placing.is_entered)
    status = split(&placing);
  if (!status)
    *out = placing.placed->memory;
  if (placing.has_place)
    give_place_up(arena);
  if (placing.by)
    clpi_stream_unpin(&arena->streams, placing.by);
  return status;
}

clp_status clpi_arena_allocate(void *self, size_t bytes, clp_memory *out)
{
  const clpi_arena *arena = self;
  const clp_memory_request request = {
      .bytes = bytes,
      .stream = arena->upstream->ops.home_stream,
      .reuse_flags = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES,
      .most_bytes = SIZE_MAX,
  };
  return clpi_arena_allocate_within(self, &request, out);
}

/* --- freeing --- */

/* NULL: there is no such block. */
static clpi_range *take_block_locked(clpi_arena *arena, clp_memory memory, size_t bytes)
{
  uint64_t *found = clpi_map_find(&arena->blocks, memory), taken;
  clpi_range *block = found ? (clpi_range *)(uintptr_t)*found : NULL;
  if (!block || block->size.bytes != room_for(arena, bytes))
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

/* Gives up the lock meanwhile, while the block keeps its place. */
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

static void free_block_locked(clpi_arena *arena, clpi_range *block, clpi_use_set *uses)
{
  block->uses = uses;
  for (size_t i = 0; uses && i < uses->count; i++)
    clpi_use_note_freed_locked(&uses->uses[i]);
  clpi_segments_free(&arena->segments, block);
}

/* Takes over the reference to `uses` on success. */
static clp_status give_back(clpi_arena *arena, clp_memory memory, size_t bytes, clpi_use_set *uses)
{
  clp_status status = CLP_SUCCESS;
  pthread_mutex_lock(&arena->lock);
  clpi_range *block = take_block_locked(arena, memory, bytes);
  if (block && !arena->has_addresses)
    status = unsplit_locked(arena, block, bytes);
  if (block && !status)
    free_block_locked(arena, block, uses);
  pthread_mutex_unlock(&arena->lock);
  if (block)
    return status;
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "the arena has no block of %zu bytes there", bytes);
}

clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes)
{
  return give_back(self, memory, bytes, NULL);
}

/* Without host memory for a set of uses, the host waits for the one. */
static clp_status free_after(clpi_arena *arena, clp_memory memory, size_t bytes, clpi_use use)
{
  clpi_use_set *uses = clpi_use_set_create(use);
  clp_status status = uses ? CLP_SUCCESS : clpi_use_wait(&arena->streams, &use);
  if (status)
    return status;
  status = give_back(arena, memory, bytes, uses);
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
