/* SPDX-License-Identifier: MIT */
/* Giving segments back: those without blocks, and all at the end. */
#include "arena/returning.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/streams/ordered_free.h"

/* Removes the longest unused segment, if there are more bytes than `most` with `bytes` added. What
 * other threads give back is gone already, to who counts. */
static clpi_segment *take_unused(clpi_arena *arena, size_t bytes, size_t most)
{
  clpi_segment *segment = NULL;
  pthread_mutex_lock(&arena->lock);
  size_t taken = arena->segments.reserved_bytes + arena->moves.coming_bytes;
  bool is_above = taken > most || bytes > most - taken;
  if (is_above && !clpi_list_is_empty(&arena->segments.unused)) {
    segment = clpi_list_entry(arena->segments.unused.next, clpi_segment, on_unused);
    clpi_segments_remove(&arena->segments, segment);
    clpi_move_begin_locked(&arena->moves, &arena->moves.leaving_bytes, segment->bytes);
  }
  pthread_mutex_unlock(&arena->lock);
  return segment;
}

/* Ends the move of a removed segment: it is gone, or there again. */
static void end_move(clpi_arena *arena, clpi_segment *segment, bool is_gone)
{
  pthread_mutex_lock(&arena->lock);
  clpi_move_end_locked(&arena->moves, &arena->moves.leaving_bytes, segment->bytes, is_gone);
  clpi_list_remove(&segment->on_all);
  if (is_gone) {
    arena->segments_given_back++;
    clpi_segment_destroy(segment);
  } else {
    clpi_segments_restore(&arena->segments, segment);
  }
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

static clp_status give_back(clpi_arena *arena, clpi_segment *segment)
{
  clpi_use_set *set = segment->first->uses;
  clpi_uses uses = {set ? set->uses : NULL, set ? set->count : 0};
  clp_status status =
      clpi_ordered_free(&arena->streams, arena->upstream, segment->memory, segment->bytes, uses);
  end_move(arena, segment, !status);
  return status;
}

static size_t count_unused(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  size_t count = arena->segments.whole.count;
  pthread_mutex_unlock(&arena->lock);
  return count;
}

/* Tries each segment once. */
clp_status clpi_arena_shrink(clpi_arena *arena, size_t bytes, size_t most, bool may_wait)
{
  clp_status status = CLP_SUCCESS;
  for (size_t left = count_unused(arena); left > 0 && !status; left--) {
    clpi_segment *segment = take_unused(arena, bytes, most);
    if (!segment)
      break;
    if (may_wait || goes_at_once(arena, segment))
      status = give_back(arena, segment);
    else
      end_move(arena, segment, false);
  }
  return status;
}

clp_status clpi_arena_return_unused(clpi_arena *arena)
{
  return clpi_arena_shrink(arena, SIZE_MAX, 0, true);
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
