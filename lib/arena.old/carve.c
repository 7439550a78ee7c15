/* SPDX-License-Identifier: MIT */
/* Allocating: carving blocks from free ranges, and growing when none fits. */
#include "arena/ahead.h"
#include "arena/carving.h"
#include "arena/direct.h"
#include "arena/expect.h"
#include "arena/foresight.h"
#include "arena/growth.h"
#include "arena/reserve.h"
#include "arena/trim.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/streams/use.h"

#include <sys/param.h>

/* --- carving --- */

/* The first fit of at most `most` bytes, or of a segment that the reserve needs anyway; or, if that
 * is not safe for the stream yet, one of the next that is. NULL: there is none. */
static clpi_range *find_locked(clpi_carving *carving, const clpi_free_ranges *ranges, size_t most)
{
  enum { MOST_LOOKED_AT = 4 };
  const clpi_stream *by = carving->arena->is_exclusive ? NULL : carving->by;
  clpi_range *first = NULL;
  clpi_free_range *fit = clpi_free_ranges_first_fit(ranges, carving->room);
  for (int looked_at = 0; fit && looked_at < MOST_LOOKED_AT;
       fit = clpi_free_ranges_next_fit(fit, carving->room)) {
    if (fit->bytes > most && fit->bytes <= clpi_arena_most_to_give_locked(carving->arena, 0))
      continue;
    clpi_range *range = clpi_list_entry(fit, clpi_range, size);
    carving->is_settled = clpi_use_set_is_settled(range->uses, by);
    if (carving->is_settled)
      return range;
    first = first ? first : range;
    looked_at++;
  }
  return first;
}

/* The ways in which the request allows to make a block safe that streams may still use. */
static unsigned ways_to_settle(const clpi_carving *carving)
{
  unsigned flags = carving->request->reuse_flags;
  const clpi_use_set *set = carving->site->block->uses;
  unsigned ways = flags & CLP_REUSE_OPPORTUNISTIC ? CLPI_POLL : 0;
  if (carving->by && flags & CLP_REUSE_INTERNAL_DEPENDENCIES)
    ways |= CLPI_WAIT;
  /* What this stream alone used is its own again when that is done, even if it is out of order. */
  if (!ways && set->count == 1 && set->uses[0].stream == carving->by)
    ways = CLPI_POLL;
  return ways && carving->arena->is_exclusive ? CLPI_POLL : ways;
}

static bool settle(const clpi_carving *carving)
{
  clpi_arena *arena = carving->arena;
  clpi_stream *by = arena->is_exclusive ? NULL : carving->by;
  const clpi_use_set *set = carving->site->block->uses;
  unsigned ways = ways_to_settle(carving);
  for (size_t i = 0; i < set->count; i++)
    if (!ways || !clpi_use_settle(&arena->streams, &set->uses[i], by, ways))
      return false;
  return true;
}

/* Carves the block from a range of at most `most` bytes in `ranges`. CLP_OUT_OF_DEVICE_MEMORY: none
 * fits, or it cannot be made safe for the stream. CLP_OUT_OF_HOST_MEMORY. */
static clp_status carve(clpi_carving *carving, const clpi_free_ranges *ranges, size_t most)
{
  clpi_arena *arena = carving->arena;
  clpi_arena_lock(arena);
  if (arena->may_track && carving->by != clpi_arena_home(arena))
    clpi_arena_stop_tracking_locked(arena);
  bool is_ready = clpi_carving_reserve_locked(carving);
  clpi_range *range = is_ready && !clpi_arena_awaits_growth_locked(arena, carving->request->bytes)
                          ? find_locked(carving, ranges, most)
                          : NULL;
  if (range)
    clpi_carving_carve_locked(carving, range);
  if (range && carving->is_settled && carving->site->memory)
    clpi_carving_succeed_locked(carving);
  clpi_arena_unlock(arena);
  if (!is_ready)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a range");
  if (!range)
    return CLP_OUT_OF_DEVICE_MEMORY;
  if (carving->is_settled || settle(carving))
    return CLP_SUCCESS;
  clpi_carving_put_back(carving);
  return CLP_OUT_OF_DEVICE_MEMORY;
}

/* --- growing --- */

/* A new segment is used in any case: the host waits for what no stream can. What the home stream
 * does to it comes before all that this is given later, in order or not. */
static clp_status settle_new(clpi_carving *carving)
{
  clpi_streams *streams = &carving->arena->streams;
  const clpi_use_set *set = carving->site->block->uses;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; set && i < set->count && !status; i++)
    if (!carving->by)
      status = clpi_use_wait(streams, &set->uses[i]);
    else if (carving->by != set->uses[i].stream)
      status = clpi_use_order(streams, &set->uses[i], carving->by);
  if (status)
    clpi_carving_put_back(carving);
  return status;
}

static clp_status carve_new(clpi_carving *carving, size_t bytes)
{
  clp_status status = clpi_arena_add_segment(carving, bytes);
  return status ? status : settle_new(carving);
}

/* After memory ran out: carves what other threads have freed meanwhile; else gives back all unused
 * segments, and carves one that upstream did not take, or a new one that is just large enough. */
