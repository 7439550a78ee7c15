/* SPDX-License-Identifier: MIT */
/* Taking segments, and giving them back. */
#include "arena/arena.h"

#include <stdlib.h>

/* --- how large --- */

/* For products that may be more than a size_t can hold. */
static size_t to_size(double bytes)
{
  return bytes < (double)SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

/* The bytes of a new segment: a fraction of the use. If much is free around blocks that stay, it is
 * as small as possible: a segment with fewer blocks goes back sooner. */
static size_t segment_bytes(const clpi_arena *arena, double high_water, double pinned)
{
  static const double much = 0.3, most_per_slack = 0x1.8p30;
  enum { UNIT = 512 };
  const clp_arena_options *options = &arena->options;
  size_t most = options->max_segment_bytes;
  size_t share = pinned > much * high_water ? 0 : to_size(options->slack * high_water);
  if (!most)
    most = to_size(options->slack * most_per_slack);
  size_t bytes = MAX(options->min_segment_bytes, MIN(most, share / UNIT * UNIT));
  return MIN(bytes, arena->upstream->ops.max_block_bytes);
}

/* Whether the request could fit if all unused segments went back, including the reserve's. */
static bool could_fit_locked(const clpi_arena *arena, size_t room, size_t most)
{
  size_t stays = clpi_arena_staying_bytes_locked(arena);
  size_t device = arena->upstream->ops.device_bytes;
  most = device ? MIN(most, device) : most;
  return stays <= most && room <= most - stays;
}

clpi_growth clpi_arena_plan_growth_locked(const clpi_arena *arena, size_t room, size_t most_bytes)
{
  const clpi_segments *segments = &arena->segments;
  double slack = arena->options.slack;
  size_t high_water = MAX(segments->high_water, segments->used_bytes + room);
  size_t pinned = segments->reserved_bytes - segments->unused_bytes - segments->used_bytes;
  bool could_fit = could_fit_locked(arena, room, most_bytes); /* else what is unused must do */
  size_t segment = MAX(room, segment_bytes(arena, (double)high_water, (double)pinned));
  return (clpi_growth){
      .segment_bytes = segment,
      .most_unused =
          could_fit ? MAX(segment, to_size((double)room + slack * (double)high_water)) : SIZE_MAX,
      .most_bytes = MIN(to_size((double)high_water * (1 + slack)), most_bytes),
      .may_exchange = !arena->reserve_bytes || could_fit,
      .succeeded = arena->pending.succeeded,
  };
}

/* The largest segment, in bytes, that may go back, so that the reserve stays once `coming` more are
 * taken. */
static size_t most_to_give_locked(const clpi_arena *arena, size_t coming)
{
  size_t left = arena->segments.reserved_bytes + MIN(coming, SIZE_MAX / 2);
  return left > arena->reserve_bytes ? left - arena->reserve_bytes : 0;
}

clpi_range *clpi_arena_find_unused_locked(const clpi_arena *arena, size_t room, size_t most)
{
  const clpi_segments *segments = &arena->segments;
  const clpi_segment *found = NULL;
  size_t may_go = most_to_give_locked(arena, 0);
  bool is_small = false;
  for (size_t i = 0; i < segments->count && segments->unused_bytes >= room && !is_small; i++) {
    const clpi_segment *segment = segments->all[i];
    if (segments->unused[i] < room)
      continue;
    is_small = segment->bytes <= most || segment->bytes > may_go;
    if (is_small || !found || segment->bytes < found->bytes)
      found = segment;
  }
  size_t used = segments->used_count;
  bool may_cut = is_small || !used || (found && used == 1 && room >= found->bytes / 4);
  if (!found || !may_cut)
    return NULL;
  clpi_range *range = found->free;
  while (range->bytes < room)
    range = range->higher;
  return range;
}

/* --- pending --- */

static void end_pending_locked(clpi_pending *pending, size_t *sum, size_t bytes, bool has_succeeded)
{
  *sum -= bytes;
  pending->count--;
  pending->ended++;
  pending->succeeded += has_succeeded;
  pthread_cond_broadcast(&pending->end);
}

/* Does not wait for segments that began later: their threads may find no memory either. */
bool clpi_arena_await_pending(clpi_arena *arena, uint64_t *seen)
{
  clpi_pending *pending = &arena->pending;
  if (clpi_own_hooks.in_callback)
    return false;
  pthread_mutex_lock(&arena->mutex);
  uint64_t last = pending->ended + pending->count;
  while (pending->succeeded == *seen && pending->ended < last)
    pthread_cond_wait(&pending->end, &arena->mutex);
  bool has_changed = pending->succeeded != *seen;
  *seen = pending->succeeded;
  pthread_mutex_unlock(&arena->mutex);
  return has_changed;
}

/* --- taking --- */

/* Counts a segment of the wanted bytes, or of as many as possible. Segments that are going back
 * count as taken until upstream has them. */
static clp_status reserve(const clpi_moving *self)
{
  clpi_arena *arena = self->arena;
  clpi_pending *pending = &arena->pending;
  size_t most = self->most_bytes, least = self->least_bytes;
  clpi_arena_lock(arena);
  size_t taken = clpi_arena_taken_bytes_locked(arena) + pending->returned_bytes;
  bool fits = taken <= most && least <= most - taken;
  bool has_memory = self->segment && clpi_segments_await(&arena->segments);
  if (has_memory && fits) {
    self->segment->bytes = MIN(self->bytes, most - taken);
    pending->taken_bytes += self->segment->bytes;
    pending->count++;
  } else if (has_memory) {
    arena->segments.coming--;
  }
  clpi_arena_unlock(arena);
  if (!has_memory)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a segment");
  if (fits)
    return CLP_SUCCESS;
  if (most == SIZE_MAX)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "the arena's total would exceed SIZE_MAX bytes");
  return clpi_error(CLP_LIMIT_EXCEEDED, 0,
                    "a segment of %zu bytes would exceed the limit of %zu bytes", least, most);
}

