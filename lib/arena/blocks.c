/* SPDX-License-Identifier: MIT */
/* Carves a block under the lock alone, if a segment has a range for it that only its own stream may
 * still use. Otherwise it settles other streams' work for the block, or the arena grows. */
#include "arena/arena.h"

/* --- the quick way, under the lock --- */

/* The record of a call's stream; NULL: take the slow way. */
static clpi_stream *recall_locked(clpi_arena *arena, clpi_given given)
{
  return given.is_given ? clpi_recall(arena->recent, given.handle) : &arena->streams.home;
}

#define address_of(block) ((block)->segment->memory + (block)->offset)

/* A block has its memory, and is safe for its stream; NULL: none is known. */
static void begin_locked(clpi_arena *arena, clpi_range *block, clp_memory memory, clpi_stream *by)
{
  block->memory = memory;
  block->uses.count = 0;
  clpi_segments_enter(&arena->segments, block);
  clpi_loop_note_begin_locked(arena, block, by);
}

static clp_memory carve_locked(clpi_arena *arena, size_t bytes, clpi_stream *by)
{
  clpi_segments *segments = &arena->segments;
  if (clpi_loop_is_due_locked(arena, bytes, by))
    return 0;
  clpi_range *range = clpi_segments_fit(segments, NULL, bytes);
  if (!range && segments->unused_bytes >= bytes) {
    clpi_growth growth = clpi_arena_plan_growth_locked(arena, bytes, SIZE_MAX);
    range = clpi_arena_find_unused_locked(arena, bytes, growth.most_unused);
  }
  if (!range || !clpi_uses_are_own(&range->uses, by) || !clpi_segments_reserve(segments, 1))
    return 0;
  clpi_range *block = clpi_segments_carve(segments, range, range->offset, bytes);
  begin_locked(arena, block, address_of(block), by);
  return block->memory;
}

static clp_memory allocate_locked(void *self, size_t bytes, clpi_given given)
{
  clpi_arena *arena = self;
  clpi_stream *by = recall_locked(arena, given);
  clp_memory memory = by ? clpi_loop_begin_locked(arena, bytes, by) : 0;
  if (by && !memory)
    memory = carve_locked(arena, bytes, by);
  arena->peak_used_bytes = MAX(arena->peak_used_bytes, arena->segments.used_bytes);
  return memory;
}

/* Adds uses to a withdrawn block: what these streams have been given so far. */
static void free_block_locked(clpi_arena *arena, clpi_range *block, clpi_stream *const *by,
                              size_t count)
{
  block->uses.count = 0;
  for (size_t i = 0; i < count; i++)
    if (by[i]->is_ordered)
      (void)clpi_uses_add(&block->uses, clpi_use_now(by[i]));
  clpi_loop_note_end_locked(arena, block, count == 1 ? by[0] : NULL);
  clpi_segments_free(&arena->segments, block);
}

static bool free_locked(void *self, clp_memory memory, size_t bytes, clpi_given given)
{
  clpi_arena *arena = self;
  clpi_stream *by = recall_locked(arena, given);
  if (!by)
    return false;
  if (clpi_loop_end_locked(arena, memory, bytes, by))
    return true;
  clpi_range *block = clpi_segments_find(&arena->segments, memory);
  if (!block || block->bytes != bytes)
    return false;
  clpi_segments_withdraw(&arena->segments, block);
  free_block_locked(arena, block, &by, 1);
  return true;
}

/* --- carving for a stream that others may be ahead of --- */

typedef struct carving {
  clpi_arena *arena;
  const clp_memory_request *request;
  size_t room;       /* the request's bytes, rounded up to the arena's alignment */
  clpi_stream *by;   /* the stream that will use the block, pinned; NULL: it is not known */
  clpi_range *block; /* NULL: there is none yet */
  bool is_settled;   /* the block is safe for `by`, and was when it was found */
} carving;

/* Whether all work that the streams may still do comes before the block's use. */
static bool is_settled_locked(const carving *self, clpi_range *range)
{
  const clpi_stream *by = self->arena->is_exclusive ? NULL : self->by;
  clpi_uses_drop_done_locked(&range->uses);
  return clpi_uses_are_settled_locked(range->uses.all, range->uses.count, by);
}

