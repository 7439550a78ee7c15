/* SPDX-License-Identifier: MIT */
/* Growth: how large segments are, and taking them from upstream. */
#include "arena/growth.h"

#include "arena/ahead.h"
#include "arena/trim.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/streams/use.h"

#include <sys/param.h>

/* --- planning --- */

/* For products that may be more than a size_t can hold. */
static size_t to_size(double bytes)
{
  return bytes < (double)SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

/* The most that one segment may be, but for a single block. */
static size_t largest_segment(const clpi_arena *arena)
{
  size_t largest = arena->options.max_segment_bytes;
  size_t most = arena->upstream->ops.max_block_bytes;
  return largest ? MIN(largest, most) : most;
}

static size_t segment_bytes(const clpi_arena *arena, double use)
{
  const clp_arena_options *options = &arena->options;
  size_t share = to_size(options->slack * use) / CLPI_SEGMENT_UNIT * CLPI_SEGMENT_UNIT;
  size_t most = options->max_segment_bytes ? options->max_segment_bytes
                                           : to_size(options->slack * CLPI_MAX_SEGMENT_PER_SLACK);
  size_t bytes = MAX(options->min_segment_bytes, MIN(most, share));
  return MIN(bytes, arena->upstream->ops.max_block_bytes);
}

/* Whether less is in use than a part of what there was at most. Then no small block does harm where
 * a large one could be; but where pools hold blocks, that come to lie anywhere. */
static bool is_below_locked(const clpi_arena *arena, size_t room, double most)
{
  return arena->has_tape && (double)(arena->segments.used_bytes + room) < most;
}

/* Whether what is unused is in many segments, and none of them is most of it, but one could be all
 * of it. A few large ones may be just what the next large blocks need. */
static bool is_scattered_locked(const clpi_arena *arena)
{
  enum { MANY = 8 };
  const clpi_free_ranges *unused = &arena->segments.whole;
  return unused->count >= MANY && clpi_free_ranges_largest(unused) < unused->bytes / 2 &&
         unused->bytes <= largest_segment(arena);
}

/* Whether unused segments can go without a wait of the host, and are upstream's again then: where
 * there is a tape, nothing else than the home stream may still use them. Under no lock. */
static bool can_go_now(clpi_arena *arena)
{
  if (!arena->orders_streams || arena->upstream->ops.free_is_ordered)
    return true;
  clpi_use use = clpi_use_now(&arena->streams.home);
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  bool is_done = clpi_use_settle(&arena->streams, &use, NULL, CLPI_POLL);
  clpi_error_restore(&kept);
  return is_done;
}

/* The part of the highest use that is free in segments that blocks keep from going back. It counts
 * as 0 unless more than half of the calls that were earned are left: the others are for later, when
 * the program repeats itself and earns none. */
static double pinned_part_locked(const clpi_arena *arena, double high_water)
{
  if (!clpi_call_budget_is_ample(&arena->budget))
    return 0;
  return (double)arena->segments.partial.bytes / high_water;
}

/* How much may stay taken: what was taken before, at most, as long as no pool holds any of it. */
static size_t most_taken_locked(const clpi_arena *arena, bool trades_all)
{
  if (trades_all)
    return arena->segments.reserved_bytes;
  return arena->has_tape ? arena->peak_reserved_bytes : 0;
}

clpi_growth clpi_arena_plan_growth(clpi_arena *arena, size_t room, bool is_limited)
{
  static const double low = 0.65, lowest = 0.3, much = 0.1, most_pinned = 1.25;
  clpi_arena_lock(arena);
  size_t high_water = MAX(arena->high_water, arena->segments.used_bytes + room);
  uint64_t succeeded = arena->pending.succeeded;
  clpi_call_budget_earn(&arena->budget);
  bool has_slack = arena->options.slack > 0;
  bool is_spent = has_slack && clpi_call_budget_is_spent(&arena->budget);
  double pinned = has_slack ? pinned_part_locked(arena, (double)high_water) : 0;
  bool is_low = has_slack && pinned <= MAX(much, arena->options.slack) &&
                is_below_locked(arena, room, low * (double)high_water);
  bool may_merge = is_low && !is_spent && !is_limited && is_scattered_locked(arena) &&
                   is_below_locked(arena, room, lowest * (double)high_water);
  bool trades_all = is_spent || is_low;
  size_t taken = most_taken_locked(arena, trades_all);
  clpi_arena_unlock(arena);
  bool merges = may_merge && can_go_now(arena);
  size_t most = to_size((double)high_water * (1 + arena->options.slack));
  size_t segment = MAX(room, segment_bytes(arena, pinned > most_pinned ? 0 : (double)high_water));
  size_t waste = trades_all ? SIZE_MAX : to_size(arena->options.slack * (double)high_water);
  return (clpi_growth){
      .high_water = high_water,
      .segment_bytes = segment,
      .most_unused = MAX(segment, room + MIN(waste, SIZE_MAX - room)),
      .most_bytes = MAX(most, taken),
      .trades_all = trades_all,
      .merges = merges,
      .is_spent = is_spent,
      .succeeded = succeeded,
  };
}

static size_t taken_now(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  size_t taken = arena->segments.reserved_bytes + arena->pending.taken_bytes;
  pthread_mutex_unlock(&arena->lock);
  return taken;
}

/* One segment in place of all that are unused makes the next call unlikely. */
static void trade_all(clpi_arena *arena, clpi_growth *growth, size_t most)
{
  size_t before = taken_now(arena);
  (void)clpi_arena_trim(arena, SIZE_MAX, 0, false);
  size_t taken = taken_now(arena);
  size_t room = MIN(taken < most ? most - taken : 0, largest_segment(arena));
  if (!growth->is_spent)
    room = MIN(room, before > taken ? before - taken : 0);
  room = room / CLPI_SEGMENT_UNIT * CLPI_SEGMENT_UNIT;
  growth->segment_bytes = MAX(growth->segment_bytes, room);
}

void clpi_arena_make_room(clpi_arena *arena, clpi_growth *growth, size_t most)
{
  most = MIN(most, growth->most_bytes);
  if (growth->trades_all)
    trade_all(arena, growth, most);
  else
    (void)clpi_arena_trim(arena, growth->segment_bytes, most, false);
}

void clpi_arena_note_growth(clpi_arena *arena, size_t high_water)
{
  pthread_mutex_lock(&arena->lock);
  arena->high_water = MAX(arena->high_water, high_water);
  pthread_mutex_unlock(&arena->lock);
}

/* --- taking a segment --- */

static clp_status refuse(const clpi_carving *carving, size_t taken, size_t used)
{
  size_t most = carving->request->most_bytes;
  if (most == SIZE_MAX)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "the arena cannot count as many bytes");
  return clpi_error(CLP_LIMIT_EXCEEDED, 0,
                    "a block of %zu bytes would pass the limit of %zu bytes: the arena has taken "
                    "%zu bytes from the device, of which %zu are in use",
                    carving->request->bytes, most, taken, used);
}