static void add_locked(clpi_moving *self)
{
  clpi_arena *arena = self->arena;
  clpi_segment *segment = self->segment;
  clpi_segments_add(&arena->segments, segment);
  if (self->home)
    (void)clpi_uses_add(&segment->first->uses, clpi_use_now(self->home));
  arena->segments_taken++;
  arena->peak_reserved_bytes = MAX(arena->peak_reserved_bytes, arena->segments.reserved_bytes);
  if (self->block_bytes)
    self->block = clpi_segments_carve(&arena->segments, segment->first, 0, self->block_bytes);
  if (self->is_planned)
    clpi_loop_set_segment_locked(&arena->loop, segment);
}

/* Adds the segment, if upstream gave it. */
static void end_taking(clpi_moving *self)
{
  clpi_arena *arena = self->arena;
  clpi_arena_lock(arena);
  end_pending_locked(&arena->pending, &arena->pending.taken_bytes, self->segment->bytes,
                     !self->status);
  if (self->status)
    arena->segments.coming--;
  else
    add_locked(self);
  clpi_arena_unlock(arena);
  if (self->status)
    free(self->segment);
}

/* A callback ends the thread: nobody would use the block. */
static void end_taker(void *argument)
{
  clpi_moving *self = argument;
  self->block_bytes = 0;
  end_taking(self);
}

/* Takes the counted segment. Upstream's home stream may have work on it, and is pinned until the
 * segment's range has that use. */
static clp_status take_reserved(clpi_moving *self)
{
  size_t bytes = self->segment->bytes;
  clp_memory memory = 0;
  self->status = CLP_BUSY;
  pthread_cleanup_push(end_taker, self);
  clpi_device_show_allocation(CLPI_ALLOC_PREPROCESS, bytes, 0);
  self->status = clpi_allocator_allocate(self->arena->upstream, bytes, &memory);
  self->segment->memory = memory;
  clpi_device_show_allocation(CLPI_ALLOC_POSTPROCESS, bytes, memory);
  pthread_cleanup_pop(false);
  end_taking(self);
  return self->status;
}