static clp_status try_again(clpi_carving *carving, bool may_exchange)
{
  clpi_arena *arena = carving->arena;
  clp_status status = carve(carving, &arena->segments.partial, SIZE_MAX);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  (void)clpi_arena_trim(arena, may_exchange ? SIZE_MAX : 0, 0, true);
  status = carve(carving, &arena->segments.whole, SIZE_MAX);
  return status == CLP_OUT_OF_DEVICE_MEMORY ? carve_new(carving, carving->room) : status;
}

static bool lacks_memory(clp_status status)
{
  return status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED;
}

static bool await_pending(clpi_arena *arena, uint64_t *seen)
{
  pthread_mutex_lock(&arena->lock);
  bool has_changed = clpi_pending_await_locked(&arena->pending, &arena->lock, seen);
  pthread_mutex_unlock(&arena->lock);
  return has_changed;
}

static clp_status carve_more(clpi_carving *carving, clpi_growth *growth)
{
  clpi_arena *arena = carving->arena;
  clpi_arena_make_room(arena, growth, carving->request->most_bytes);
  clp_status status = CLP_OUT_OF_DEVICE_MEMORY;
  if (growth->is_planned) /* what should have gone back may have stayed */
    status = carve(carving, &arena->segments.whole, SIZE_MAX);
  if (status == CLP_OUT_OF_DEVICE_MEMORY) {
    status = carve_new(carving, growth->segment_bytes);
    if (!status)
      clpi_arena_add_planned(carving, growth);
  }
  if (!lacks_memory(status))
    return status;
  do
    status = try_again(carving, growth->may_exchange);
  while (lacks_memory(status) && await_pending(arena, &growth->succeeded));
  return status;
}

/* In a segment without blocks, or in a new one. On success, the caller's last error stays. */
static clp_status grow(clpi_carving *carving)
{
  clpi_arena *arena = carving->arena;
  clpi_growth growth = clpi_arena_plan_growth(carving);
  bool was_awaited = clpi_arena_take_plan(carving, &growth);
  clp_status status = CLP_OUT_OF_DEVICE_MEMORY;
  if (was_awaited && !growth.is_planned)
    status = carve(carving, &arena->segments.partial, SIZE_MAX);
  if (status == CLP_OUT_OF_DEVICE_MEMORY && !growth.is_planned)
    status = carve(carving, &arena->segments.whole, growth.most_unused);
  if (status == CLP_OUT_OF_DEVICE_MEMORY) {
    clpi_kept_error kept;
    clpi_error_keep(&kept);
    status = carve_more(carving, &growth);
    if (status)
      clpi_error_keep(&kept);
    (void)clpi_arena_fill_reserve(arena, NULL);
    clpi_error_restore(&kept);
  }
  if (!status)
    clpi_arena_note_growth(arena, growth.high_water);
  return status;
}

/* --- allocating --- */

/* Has upstream make the block memory of its own. */
static clp_status split(clpi_carving *carving, clp_memory *part)
{
  const clpi_range *block = carving->site->block;
  const clp_allocator *upstream = carving->arena->upstream;
  unsigned long serial = clpi_error_serial();
  clp_status status = upstream->ops.split(upstream->self, block->segment->memory,
                                          clpi_range_offset(block), carving->request->bytes, part);
  if (!status)
    return CLP_SUCCESS;
  clpi_carving_put_back(carving);
  return clpi_allocator_failed(upstream, status, serial, "splitting a segment");
}

/* `part` is the memory of a block that has none yet; 0: there is none. */
static void finish(clpi_carving *carving, clp_memory part)
{
  clpi_arena *arena = carving->arena;
  if (carving->is_done && !carving->by && !carving->spare)
    return;
  clpi_arena_lock(arena);
  if (part)
    clpi_carving_enter_locked(carving, part);
  if (carving->site && !carving->is_done)
    clpi_carving_succeed_locked(carving);
  if (carving->spare)
    clpi_site_end(&arena->sites, carving->spare);
  if (carving->by)
    clpi_stream_unpin_locked(&arena->streams, carving->by);
  clpi_arena_unlock(arena);
}

clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out)
{
  clpi_arena *arena = self;
  clpi_carving carving = {
      .arena = arena, .request = request, .room = clpi_arena_room(arena, request->bytes)};
  clp_memory part = 0;
  clp_status status = CLP_SUCCESS;
  if (request->stream && arena->orders_streams)
    status = clpi_stream_pin(&arena->streams, request->stream, &carving.by);
  if (status)
    return status;
  status = carve(&carving, &arena->segments.partial, SIZE_MAX);
  if (status == CLP_OUT_OF_DEVICE_MEMORY && request->most_bytes)
    status = grow(&carving);
  if (!status && !carving.site->memory)
    status = split(&carving, &part);
  finish(&carving, part);
  if (!status)
    *out = carving.site->memory;
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
  clp_memory memory = clpi_arena_begin_direct(self, bytes);
  if (!memory)
    return clpi_arena_allocate_within(self, &request, out);
  *out = memory;
  return CLP_SUCCESS;
}