/* Returns the first fit, or if that is not safe for the stream, one of the next that is. If no
 * segment with blocks has one, the first fit in an unused one of at most `most_unused` bytes. */
static clpi_range *find_locked(carving *self, size_t most_unused)
{
  enum { MOST_LOOKED_AT = 4 };
  const clpi_segments *segments = &self->arena->segments;
  clpi_range *first = clpi_segments_fit(segments, NULL, self->room), *range = first;
  if (!first && most_unused)
    first = range = clpi_arena_find_unused_locked(self->arena, self->room, most_unused);
  for (int i = 0; i < MOST_LOOKED_AT && range; i++) {
    self->is_settled = is_settled_locked(self, range);
    if (self->is_settled)
      return range;
    range = clpi_segments_fit(segments, range, self->room);
  }
  return first;
}

/* The ways that the request allows to make a block safe that streams may still use. */
static unsigned ways_to_settle(const carving *self)
{
  unsigned flags = self->request->reuse_flags;
  const clpi_range_uses *uses = &self->block->uses;
  unsigned ways = flags & CLP_REUSE_OPPORTUNISTIC ? CLPI_POLL : 0;
  if (self->by && flags & CLP_REUSE_INTERNAL_DEPENDENCIES)
    ways |= CLPI_WAIT;
  /* What only this stream used is its own again when that is done, even if out of order. */
  if (!ways && uses->count == 1 && uses->all[0].stream == self->by)
    ways = CLPI_POLL;
  return ways && self->arena->is_exclusive ? CLPI_POLL : ways;
}

static bool settle(const carving *self)
{
  clpi_arena *arena = self->arena;
  clpi_stream *by = arena->is_exclusive ? NULL : self->by;
  unsigned ways = ways_to_settle(self);
  for (size_t i = 0; i < self->block->uses.count; i++)
    if (!ways || !clpi_use_settle(&arena->streams, &self->block->uses.all[i], by, ways))
      return false;
  return true;
}

/* Makes the block of the carving a free range again, with its uses. */
static void put_back(carving *self)
{
  clpi_arena_lock(self->arena);
  clpi_segments_free(&self->arena->segments, self->block);
  clpi_arena_unlock(self->arena);
  self->block = NULL;
}

/* CLP_OUT_OF_DEVICE_MEMORY: no range fits, or none can be made safe for the stream.
 * CLP_OUT_OF_HOST_MEMORY. */
static clp_status carve(carving *self, size_t most_unused)
{
  clpi_arena *arena = self->arena;
  clpi_arena_lock(arena);
  clpi_loop_leave_locked(arena);
  clpi_range *range = find_locked(self, most_unused);
  bool has_memory = clpi_segments_reserve(&arena->segments, 1);
  if (range && has_memory)
    self->block = clpi_segments_carve(&arena->segments, range, range->offset, self->room);
  clpi_arena_unlock(arena);
  if (!has_memory)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a range");
  if (!range)
    return CLP_OUT_OF_DEVICE_MEMORY;
  if (self->is_settled || settle(self))
    return CLP_SUCCESS;
  put_back(self);
  return CLP_OUT_OF_DEVICE_MEMORY;
}

/* --- growing --- */

/* The home stream's work on a new segment comes before all later work of that stream, in order or
 * not. Where there is a home stream, each request has a stream. */
static clp_status settle_new(carving *self)
{
  clpi_streams *streams = &self->arena->streams;
  const clpi_range_uses *uses = &self->block->uses;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; i < uses->count && !status; i++)
    if (self->by != uses->all[i].stream)
      status = clpi_use_order(streams, &uses->all[i], self->by);
  if (status)
    put_back(self);
  return status;
}

static clp_status carve_new(carving *self, size_t segment_bytes)
{
  clpi_moving taken = {.arena = self->arena,
                       .bytes = segment_bytes,
                       .least_bytes = self->room,
                       .block_bytes = self->room,
                       .most_bytes = self->request->most_bytes};
  clp_status status = clpi_arena_take(&taken);
  self->block = taken.block;
  return status ? status : settle_new(self);
}

static bool lacks_memory(clp_status status)
{
  return status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED;
}