clp_status clpi_arena_take(clpi_moving *self)
{
  clpi_streams *streams = &self->arena->streams;
  const clp_allocator_ops *ops = &self->arena->upstream->ops;
  if (ops->allocate_uses_home) /* its record is always there */
    (void)clpi_stream_pin(streams, ops->home_stream, &self->home);
  self->segment = calloc(1, sizeof(*self->segment));
  clp_status status = reserve(self);
  if (status)
    free(self->segment);
  else
    status = take_reserved(self);
  if (self->home)
    clpi_stream_unpin(streams, self->home);
  return status;
}

/* --- giving back --- */

/* Whether an unused segment can go back without a wait of the host. */
static bool needs_no_wait_locked(const clpi_arena *arena, const clpi_segment *segment)
{
  return clpi_frees_are_ordered(arena->upstream) ||
         clpi_uses_are_settled_locked(segment->first->uses.all, segment->first->uses.count, NULL);
}

/* Returns the largest unused segment of at most `most` bytes; or with a reserve the youngest, so
 * that the reserve, which is mostly older, stays in one piece. */
static clpi_segment *find_to_give_locked(const clpi_arena *arena, size_t most, bool is_youngest,
                                         bool may_wait)
{
  const clpi_segments *segments = &arena->segments;
  clpi_segment *found = NULL;
  size_t largest = 1;
  for (size_t i = segments->count; i-- > 0 && (!found || !is_youngest);) {
    size_t bytes = segments->unused[i];
    clpi_segment *segment = segments->all[i];
    if (bytes < largest || bytes > most || !clpi_segment_is_whole(segment) ||
        (!may_wait && !needs_no_wait_locked(arena, segment)))
      continue;
    found = segment;
    largest = bytes;
  }
  return found;
}

static void remove_locked(clpi_moving *self)
{
  clpi_arena *arena = self->arena;
  if (arena->loop.segment == self->segment)
    arena->loop.segment = NULL;
  clpi_segments_remove(&arena->segments, self->segment);
  arena->pending.returned_bytes += self->segment->bytes;
  arena->pending.count++;
  self->next = arena->leaving;
  arena->leaving = self;
}

/* Removes an unused segment, if all segments and `bytes` more exceed `most`, and the reserve stays.
 * Segments that other threads are giving back do not count. */
static bool take_unused(clpi_moving *self, size_t bytes, size_t most, bool may_wait,
                        bool *is_parted)
{
  clpi_arena *arena = self->arena;
  clpi_arena_lock(arena);
  clpi_loop_leave_locked(arena);
  if (arena->segments.is_parted)
    clpi_segments_settle_locked(&arena->segments);
  size_t taken = clpi_arena_taken_bytes_locked(arena);
  bool is_above = arena->segments.unused_bytes && (taken > most || bytes > most - taken);
  size_t may_go = most_to_give_locked(arena, bytes);
  self->segment = is_above
                      ? find_to_give_locked(arena, may_go, arena->reserve_bytes && !bytes, may_wait)
                      : NULL;
  *is_parted = is_above && arena->segments.is_parted;
  if (self->segment)
    remove_locked(self);
  clpi_arena_unlock(arena);
  return self->segment;
}

/* Ends the giving back: upstream has the segment, or it stays in the arena, with its uses. */
static void end_giving(clpi_moving *self)
{
  clpi_arena *arena = self->arena;
  clpi_moving **link;
  clpi_arena_lock(arena);
  end_pending_locked(&arena->pending, &arena->pending.returned_bytes, self->segment->bytes,
                     !self->status);
  for (link = &arena->leaving; *link != self;)
    link = &(*link)->next;
  *link = self->next;
  if (self->status) {
    clpi_segments_add(&arena->segments, self->segment);
  } else {
    clpi_segments_end_removed(&arena->segments, self->segment);
    arena->segments_given_back++;
  }
  clpi_arena_unlock(arena);
  if (!self->status)
    free(self->segment);
}

/* A callback ends the thread. */
static void end_giver(void *argument)
{
  clpi_moving *self = argument;
  clpi_hooked_free_leave(&self->pair);
  end_giving(self);
}

