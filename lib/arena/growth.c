/* SPDX-License-Identifier: MIT */
/* Growth: how large segments are, and where a block goes that fits beside no other. */
#include "arena/growth.h"

#include "arena/returning.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"

#include <sys/param.h>

#define MAX_SEGMENT_PER_SLACK 0x1.8p30 /* bytes */

/* Of the share of use that a segment gets, bytes. */
enum { SEGMENT_UNIT = 512 };

/* A segment without blocks may be as much larger than a request as that much use, times slack. */
enum { WASTE_PER_SLACK = 32 };

/* What is wanted of the next segment, in bytes. */
typedef struct plan {
  size_t wanted;     /* the most in use when the arena had to grow, with this request */
  size_t segment;    /* its size */
  size_t most_whole; /* the largest segment without blocks that is taken instead */
  size_t most;       /* of all segments, before some go back */
} plan;

/* Of a product that may be more than a size_t can count. */
static size_t to_size(double bytes)
{
  return bytes < (double)SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static size_t max_segment(const clp_arena_options *options)
{
  return options->max_segment_bytes ? options->max_segment_bytes
                                    : to_size(options->slack * MAX_SEGMENT_PER_SLACK);
}

static plan make_plan(clpi_arena *arena, size_t room)
{
  const clp_arena_options *options = &arena->options;
  pthread_mutex_lock(&arena->lock);
  size_t wanted = MAX(arena->peak_wanted, arena->segments.used_bytes + room);
  pthread_mutex_unlock(&arena->lock);
  double peak = (double)wanted;
  size_t share = to_size(options->slack * peak) / SEGMENT_UNIT * SEGMENT_UNIT;
  size_t shared = MAX(options->min_segment_bytes, MIN(max_segment(options), share));
  size_t segment = MAX(room, MIN(shared, arena->upstream->ops.max_block_bytes));
  size_t waste = to_size(WASTE_PER_SLACK * options->slack * peak);
  return (plan){.wanted = wanted,
                .segment = segment,
                .most_whole = MAX(segment, room + MIN(waste, SIZE_MAX - room)),
                .most = to_size(peak * (1 + options->slack))};
}

/* --- taking a segment --- */

static clp_status refuse(const clpi_placing *placing, size_t taken, size_t used)
{
  size_t most = placing->request->most_bytes;
  if (most == SIZE_MAX)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "the arena cannot count as many bytes");
  return clpi_error(CLP_LIMIT_EXCEEDED, 0,
                    "a block of %zu bytes would pass the limit of %zu bytes: the arena has taken "
                    "%zu bytes from the device, of which %zu are in use",
                    placing->request->bytes, most, taken, used);
}

/* Sets `*bytes` aside for a segment, or as much as the request allows. What is on its way back to
 * upstream is still taken. */
static clp_status reserve(const clpi_placing *placing, size_t *bytes)
{
  clpi_arena *arena = placing->arena;
  clpi_moves *moves = &arena->moves;
  size_t most = placing->request->most_bytes;
  pthread_mutex_lock(&arena->lock);
  size_t taken = arena->segments.reserved_bytes + moves->coming_bytes + moves->leaving_bytes;
  size_t used = arena->segments.used_bytes;
  bool fits = taken <= most && placing->room <= most - taken;
  if (fits) {
    *bytes = MIN(*bytes, most - taken);
    clpi_move_begin_locked(moves, &moves->coming_bytes, *bytes);
  }
  pthread_mutex_unlock(&arena->lock);
  return fits ? CLP_SUCCESS : refuse(placing, taken, used);
}

/* What upstream's home stream has to do with new memory; `*uses` is NULL where that is nothing. */
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

/* Takes a segment of what was set aside, and makes its beginning the placing's block. */
static clp_status take_reserved(clpi_placing *placing, clpi_stream *home, clpi_segment *made,
                                size_t bytes)
{
  clpi_arena *arena = placing->arena;
  clp_memory memory;
  clpi_use_set *uses = NULL;
  clp_status status = obtain(arena, home, bytes, &memory, &uses);
  pthread_mutex_lock(&arena->lock);
  clpi_move_end_locked(&arena->moves, &arena->moves.coming_bytes, bytes, !status);
  if (!status) {
    clpi_segments_add(&arena->segments, made, memory, bytes, uses);
    arena->segments_taken++;
    arena->peak_reserved_bytes = MAX(arena->peak_reserved_bytes, arena->segments.reserved_bytes);
    clpi_arena_carve_locked(placing, made->first);
  }
  pthread_mutex_unlock(&arena->lock);
  return status;
}

