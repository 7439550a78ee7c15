/* SPDX-License-Identifier: MIT */
/* Growth: how large segments are, when they go back, and where the next block goes. */
#include "arena/growth.h"

#include "core/allocator.h"
#include "core/error.h"
#include "core/log.h"
#include "core/ordered_free.h"

#define MAX_SEGMENT_PER_SLACK 0x1.8p30 /* bytes */

/* Of the share of use that a segment gets, bytes. */
enum { SEGMENT_UNIT = 512 };

/* A segment without blocks may be as much larger than a request as that much use, times slack. */
enum { WASTE_PER_SLACK = 32 };

/* What is wanted of the next segment, in bytes. */
typedef struct plan {
  size_t segment;    /* its size */
  size_t most_whole; /* the largest segment without blocks that is taken instead */
  size_t most;       /* of all segments, before some go back */
} plan;

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* Of a product that may be more than a size_t can count. */
static size_t to_size(double bytes)
{
  return bytes < 0x1p62 ? (size_t)bytes : (size_t)1 << 62;
}

static size_t max_segment(const clp_arena_options *options)
{
  return options->max_segment_bytes ? options->max_segment_bytes
                                    : to_size(options->slack * MAX_SEGMENT_PER_SLACK);
}

static plan plan_locked(clpi_arena *arena, size_t room)
{
  const clp_arena_options *options = &arena->options;
  arena->peak_wanted = larger(arena->peak_wanted, arena->segments.used_bytes + room);
  double peak = (double)arena->peak_wanted;
  size_t share = to_size(options->slack * peak) / SEGMENT_UNIT * SEGMENT_UNIT;
  size_t shared = larger(options->min_segment_bytes, smaller(max_segment(options), share));
  size_t segment = larger(room, smaller(shared, arena->upstream->ops.max_block_bytes));
  size_t waste = to_size(WASTE_PER_SLACK * options->slack * peak);
  return (plan){.segment = segment,
                .most_whole = larger(segment, room + waste),
                .most = to_size(peak * (1 + options->slack))};
}

static plan make_plan(clpi_arena *arena, size_t room)
{
  pthread_mutex_lock(&arena->lock);
  plan made = plan_locked(arena, room);
  pthread_mutex_unlock(&arena->lock);
  return made;
}

/* --- giving back --------------------------------------------------------------------------------
 */

static bool is_above_locked(const clpi_arena *arena, size_t bytes, size_t most)
{
  size_t taken = arena->segments.reserved_bytes + arena->growing_bytes;
  return taken > most || bytes > most - taken;
}

/* Removes the longest unused segment, if there are more bytes than `most` with `bytes` added. */
static clpi_segment *take_unused(clpi_arena *arena, size_t bytes, size_t most)
{
  clpi_segment *segment = NULL;
  pthread_mutex_lock(&arena->lock);
  if (!clpi_list_is_empty(&arena->segments.unused) && is_above_locked(arena, bytes, most)) {
    segment = clpi_list_entry(arena->segments.unused.next, clpi_segment, on_unused);
    clpi_segments_remove(&arena->segments, segment);
  }
  pthread_mutex_unlock(&arena->lock);
  return segment;
}

static void restore_locked(clpi_arena *arena, clpi_segment *segment)
{
  clpi_list_remove(&segment->on_all);
  clpi_segments_restore(&arena->segments, segment);
}

static void restore(clpi_arena *arena, clpi_segment *segment)
{
  pthread_mutex_lock(&arena->lock);
  restore_locked(arena, segment);
  pthread_mutex_unlock(&arena->lock);
}

/* Whether upstream can have a removed segment without a wait of the host. */
static bool goes_at_once(clpi_arena *arena, const clpi_segment *segment)
{
  const clp_allocator_ops *ops = &arena->upstream->ops;
  const clpi_use_set *set = segment->first->uses;
  bool at_once = true;
  if (ops->free_is_ordered || ops->free_on)
    return true;
  for (size_t i = 0; set && i < set->count && at_once; i++)
    at_once = clpi_use_settle(&arena->streams, &set->uses[i], NULL, CLPI_POLL);
  return at_once;
}

/* Gives a segment back that was removed; else it is there again. */
static clp_status give_back(clpi_arena *arena, clpi_segment *segment)
{
  clpi_use_set *set = segment->first->uses;
  clpi_uses uses = {set ? set->uses : NULL, set ? set->count : 0};
  clp_status status =
      clpi_ordered_free(&arena->streams, arena->upstream, segment->memory, segment->bytes, uses);
  pthread_mutex_lock(&arena->lock);
  if (status) {
    restore_locked(arena, segment);
  } else {
    clpi_list_remove(&segment->on_all);
    arena->segments_given_back++;
    clpi_segment_destroy(segment);
  }
  pthread_mutex_unlock(&arena->lock);
  return status;
}

static size_t count_unused(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  size_t count = arena->segments.whole.count;
  pthread_mutex_unlock(&arena->lock);
  return count;
}

