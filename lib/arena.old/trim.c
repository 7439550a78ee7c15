/* SPDX-License-Identifier: MIT */
/* Trimming: giving unused segments back to upstream, and at the end all segments. */
#include "arena/trim.h"

#include "arena/ahead.h"
#include "arena/reserve.h"
#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/streams/use.h"

#include <sys/param.h>

static void remove_segment(clpi_arena *arena, clpi_segment *segment)
{
  clpi_tape_hide_segment(&arena->tape, segment);
  clpi_arena_note_home_locked(arena, segment->first);
  clpi_segments_remove(&arena->segments, segment);
}

static void restore_segment(clpi_arena *arena, clpi_segment *segment)
{
  if (arena->has_tape)
    clpi_tape_add_segment(&arena->tape, segment);
  clpi_segments_restore(&arena->segments, segment);
}

/* Removes the largest unused segment, if all segments and `bytes` more exceed `most`, and the
 * reserve is left with them. Those that other threads are giving back do not count. */
static clpi_segment *take_unused(clpi_arena *arena, size_t bytes, size_t most)
{
  clpi_segment *segment = NULL;
  clpi_arena_lock(arena);
  size_t taken = arena->segments.reserved_bytes + arena->pending.taken_bytes;
  bool is_above = taken > most || bytes > most - taken;
  if (is_above)
    segment = clpi_segments_largest_unused(&arena->segments,
                                           clpi_arena_most_to_give_locked(arena, bytes));
  if (segment) {
    remove_segment(arena, segment);
    clpi_pending_begin_locked(&arena->pending, &arena->pending.returned_bytes, segment->bytes);
  }
  clpi_arena_unlock(arena);
  return segment;
}

/* A removed segment is back with upstream, or it stays in the arena. `helps_others`: those who wait
 * for what is pending should try again. */
static void settle_removed(clpi_arena *arena, clpi_segment *segment, bool is_returned,
                           bool helps_others)
{
  clpi_arena_lock(arena);
  clpi_pending_end_locked(&arena->pending, &arena->pending.returned_bytes, segment->bytes,
                          helps_others);
  clpi_list_remove(&segment->on_all);
  if (is_returned) {
    arena->segments_given_back++;
    clpi_tape_remove_segment(&arena->tape, segment);
    clpi_segment_destroy(segment);
  } else {
    restore_segment(arena, segment);
  }
  clpi_arena_unlock(arena);
}

/* Whether a removed segment can be given back without a wait of the host. */
static bool needs_no_wait(clpi_arena *arena, const clpi_segment *segment)
{
  const clp_allocator_ops *ops = &arena->upstream->ops;
  const clpi_use_set *set = segment->first->uses;
  bool no_wait = true;
  if (ops->free_is_ordered || ops->free_on)
    return true;
  for (size_t i = 0; set && i < set->count && no_wait; i++)
    no_wait = clpi_use_settle(&arena->streams, &set->uses[i], NULL, CLPI_POLL);
  return no_wait;
}

static clp_status give_back(clpi_arena *arena, clpi_segment *segment)
{
  clpi_use_set *set = segment->first->uses;
  clpi_uses uses = {set ? set->uses : NULL, set ? set->count : 0};
  clp_status status =
      clpi_ordered_free(&arena->streams, arena->upstream, segment->memory, segment->bytes, uses);
  settle_removed(arena, segment, !status, !status);
  return status;
}

/* Those that need a wait stay, but come back only at the end, so that each is tried once. */
clp_status clpi_arena_trim(clpi_arena *arena, size_t bytes, size_t most, bool may_wait)
{
  clp_status status = CLP_SUCCESS;
  clpi_segment *stay = NULL;
  size_t stay_bytes = 0; /* still taken */
  while (!status) {
    clpi_segment *segment = take_unused(arena, bytes + MIN(stay_bytes, SIZE_MAX - bytes), most);
    if (!segment)
      break;
    if (may_wait || needs_no_wait(arena, segment)) {
      status = give_back(arena, segment);
    } else {
      segment->next_to_stay = stay;
      stay_bytes += segment->bytes;
      stay = segment;
    }
  }
  for (clpi_segment *next; stay; stay = next) {
    next = stay->next_to_stay;
    settle_removed(arena, stay, false, true); /* others may wait for its uses */
  }
  return status;
}

static void log_failure(const char *what)
{
  clpi_log(CLP_LOG_ERROR, "%s of an arena: %s", what, clp_last_error()->message);
}

/* No other thread uses the arena any more. Blocks that were never freed go with their segments. */
void clpi_arena_return_segments(clpi_arena *arena)
{
  clpi_arena_lock(arena);
  clpi_arena_stop_tracking_locked(arena);
  clpi_arena_unlock(arena);
  if (clpi_arena_trim(arena, SIZE_MAX, 0, true)) /* the reserve, too */
    log_failure("an unused segment");
  while (!clpi_list_is_empty(&arena->segments.all)) {
    clpi_segment *segment = clpi_list_entry(arena->segments.all.next, clpi_segment, on_all);
    for (clpi_range *range = segment->first; range; range = range->after)
      for (size_t i = 0; range->uses && i < range->uses->count; i++)
        (void)clpi_use_wait(&arena->streams, &range->uses->uses[i]);
    if (clp_allocator_free(arena->upstream, segment->memory, segment->bytes))
      log_failure("a segment");
    clpi_list_remove(&segment->on_all);
    clpi_segment_destroy(segment);
  }
}