/* When memory runs out, all unused segments go back. The block is then carved from memory that
 * other threads have freed meanwhile, from a segment that upstream did not take, or from a new one
 * that is just large enough. */
static clp_status carve_more(carving *self, clpi_growth *growth)
{
  clpi_arena *arena = self->arena;
  size_t coming = growth->may_exchange ? growth->segment_bytes : 0;
  (void)clpi_arena_trim(arena, coming, growth->most_bytes, false);
  clp_status status = carve_new(self, growth->segment_bytes);
  for (bool is_last = false; lacks_memory(status) && !is_last;) {
    (void)clpi_arena_trim(arena, growth->may_exchange ? SIZE_MAX : 0, 0, true);
    status = carve(self, SIZE_MAX);
    if (status == CLP_OUT_OF_DEVICE_MEMORY)
      status = carve_new(self, self->room);
    is_last = lacks_memory(status) && !clpi_arena_await_pending(arena, &growth->succeeded);
  }
  return status;
}

/* Adds the arena's figures to the last error, so that its user sees why no range fits. */
static clp_status explain(clpi_arena *arena, clp_status status)
{
  const clpi_segments *segments = &arena->segments;
  clpi_kept_error kept;
  size_t largest = 0;
  clpi_error_keep(&kept);
  clpi_spinlock_lock(&arena->lock);
  size_t count = segments->count, reserved = segments->reserved_bytes, used = segments->used_bytes;
  for (size_t i = 0; i < count; i++)
    largest = MAX(largest, MAX(segments->largest[i], segments->unused[i]));
  clpi_spinlock_unlock(&arena->lock);
  return clpi_error(status, kept.error.native_code,
                    "%s; the arena has reserved %zu bytes in %zu segments: %zu bytes are used, and "
                    "the largest free range has %zu bytes",
                    kept.message, reserved, count, used, largest);
}

/* Carves a block, if needed from a new segment. On success the caller's last error stays. */
static clp_status carve_or_grow(carving *self)
{
  clpi_spinlock_lock(&self->arena->lock);
  clpi_growth growth =
      clpi_arena_plan_growth_locked(self->arena, self->room, self->request->most_bytes);
  clpi_spinlock_unlock(&self->arena->lock);
  clp_status status = carve(self, growth.most_unused);
  if (status == CLP_OUT_OF_DEVICE_MEMORY) {
    clpi_kept_error kept;
    clpi_error_keep(&kept);
    status = carve_more(self, &growth);
    if (lacks_memory(status))
      status = explain(self->arena, status);
    if (status)
      clpi_error_keep(&kept);
    (void)clpi_arena_fill_reserve(self->arena, NULL);
    clpi_error_restore(&kept);
  }
  return status;
}

/* --- allocating --- */

/* If a loop begins here, takes the segment that is planned for it, in place of all unused ones. If
 * that fails, there is no plan. */
static void begin_loop(carving *self)
{
  clpi_arena *arena = self->arena;
  clpi_kept_error kept;
  clpi_spinlock_lock(&arena->lock);
  size_t bytes = clpi_loop_find_locked(arena, self->room, self->by);
  clpi_spinlock_unlock(&arena->lock);
  if (!bytes)
    return;
  clpi_error_keep(&kept);
  clpi_moving taken = {.arena = arena,
                       .bytes = bytes,
                       .least_bytes = bytes,
                       .most_bytes = self->request->most_bytes,
                       .is_planned = true};
  (void)clpi_arena_trim(arena, bytes, 0, false);
  clp_status status = clpi_arena_take(&taken);
  clpi_error_restore(&kept);
  if (!status)
    return;
  clpi_spinlock_lock(&arena->lock);
  clpi_loop_set_segment_locked(&arena->loop, NULL);
  clpi_spinlock_unlock(&arena->lock);
}

/* Has upstream make the block memory of its own. */
static clp_status split(carving *self, clp_memory *memory)
{
  clpi_range *block = self->block;
  clp_status status = clpi_parts_make(self->arena->upstream, block->segment->memory, block->offset,
                                      self->request->bytes, &block->parts);
  if (status)
    put_back(self);
  else
    *memory = block->parts.first->memory;
  return status;
}