/* While `bytes` more would make more than `most`. Tries each segment once. */
static clp_status shrink(clpi_arena *arena, size_t bytes, size_t most, bool may_wait)
{
  clp_status status = CLP_SUCCESS;
  for (size_t left = count_unused(arena); left > 0 && !status; left--) {
    clpi_segment *segment = take_unused(arena, bytes, most);
    if (!segment)
      break;
    if (may_wait || goes_at_once(arena, segment))
      status = give_back(arena, segment);
    else
      restore(arena, segment);
  }
  return status;
}

clp_status clpi_arena_return_unused(clpi_arena *arena)
{
  return shrink(arena, SIZE_MAX, 0, true);
}

static void tell_lost(const char *what)
{
  clpi_log(CLP_LOG_ERROR, "%s of an arena: %s", what, clp_last_error()->message);
}

/* Nobody else uses the arena any more. Blocks that were never freed go with their segments. */
void clpi_arena_give_all_back(clpi_arena *arena)
{
  if (clpi_arena_return_unused(arena))
    tell_lost("an unused segment");
  while (!clpi_list_is_empty(&arena->segments.all)) {
    clpi_segment *segment = clpi_list_entry(arena->segments.all.next, clpi_segment, on_all);
    for (clpi_range *range = segment->first; range; range = range->after)
      for (size_t i = 0; range->uses && i < range->uses->count; i++)
        (void)clpi_use_wait(&arena->streams, &range->uses->uses[i]);
    if (clp_allocator_free(arena->upstream, segment->memory, segment->bytes))
      tell_lost("a segment");
    clpi_list_remove(&segment->on_all);
    clpi_segment_destroy(segment);
  }
}

/* --- growing ------------------------------------------------------------------------------------
 */

/* Sets `*bytes` aside for a segment, or as much as the request allows. */
static clp_status reserve(const clpi_placing *placing, size_t *bytes)
{
  clpi_arena *arena = placing->arena;
  size_t most = placing->request->most_bytes;
  pthread_mutex_lock(&arena->lock);
  size_t reserved = arena->segments.reserved_bytes, used = arena->segments.used_bytes;
  bool fits = !is_above_locked(arena, placing->room, most);
  if (fits) {
    *bytes = smaller(*bytes, most - reserved - arena->growing_bytes);
    arena->growing_bytes += *bytes;
  }
  pthread_mutex_unlock(&arena->lock);
  if (fits)
    return CLP_SUCCESS;
  return clpi_error(CLP_LIMIT_EXCEEDED, 0,
                    "a block of %zu bytes would pass the limit of %zu bytes: the arena has taken "
                    "%zu bytes from the device, of which %zu are in use",
                    placing->request->bytes, most, reserved, used);
}

static void unreserve(clpi_arena *arena, size_t bytes)
{
  pthread_mutex_lock(&arena->lock);
  arena->growing_bytes -= bytes;
  pthread_mutex_unlock(&arena->lock);
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

/* Takes a segment and makes its beginning the placing's block. */
static clp_status take_from(clpi_placing *placing, clpi_stream *home, clpi_segment *made,
                            size_t bytes)
{
  clpi_arena *arena = placing->arena;
  clp_memory memory;
  clpi_use_set *uses;
  clp_status status = obtain(arena, home, bytes, &memory, &uses);
  pthread_mutex_lock(&arena->lock);
  arena->growing_bytes -= bytes;
  if (!status) {
    clpi_segments_add(&arena->segments, made, memory, bytes, uses);
    arena->segments_taken++;
    arena->peak_reserved_bytes = larger(arena->peak_reserved_bytes, arena->segments.reserved_bytes);
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
  if (ops->allocate_uses_home) {
    clp_status status = clpi_stream_pin(streams, ops->home_stream, &home);
    if (status) {
      unreserve(placing->arena, bytes);
      return status;
    }
  }
  clp_status status = take_from(placing, home, made, bytes);
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
  clp_status status = reserve(placing, &bytes);
  if (!status)
    status = take_segment(placing, made, bytes);
  if (status) {
    clpi_segment_destroy(made);
    return status;
  }
  return settle_new(placing);
}

/* Where there is no memory for such a segment, or a limit allows none, all that can be spared goes
 * back, and one that is just large enough does. */
static clp_status add_some_segment(clpi_placing *placing, size_t bytes)
{
  clp_status status = add_segment(placing, bytes);
  if (status != CLP_OUT_OF_DEVICE_MEMORY && status != CLP_LIMIT_EXCEEDED)
    return status;
  status = clpi_arena_return_unused(placing->arena);
  return status ? status : add_segment(placing, placing->room);
}

clp_status clpi_arena_grow(clpi_placing *placing)
{
  clpi_arena *arena = placing->arena;
  plan made = make_plan(arena, placing->room);
  clp_status status = clpi_arena_place(placing, &arena->segments.whole, made.most_whole);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  status = shrink(arena, made.segment, smaller(made.most, placing->request->most_bytes), false);
  return status ? status : add_some_segment(placing, made.segment);
}
