/* SPDX-License-Identifier: MIT */
/* Growth: how large segments are, and taking them from upstream. */
#include "arena/growth.h"

#include "arena/ahead.h"
#include "arena/trim.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/streams/use.h"

#include <sys/param.h>

/* --- planning --- */

/* For products that may be more than a size_t can hold. */
static size_t to_size(double bytes)
{
  return bytes < (double)SIZE_MAX ? (size_t)bytes : SIZE_MAX;
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

/* How much more than the request an unused segment that is cut may have, in slacks. A small block
 * would keep a large one from going back; but the fewer calls are left, the more are saved. */
static double waste_in_slacks(double part_left)
{
  static const double most = 9, few = 0.5;
  return part_left < few ? most - (most - 1) * part_left / few : 1;
}

/* Whether much is free in segments that blocks keep from going back: the fewer share one, the
 * sooner it goes. That takes many calls, of which some stay for later. */
static bool is_pinned_locked(const clpi_arena *arena, double high_water, double part_left)
{
  static const double much = 0.3, enough = 0.1;
  return (double)arena->segments.partial.bytes > much * high_water && part_left > enough;
}

/* How much may stay taken: what was taken before, as long as no pool holds any of it. */
static size_t most_taken_locked(const clpi_arena *arena, bool is_spent)
{
  if (is_spent)
    return arena->segments.reserved_bytes;
  return arena->has_tape ? arena->peak_grown_bytes : 0;
}

/* The bytes of the segment that the program had last time, so that it has the same places again, if
 * that is within what may stay taken. 0: none is known. (A planned one is not for here.) */
static size_t known_bytes_locked(const clpi_carving *carving, size_t most)
{
  const clpi_arena *arena = carving->arena;
  const clpi_tape *tape = &arena->tape;
  const clpi_tape_segment *gone = clpi_tape_gone(tape);
  if (!gone || gone->planned || tape->events[tape->next].bytes != carving->request->bytes)
    return 0;
  size_t stays = clpi_arena_staying_bytes(arena);
  return stays <= most && gone->bytes <= most - stays ? gone->bytes : 0;
}

/* Whether the request could fit if all unused segments went back, the reserve's too. */
static bool could_fit_locked(const clpi_carving *carving)
{
  const clpi_arena *arena = carving->arena;
  size_t stays = clpi_arena_staying_bytes(arena), most = carving->request->most_bytes;
  size_t device = arena->upstream->ops.device_bytes;
  most = device ? MIN(most, device) : most;
  return stays <= most && carving->room <= most - stays;
}

clpi_growth clpi_arena_plan_growth(const clpi_carving *carving)
{
  clpi_arena *arena = carving->arena;
  size_t room = carving->room;
  double slack = arena->options.slack;
  clpi_arena_lock(arena);
  clpi_call_budget_earn(&arena->budget);
  size_t high_water = MAX(arena->high_water, arena->segments.used_bytes + room);
  double part_left = slack > 0 ? clpi_call_budget_part_left(&arena->budget) : 1;
  bool is_spent = slack > 0 && clpi_call_budget_is_spent(&arena->budget);
  bool is_pinned = slack > 0 && is_pinned_locked(arena, (double)high_water, part_left);
  size_t taken = most_taken_locked(arena, is_spent);
  uint64_t succeeded = arena->pending.succeeded;
  bool may_exchange = !arena->reserve_bytes || could_fit_locked(carving);
  size_t known = arena->has_tape && !is_pinned ? known_bytes_locked(carving, taken) : 0;
  clpi_arena_unlock(arena);
  size_t segment = known ? known : segment_bytes(arena, is_pinned ? 0 : (double)high_water);
  segment = MAX(room, segment);
  double waste = waste_in_slacks(part_left) * slack * (double)high_water;
  return (clpi_growth){
      .high_water = high_water,
      .segment_bytes = segment,
      .most_unused = is_spent ? SIZE_MAX : MAX(segment, to_size((double)room + waste)),
      .most_bytes = MAX(to_size((double)high_water * (1 + slack)), taken),
      .is_spent = is_spent,
      .may_exchange = may_exchange,
      .succeeded = succeeded,
  };
}

size_t clpi_arena_taken_bytes(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  size_t taken = arena->segments.reserved_bytes + arena->pending.taken_bytes;
  pthread_mutex_unlock(&arena->lock);
  return taken;
}

void clpi_arena_make_room(clpi_arena *arena, clpi_growth *growth, size_t most)
{
  most = MIN(most, growth->most_bytes);
  size_t new_bytes = MAX(growth->segment_bytes, growth->planned_bytes);
  size_t coming = growth->may_exchange ? new_bytes : 0;
  if (!growth->is_spent && !growth->is_planned) {
    (void)clpi_arena_trim(arena, coming, most, false);
    return;
  }
  (void)clpi_arena_trim(arena, coming, 0, false);
  if (growth->is_planned)
    return;
  /* One segment in place of all that were unused makes the next call unlikely. */
  size_t taken = clpi_arena_taken_bytes(arena);
  size_t room = MIN(taken < most ? most - taken : 0, clpi_arena_largest_segment(arena));
  growth->segment_bytes = MAX(growth->segment_bytes, room / CLPI_SEGMENT_UNIT * CLPI_SEGMENT_UNIT);
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
                    "%zu bytes from the device, of which %zu are in blocks that pools use or hold",
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

/* Gives new memory back that no segment remembers, after the home stream's work on it. */
static void give_back(clpi_arena *arena, clpi_stream *home, size_t bytes, clp_memory memory)
{
  clpi_use use = clpi_use_now(home);
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clp_status status =
      clpi_ordered_free(&arena->streams, arena->upstream, memory, bytes, (clpi_uses){&use, 1});
  if (status)
    clpi_log(CLP_LOG_ERROR, "%s did not take back a new segment of %zu bytes: %s",
             arena->upstream->name, bytes, clp_last_error()->message);
  clpi_error_restore(&kept);
}

static clp_status obtain(clpi_arena *arena, clpi_stream *home, size_t bytes, clp_memory *memory,
                         clpi_use_set **uses)
{
  clp_status status = clp_allocator_allocate(arena->upstream, bytes, memory);
  if (status)
    return status;
  status = uses_of_new(arena, home, uses);
  if (status)
    give_back(arena, home, bytes, *memory);
  return status;
}

/* The bytes of a segment of that number which is planned, and yet to come; 0: there is none any
 * more. */
static size_t planned_bytes_locked(const clpi_arena *arena, uint32_t number)
{
  const clpi_tape *tape = &arena->tape;
  bool is_known =
      arena->has_tape && number < tape->segment_count && !tape->segments[number].segment;
  return is_known ? tape->segments[number].bytes : 0;
}

/* Has the block carved from a new segment; or, if there is none, or the segment was planned by that
 * number, not UINT32_MAX, only the tape know it. */
static void enter_locked(clpi_carving *carving, clpi_segment *made, uint32_t number)
{
  clpi_arena *arena = carving->arena;
  arena->segments_taken++;
  clpi_call_budget_spend(&arena->budget);
  size_t reserved = arena->segments.reserved_bytes;
  arena->peak_reserved_bytes = MAX(arena->peak_reserved_bytes, reserved);
  if (carving->room)
    arena->peak_grown_bytes = MAX(arena->peak_grown_bytes, reserved);
  if (number == UINT32_MAX && carving->room) {
    if (arena->has_tape)
      clpi_tape_grow(&arena->tape, made);
    clpi_carving_carve_locked(carving, made->first);
  } else if (arena->has_tape) {
    if (planned_bytes_locked(arena, number) == made->bytes)
      made->number = number;
    clpi_tape_add_segment(&arena->tape, made);
  }
}

/* Takes a segment of the reserved bytes. */
static clp_status take_reserved(clpi_carving *carving, clpi_stream *home, clpi_segment *made,
                                size_t bytes, uint32_t number)
{
  clpi_arena *arena = carving->arena;
  clp_memory memory;
  clpi_use_set *uses = NULL;
  clp_status status = obtain(arena, home, bytes, &memory, &uses);
  clpi_arena_lock(arena);
  clpi_pending_end_locked(&arena->pending, &arena->pending.taken_bytes, bytes, !status);
  if (!status) {
    clpi_segments_add(&arena->segments, made, memory, bytes, uses);
    enter_locked(carving, made, number);
  }
  clpi_arena_unlock(arena);
  return status;
}

/* If new memory is used by the home stream, that is pinned until the segment remembers it. */
static clp_status take_segment(clpi_carving *carving, clpi_segment *made, size_t bytes,
                               uint32_t number)
{
  clpi_streams *streams = &carving->arena->streams;
  const clp_allocator_ops *ops = &carving->arena->upstream->ops;
  clpi_stream *home = NULL;
  clp_status status =
      ops->allocate_uses_home ? clpi_stream_pin(streams, ops->home_stream, &home) : CLP_SUCCESS;
  if (!status)
    status = reserve(carving, &bytes);
  if (!status)
    status = take_reserved(carving, home, made, bytes, number);
  if (home)
    clpi_stream_unpin(streams, home);
  return status;
}

clp_status clpi_arena_add_segment(clpi_carving *carving, size_t bytes)
{
  clpi_segment *made = clpi_segment_create();
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a segment");
  clp_status status = take_segment(carving, made, bytes, UINT32_MAX);
  if (status)
    clpi_segment_destroy(made);
  return status;
}

void clpi_arena_add_planned(clpi_carving *carving, const clpi_growth *growth)
{
  clp_status status = CLP_SUCCESS;
  clpi_arena_lock(carving->arena);
  bool is_first_there = carving->site->segment->number + 1 == growth->first_planned;
  clpi_arena_unlock(carving->arena);
  for (uint32_t i = 0; is_first_there && !status && i < growth->also_planned; i++) {
    uint32_t number = growth->first_planned + i;
    clpi_arena_lock(carving->arena);
    size_t bytes = planned_bytes_locked(carving->arena, number);
    clpi_arena_unlock(carving->arena);
    clpi_segment *made = bytes ? clpi_segment_create() : NULL;
    if (!made)
      continue;
    status = take_segment(carving, made, bytes, number);
    if (status)
      clpi_segment_destroy(made);
  }
}