/* The home stream, if new memory is its, is not forgotten before the segment is there. */
static clp_status take_segment(clpi_placing *placing, clpi_segment *made, size_t bytes)
{
  clpi_streams *streams = &placing->arena->streams;
  const clp_allocator_ops *ops = &placing->arena->upstream->ops;
  clpi_stream *home = NULL;
  clp_status status =
      ops->allocate_uses_home ? clpi_stream_pin(streams, ops->home_stream, &home) : CLP_SUCCESS;
  if (!status)
    status = reserve(placing, &bytes);
  if (!status)
    status = take_reserved(placing, home, made, bytes);
  if (home)
    clpi_stream_unpin(streams, home);
  return status;
}

/* New memory is made safe in any case. */
static clp_status settle_new(clpi_placing *placing)
{
  clpi_arena *arena = placing->arena;
  const clpi_use_set *set = placing->placed->uses;
  clp_status status = CLP_SUCCESS;
  for (size_t i = 0; set && i < set->count && !status; i++)
    if (!placing->by || !clpi_use_settle(&arena->streams, &set->uses[i], placing->by, CLPI_WAIT))
      status = clpi_use_wait(&arena->streams, &set->uses[i]);
  if (status)
    clpi_arena_put_back(placing);
  return status;
}

static clp_status add_segment(clpi_placing *placing, size_t bytes)
{
  clpi_segment *made = clpi_segment_create();
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a segment");
  clp_status status = take_segment(placing, made, bytes);
  if (status) {
    clpi_segment_destroy(made);
    return status;
  }
  return settle_new(placing);
}

/* --- growing --- */

static bool lacks_memory(clp_status status)
{
  return status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED;
}

/* In what other threads left behind, or in a segment that is just large enough. Before, all that
 * can be spared goes back; what upstream does not take of it can still serve. */
static clp_status try_again(clpi_placing *placing)
{
  clpi_segments *segments = &placing->arena->segments;
  clp_status status = clpi_arena_place(placing, &segments->partial, SIZE_MAX);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  (void)clpi_arena_return_unused(placing->arena);
  status = clpi_arena_place(placing, &segments->whole, SIZE_MAX);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  return add_segment(placing, placing->room);
}

static uint64_t count_done(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  uint64_t done = arena->moves.done;
  pthread_mutex_unlock(&arena->lock);
  return done;
}

static bool await_move(clpi_arena *arena, uint64_t *done)
{
  pthread_mutex_lock(&arena->lock);
  bool was_done = clpi_move_await_locked(&arena->moves, &arena->lock, done);
  pthread_mutex_unlock(&arena->lock);
  return was_done;
}

static clp_status add_some_segment(clpi_placing *placing, size_t bytes)
{
  clpi_arena *arena = placing->arena;
  uint64_t done = count_done(arena);
  clp_status status = add_segment(placing, bytes);
  if (!lacks_memory(status))
    return status;
  do {
    status = try_again(placing);
  } while (lacks_memory(status) && await_move(arena, &done));
  return status;
}

static void note_growth(clpi_arena *arena, size_t wanted)
{
  pthread_mutex_lock(&arena->lock);
  arena->peak_wanted = MAX(arena->peak_wanted, wanted);
  pthread_mutex_unlock(&arena->lock);
}

/* What failed on the way does not become the caller's last error. */
clp_status clpi_arena_grow(clpi_placing *placing)
{
  clpi_arena *arena = placing->arena;
  plan made = make_plan(arena, placing->room);
  clp_status status = clpi_arena_place(placing, &arena->segments.whole, made.most_whole);
  if (!status)
    note_growth(arena, made.wanted);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  size_t most = MIN(made.most, placing->request->most_bytes);
  (void)clpi_arena_shrink(arena, made.segment, most, false);
  status = add_some_segment(placing, made.segment);
  if (status)
    return status;
  clpi_error_restore(&kept);
  note_growth(arena, made.wanted);
  return CLP_SUCCESS;
}