static clp_status free_segment(clpi_arena *arena, clpi_segment *segment)
{
  clpi_range *range = segment->first;
  clp_status status = clpi_parts_drop(arena->upstream, &range->parts);
  if (status)
    return status;
  return clpi_ordered_free(&arena->streams, arena->upstream, segment->memory, segment->bytes,
                           (clpi_uses){range->uses.all, range->uses.count});
}

static clp_status give_back(clpi_moving *self)
{
  self->status = CLP_BUSY;
  pthread_cleanup_push(end_giver, self);
  clpi_device_free_begin(&self->pair, self->segment->memory, self->segment->bytes);
  self->status = free_segment(self->arena, self->segment);
  clpi_device_free_end(&self->pair, self->status);
  pthread_cleanup_pop(false);
  end_giving(self);
  return self->status;
}

bool clpi_arena_wait(clpi_arena *arena)
{
  const clpi_segments *segments = &arena->segments;
  clpi_arena_lock(arena);
  clpi_loop_leave_locked(arena);
  for (size_t i = 0; i < segments->count; i++)
    for (const clpi_range *range = segments->all[i]->free; range; range = range->higher)
      for (size_t j = 0; j < range->uses.count; j++)
        clpi_use_note_freed_locked(&range->uses.all[j]);
  clpi_arena_unlock(arena);
  return clpi_streams_drain(&arena->streams);
}

clp_status clpi_arena_trim(clpi_arena *arena, size_t bytes, size_t most, bool may_wait)
{
  clpi_moving self = {.arena = arena};
  clp_status status = CLP_SUCCESS;
  if (!may_wait && !clpi_frees_are_ordered(arena->upstream))
    clpi_streams_poll(&arena->streams);
  for (bool waits = may_wait; !status;) {
    bool is_parted = false;
    if (take_unused(&self, bytes, most, may_wait, &is_parted))
      status = give_back(&self);
    else if (is_parted && waits)
      waits = !clpi_arena_wait(arena);
    else
      break;
  }
  return status;
}

clp_status clpi_arena_return_cached(void *self, size_t most, size_t most_unused)
{
  clpi_arena *arena = self;
  bool may_wait = most_unused == SIZE_MAX;
  clpi_spinlock_lock(&arena->lock);
  size_t taken = clpi_arena_taken_bytes_locked(arena);
  size_t stays = clpi_arena_staying_bytes_locked(arena);
  clpi_spinlock_unlock(&arena->lock);
  most = MIN(most, stays + MIN(most_unused, SIZE_MAX - stays));
  if (!may_wait && taken <= most)
    return CLP_SUCCESS;
  clp_status status = clpi_arena_trim(arena, 0, most, may_wait);
  if (status || !may_wait)
    return status;
  status = arena->upstream->ops.return_cached(arena->upstream->self);
  return status == CLP_NOT_SUPPORTED ? CLP_SUCCESS : status;
}

/* Removes a segment that has had no block since an earlier call, at least `milliseconds` ago. If
 * there is none, notes the segments without blocks. */
static bool take_idle(clpi_moving *self, uint64_t milliseconds, uint64_t now)
{
  clpi_arena *arena = self->arena;
  clpi_segments *segments = &arena->segments;
  self->segment = NULL;
  clpi_arena_lock(arena);
  if (segments->is_parted) {
    clpi_loop_leave_locked(arena);
    clpi_segments_settle_locked(segments);
  }
  for (size_t i = 0; i < segments->count && !self->segment; i++) {
    clpi_segment *segment = segments->all[i];
    bool is_noted = segment->idle_since && segment->idle_since <= now; /* or in a later call */
    if (is_noted && now - segment->idle_since >= milliseconds && clpi_segment_is_whole(segment) &&
        segment->bytes <= most_to_give_locked(arena, 0))
      self->segment = segment;
  }
  if (self->segment) {
    clpi_loop_leave_locked(arena);
    remove_locked(self);
  }
  for (size_t i = 0; i < segments->count && !self->segment; i++)
    if (!segments->all[i]->block_count && !segments->all[i]->idle_since)
      segments->all[i]->idle_since = now;
  clpi_arena_unlock(arena);
  return self->segment;
}