static clp_status allocate_pinned(carving *self, clp_memory *memory)
{
  clpi_arena *arena = self->arena;
  begin_loop(self);
  clpi_arena_lock(arena);
  clpi_segment *segment = arena->loop.segment;
  if (segment && clpi_segment_is_whole(segment))
    clpi_uses_drop_done_locked(&segment->first->uses);
  *memory = self->by ? clpi_loop_begin_locked(arena, self->room, self->by) : 0;
  clpi_arena_unlock(arena);
  if (*memory)
    return CLP_SUCCESS;
  clp_status status = self->request->most_bytes ? carve_or_grow(self) : carve(self, 0);
  if (status)
    return status;
  *memory = address_of(self->block);
  return arena->has_addresses ? CLP_SUCCESS : split(self, memory);
}

clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out)
{
  clpi_arena *arena = self;
  carving it = {
      .arena = arena, .request = request, .room = clpi_aligned(request->bytes, arena->alignment)};
  clp_memory memory = 0;
  clp_status status = CLP_SUCCESS;
  bool is_known = request->stream && arena->upstream->orders->ops.stream_retain;
  if (is_known)
    status = clpi_stream_pin(&arena->streams, request->stream, &it.by);
  if (status)
    return status;
  if (!it.by && arena->loop.may_be && !arena->streams.home.is_ordered)
    it.by = &arena->streams.home;
  status = allocate_pinned(&it, &memory);
  clpi_arena_lock(arena);
  if (it.block)
    begin_locked(arena, it.block, memory, it.by);
  arena->peak_used_bytes = MAX(arena->peak_used_bytes, arena->segments.used_bytes);
  if (is_known)
    clpi_stream_unpin_recent_locked(&arena->streams, arena->recent, it.by);
  clpi_arena_unlock(arena);
  if (!status)
    *out = memory;
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

/* Gives the part of a withdrawn block back to upstream, unless it is kept. Releases the lock
 * meanwhile: another block may then get the same memory. */
static clp_status unsplit_locked(clpi_arena *arena, clpi_range *block)
{
  if (!block->parts.first || arena->keeps_parts)
    return CLP_SUCCESS;
  clpi_arena_unlock(arena);
  clp_status status = clpi_parts_drop(arena->upstream, &block->parts);
  clpi_arena_lock(arena);
  return status;
}

static clp_status free_block(clpi_arena *arena, clp_memory memory, size_t bytes,
                             clpi_stream *const *by, size_t count)
{
  clpi_arena_lock(arena);
  clpi_loop_leave_locked(arena);
  clpi_range *block = clpi_segments_find(&arena->segments, memory);
  if (!block || block->bytes != clpi_aligned(bytes, arena->alignment)) {
    clpi_arena_unlock(arena);
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "not a block of %zu bytes of the arena", bytes);
  }
  clpi_segments_withdraw(&arena->segments, block);
  clp_status status = unsplit_locked(arena, block);
  if (status)
    clpi_segments_enter(&arena->segments, block);
  else
    free_block_locked(arena, block, by, count);
  clpi_arena_unlock(arena);
  return status;
}

static clp_status free_after(void *self, clp_memory memory, size_t bytes, const clp_stream *streams,
                             size_t count)
{
  clpi_arena *arena = self;
  clpi_stream *by[CLPI_RANGE_USES];
  clp_status status = CLP_SUCCESS;
  size_t pinned = 0;
  for (; pinned < count && !status; pinned += !status)
    status = clpi_stream_pin(&arena->streams, streams[pinned], &by[pinned]);
  if (!status)
    status = free_block(arena, memory, bytes, by, count);
  clpi_arena_lock(arena);
  while (pinned)
    clpi_stream_unpin_recent_locked(&arena->streams, arena->recent, by[--pinned]);
  clpi_arena_unlock(arena);
  return status;
}

clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes)
{
  return free_after(self, memory, bytes, NULL, 0);
}

clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  return free_after(self, memory, bytes, &stream, 1);
}

const clpi_carver clpi_arena_carver = {allocate_locked, free_locked, free_after,
                                       clpi_arena_return_cached, clpi_arena_trim_idle};