/* Reserves `*bytes` for a segment, or as many as the request allows. What is being given back to
 * upstream counts as taken until it is there. */
static clp_status reserve(const clpi_carving *carving, size_t *bytes)
{
  clpi_arena *arena = carving->arena;
  clpi_pending *pending = &arena->pending;
  size_t most = carving->request->most_bytes;
  clpi_arena_lock(arena);
  size_t taken = arena->segments.reserved_bytes + pending->taken_bytes + pending->returned_bytes;
  size_t used = arena->segments.used_bytes;
  bool fits = taken <= most && carving->room <= most - taken;
  if (fits) {
    *bytes = MIN(*bytes, most - taken);
    clpi_pending_begin_locked(pending, &pending->taken_bytes, *bytes);
  }
  clpi_arena_unlock(arena);
  return fits ? CLP_SUCCESS : refuse(carving, taken, used);
}

/* The uses of new memory: upstream's home stream may have work on it. NULL: there are none, or the
 * host had to wait for them. */
static clp_status uses_of_new(clpi_arena *arena, clpi_stream *home, clpi_use_set **uses)
{
  *uses = NULL;
  if (!home)
    return CLP_SUCCESS;
  clpi_use use = clpi_use_now(home);
  *uses = clpi_use_set_create(use);
  return *uses ? CLP_SUCCESS : clpi_use_wait(&arena->streams, &use);
}

static clp_status obtain(clpi_arena *arena, clpi_stream *home, size_t bytes, clp_memory *memory,
                         clpi_use_set **uses)
{
  clp_status status = clp_allocator_allocate(arena->upstream, bytes, memory);
  if (status)
    return status;
  status = uses_of_new(arena, home, uses);
  if (status)
    (void)clp_allocator_free(arena->upstream, *memory, bytes);
  return status;
}

/* Takes a segment of the reserved bytes, and carves the block from it. */
static clp_status take_reserved(clpi_carving *carving, clpi_stream *home, clpi_segment *made,
                                size_t bytes)
{
  clpi_arena *arena = carving->arena;
  clp_memory memory;
  clpi_use_set *uses = NULL;
  clp_status status = obtain(arena, home, bytes, &memory, &uses);
  clpi_arena_lock(arena);
  clpi_pending_end_locked(&arena->pending, &arena->pending.taken_bytes, bytes, !status);
  if (!status) {
    clpi_segments_add(&arena->segments, made, memory, bytes, uses);
    if (arena->has_tape)
      clpi_tape_add_segment(&arena->tape, made);
    arena->segments_taken++;
    clpi_call_budget_spend(&arena->budget);
    arena->peak_reserved_bytes = MAX(arena->peak_reserved_bytes, arena->segments.reserved_bytes);
    clpi_carving_carve_locked(carving, made->first);
  }
  clpi_arena_unlock(arena);
  return status;
}

/* If new memory is used by the home stream, that is pinned until the segment remembers it. */
static clp_status take_segment(clpi_carving *carving, clpi_segment *made, size_t bytes)
{
  clpi_streams *streams = &carving->arena->streams;
  const clp_allocator_ops *ops = &carving->arena->upstream->ops;
  clpi_stream *home = NULL;
  clp_status status =
      ops->allocate_uses_home ? clpi_stream_pin(streams, ops->home_stream, &home) : CLP_SUCCESS;
  if (!status)
    status = reserve(carving, &bytes);
  if (!status)
    status = take_reserved(carving, home, made, bytes);
  if (home)
    clpi_stream_unpin(streams, home);
  return status;
}

clp_status clpi_arena_add_segment(clpi_carving *carving, size_t bytes)
{
  clpi_segment *made = clpi_segment_create();
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a segment");
  clp_status status = take_segment(carving, made, bytes);
  if (status)
    clpi_segment_destroy(made);
  return status;
}