clp_status clpi_arena_trim_idle(void *self, uint64_t milliseconds, uint64_t now)
{
  clpi_moving moving = {.arena = self};
  clp_status status = CLP_SUCCESS;
  clpi_arena_lock(self);
  bool is_parted = moving.arena->segments.is_parted;
  clpi_arena_unlock(self);
  if (is_parted)
    clpi_streams_poll(&moving.arena->streams);
  while (!status && take_idle(&moving, milliseconds, now))
    status = give_back(&moving);
  return status;
}

static void log_failure(const char *what)
{
  clpi_log(CLP_LOG_ERROR, "an arena could not free %s: %s", what, clp_last_error()->message);
}

/* No other thread uses the arena any more. Blocks that were never freed end with their segments. */
void clpi_arena_return_segments(clpi_arena *arena)
{
  clpi_segments *segments = &arena->segments;
  arena->reserve_bytes = 0;
  if (clpi_arena_trim(arena, 0, 0, true))
    log_failure("an unused segment");
  for (size_t i = 0; i < segments->count; i++) {
    clpi_segment *segment = segments->all[i];
    for (clpi_range *range = segment->first; range; range = range->after) {
      for (size_t j = 0; j < range->uses.count; j++)
        (void)clpi_use_wait(&arena->streams, &range->uses.all[j]);
      if (clpi_parts_drop(arena->upstream, &range->parts))
        log_failure("a part");
    }
    if (clp_allocator_free(arena->upstream, segment->memory, segment->bytes))
      log_failure("a segment");
    free(segment);
  }
}

/* --- the reserve --- */

/* Makes `bytes` the reserve, and returns how many of them are missing. */
static size_t set_reserve(clpi_arena *arena, size_t bytes)
{
  clpi_spinlock_lock(&arena->lock);
  arena->reserve_bytes = bytes;
  size_t taken = arena->segments.reserved_bytes;
  clpi_spinlock_unlock(&arena->lock);
  return bytes > taken ? bytes - taken : 0;
}

static clp_status take_reserve(clpi_arena *arena, size_t bytes)
{
  clp_status status = CLP_SUCCESS;
  for (size_t missing; !status && (missing = set_reserve(arena, bytes)) > 0;) {
    size_t segment =
        MIN(clpi_aligned(missing, arena->alignment), clpi_arena_largest_segment(arena));
    clpi_moving taken = {
        .arena = arena, .bytes = segment, .least_bytes = segment, .most_bytes = SIZE_MAX};
    status = clpi_arena_take(&taken);
  }
  return status;
}

/* One thread at a time: two would take twice the missing bytes. A thread that only fills the
 * reserve up does not wait for another one. Hooks do not see these calls. */
clp_status clpi_arena_fill_reserve(clpi_arena *arena, const size_t *bytes)
{
  if (bytes && *bytes > SIZE_MAX / 2)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "no device has %zu bytes to reserve", *bytes);
  if (bytes)
    pthread_mutex_lock(&arena->reserving);
  else if (pthread_mutex_trylock(&arena->reserving))
    return CLP_SUCCESS;
  struct clpi_device_call *call = clpi_own_hooks.call;
  clpi_own_hooks.call = NULL; /* no hook is shown it */
  clpi_spinlock_lock(&arena->lock);
  size_t earlier = arena->reserve_bytes, taken = clpi_arena_taken_bytes_locked(arena);
  clpi_spinlock_unlock(&arena->lock);
  clp_status status = take_reserve(arena, bytes ? *bytes : earlier);
  if (status) {
    clpi_kept_error kept;
    clpi_error_keep(&kept);
    (void)set_reserve(arena, earlier);
    (void)clpi_arena_trim(arena, 0, taken, true);
    clpi_error_restore(&kept);
  }
  pthread_mutex_unlock(&arena->reserving);
  clpi_own_hooks.call = call;
  return status;
}
