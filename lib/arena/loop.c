/* SPDX-License-Identifier: MIT */
/* The log, its checkpoints, and following a loop. plan.c places the items of a plan. */
#include "arena/loop.h"

#include "arena/arena.h"

#include <stdlib.h>
#include <string.h>

void clpi_loop_end(clpi_loop *loop)
{
  for (size_t i = 0; i < loop->chunk_count; i++)
    free(loop->chunks[i]);
  clpi_plan_end(&loop->plan);
}

/* --- the log --- */

static clpi_event *event_at(const clpi_loop *loop, size_t number)
{
  return &loop->chunks[number / CLPI_CHUNK_EVENTS][number % CLPI_CHUNK_EVENTS];
}

static void begin_era(clpi_loop *loop, clpi_stream *by)
{
  loop->era++;
  loop->segments = 0;
  loop->count = loop->open = 0;
  loop->idle.is_set = loop->low.is_set = false;
  loop->by = by;
}

/* Whether there is room for the next block's begin, and the ends of all blocks that began. */
#define has_room(loop) ((loop)->count + (loop)->open + 2 <= (loop)->chunk_count * CLPI_CHUNK_EVENTS)

/* Makes room, or begins another era. False: no host memory at all. */
static bool make_room(clpi_loop *loop)
{
  clpi_event *chunk = NULL;
  if (loop->chunk_count < CLPI_LOG_CHUNKS)
    chunk = malloc(CLPI_CHUNK_EVENTS * sizeof(*chunk));
  if (chunk)
    loop->chunks[loop->chunk_count++] = chunk;
  if (!has_room(loop))
    begin_era(loop, loop->by);
  return loop->chunk_count;
}

/* The digest of the blocks in use does not depend on their order. */
static void digest_block(clpi_loop *loop, const clpi_range *block)
{
  uint64_t x = block->memory + block->bytes * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  loop->digest ^= x ^ (x >> 31);
}

/* Since the block was carved, another thread may have begun to follow the loop. */
void clpi_loop_note_begin_locked(clpi_arena *arena, clpi_range *block, clpi_stream *by)
{
  clpi_loop *loop = &arena->loop;
  clpi_segment *segment = block->segment;
  block->era = 0;
  if (!loop->may_be)
    return;
  if (loop->is_followed)
    clpi_loop_leave_locked(arena);
  digest_block(loop, block);
  if (loop->by != by || !loop->era)
    begin_era(loop, by);
  if (!has_room(loop) && !make_room(loop))
    return;
  if (segment->era != loop->era) {
    segment->era = loop->era;
    segment->number = loop->segments++;
  }
  block->era = loop->era;
  block->event = (uint32_t)loop->count;
  *event_at(loop, loop->count++) =
      (clpi_event){CLPI_NO_EVENT, segment->number, block->offset, block->bytes};
  loop->open++;
  loop->logged++;
}

/* A loop has no end of a block that began before it. */
void clpi_loop_note_end_locked(clpi_arena *arena, const clpi_range *block, clpi_stream *by)
{
  clpi_loop *loop = &arena->loop;
  if (!loop->may_be)
    return;
  digest_block(loop, block);
  bool is_known = block->era == loop->era;
  if (loop->by != by) {
    begin_era(loop, by);
  } else if (is_known) {
    *event_at(loop, loop->count++) = (clpi_event){.begin = block->event};
    loop->open--;
    loop->logged++;
  } else {
    loop->idle.is_set = loop->low.is_set = false;
  }
}

/* --- checkpoints --- */

enum { LEAST_EVENTS = 256, FIRST_MOST = 1 << 14 };

/* Whether the later work of a stream comes after all its earlier work. */
#define has_order(by) (!(by)->is_ordered || (by)->is_in_order)

/* Returns the checkpoint to which the program may have come back. NULL: none. */
static clpi_checkpoint *checkpoint_now(clpi_arena *arena, size_t bytes, clpi_stream *by)
{
  static const double little = 0.3;
  clpi_loop *loop = &arena->loop;
  size_t used = arena->segments.used_bytes;
  if (!loop->may_be || !by || !has_order(by) ||
      (double)used >= little * (double)MAX(arena->segments.high_water, 1))
    return NULL;
  if (loop->by != by)
    begin_era(loop, by);
  clpi_checkpoint *point = used ? &loop->low : &loop->idle;
  size_t events = loop->count - point->event;
  bool is_again = point->is_set && point->digest == loop->digest && point->bytes == bytes;
  if (is_again && events >= LEAST_EVENTS && loop->count >= point->least &&
      loop->logged + 2 * loop->served >= loop->next_attempt)
    return point;
  bool is_late = point->is_set && events > point->most;
  if (point->is_set && !is_late && used >= point->used)
    return NULL;
  *point = (clpi_checkpoint){.is_set = true,
                             .event = loop->count,
                             .digest = loop->digest,
                             .used = used,
                             .bytes = bytes,
                             .most = is_late         ? 2 * point->most
                                     : point->is_set ? point->most
                                                     : FIRST_MOST};
  return NULL;
}

/* If the program deviates each time, it has another phase now, which begins in the same way. */
static bool is_at_start(const clpi_loop *loop, size_t bytes)
{
  enum { MOST_STRAYS = 4 };
  return loop->plan.count && loop->strays < MOST_STRAYS && !loop->is_followed &&
         loop->plan.steps[0].bytes == bytes && loop->digest == loop->start_digest;
}

/* Leaving the loop needs a record for each of its blocks in use, and for the ranges between. */
static size_t spares_of(const clpi_loop *loop)
{
  return 2 * loop->plan.most_blocks + 2;
}

static bool lacks_spares(const clpi_arena *arena)
{
  return !clpi_segments_have_spares(&arena->segments, spares_of(&arena->loop));
}

bool clpi_loop_is_due_locked(clpi_arena *arena, size_t bytes, clpi_stream *by)
{
  const clpi_loop *loop = &arena->loop;
  bool is_start = is_at_start(loop, bytes);
  return is_start ? !loop->segment || lacks_spares(arena)
                  : checkpoint_now(arena, bytes, by) != NULL;
}

/* --- planning --- */

/* What is between a checkpoint and now. */
typedef struct draft {
  size_t first;   /* of the events */
  clpi_plan plan; /* its order: for now, the item of each step */
  uint32_t *item_of_segment;
  size_t item_count, segment_count;
  size_t work; /* steps that were taken */
  clpi_item items[CLPI_MOST_ITEMS], *order[CLPI_MOST_ITEMS], *placed[CLPI_MOST_ITEMS];
} draft;

static void end_draft(draft *made)
{
  if (!made)
    return;
  clpi_plan_end(&made->plan);
  free(made->item_of_segment);
  free(made);
}

/* NULL: no host memory. */
static draft *make_draft(size_t first, size_t count, size_t segment_count)
{
  draft *made = calloc(1, sizeof(*made));
  if (!made)
    return NULL;
  made->first = first;
  made->segment_count = segment_count;
  made->item_of_segment = malloc(segment_count * sizeof(uint32_t));
  made->plan = (clpi_plan){.steps = malloc(count * sizeof(clpi_step)),
                           .count = count,
                           .order = malloc(count * sizeof(uint32_t))};
  if (made->item_of_segment && made->plan.steps && made->plan.order)
    return made;
  end_draft(made);
  return NULL;
}

/* Adds a block to its segment's last item, if that still exists, or ended at most `gap` steps
 * before. False: there are too many items. */
static bool add_begin(draft *made, uint32_t step, const clpi_event *event, size_t gap)
{
  uint32_t *item = &made->item_of_segment[event->segment];
  const clpi_item *last = *item == UINT32_MAX ? NULL : &made->items[*item];
  if (!last || (!last->blocks && step - last->end > gap)) {
    if (made->item_count == CLPI_MOST_ITEMS)
      return false;
    *item = (uint32_t)made->item_count++;
    made->items[*item] = (clpi_item){.begin = step, .low = event->offset};
  }
  clpi_item *it = &made->items[*item];
  size_t end = MAX(it->low + it->bytes, event->offset + event->bytes);
  it->low = MIN(it->low, event->offset);
  it->bytes = end - it->low;
  it->blocks++;
  made->plan.order[step] = *item;
  made->plan.steps[step] = (clpi_step){event->bytes, event->offset};
  return true;
}

static void add_end(draft *made, uint32_t step, uint32_t begin)
{
  clpi_item *item = &made->items[made->plan.order[begin]];
  item->blocks--;
  item->end = step;
  made->plan.steps[step] = (clpi_step){0, begin};
}

/* Reads the events into steps and items, with this gap (loop.h). False: there are too many items,
 * or the blocks in use are not the same as before. `*most` is the most bytes in use. */
static bool read_events(draft *made, const clpi_loop *loop, size_t gap, size_t *most)
{
  size_t used = 0, blocks = 0;
  enum { WORK = 3 }; /* of a step, as long as so many of placing */
  *most = made->item_count = made->plan.most_blocks = 0;
  memset(made->item_of_segment, 0xff, made->segment_count * sizeof(uint32_t));
  for (uint32_t step = 0; step < made->plan.count; step++) {
    const clpi_event *event = event_at(loop, made->first + step);
    made->work += WORK;
    if (event->begin == CLPI_NO_EVENT) {
      if (!add_begin(made, step, event, gap))
        return false;
      used += event->bytes;
      blocks++;
    } else if (event->begin < made->first) {
      return false;
    } else {
      add_end(made, step, event->begin - (uint32_t)made->first);
      used -= event_at(loop, event->begin)->bytes;
      blocks--;
    }
    *most = MAX(*most, used);
    made->plan.most_blocks = MAX(made->plan.most_blocks, blocks);
  }
  return !blocks;
}

/* With the least gap that will do. */
static bool read_loop(draft *made, const clpi_loop *loop, size_t *most)
{
  enum { FIRST_GAP = 4, LAST_GAP = 4096, MOST_WORK = 8000000 };
  bool is_read = read_events(made, loop, 0, most);
  for (size_t gap = FIRST_GAP; gap <= LAST_GAP && made->work < MOST_WORK && !is_read; gap *= 2)
    is_read = read_events(made, loop, gap, most);
  return is_read;
}

/* Plans the events. False: it is not worth it, or needs more memory than may be taken. */
static bool plan_locked(clpi_arena *arena, draft *made)
{
  static const double worth = 0.9, most_slacks = 8;
  const clpi_loop *loop = &arena->loop;
  double high_water = (double)arena->segments.high_water;
  size_t most_used;
  if (!read_loop(made, loop, &most_used) ||
      (double)(most_used + arena->segments.used_bytes) < worth * high_water)
    return false;
  double allowed = high_water * (1 + most_slacks * arena->options.slack);
  size_t stays = clpi_arena_staying_bytes_locked(arena);
  size_t most =
      MAX(allowed < (double)SIZE_MAX ? (size_t)allowed : SIZE_MAX, arena->peak_reserved_bytes);
  most = most > stays ? MIN(most - stays, clpi_arena_largest_segment(arena)) : 0;
  made->plan.bytes =
      clpi_plan_place(made->items, made->item_count, most, made->order, made->placed, &made->work);
  if (!made->plan.bytes)
    return false;
  for (size_t i = 0; i < made->plan.count; i++) {
    if (!made->plan.steps[i].bytes)
      continue;
    const clpi_item *item = &made->items[made->plan.order[i]];
    made->plan.steps[i].at += item->offset - item->low;
  }
  for (uint32_t i = 0; i < made->plan.count; i++)
    if (!made->plan.steps[i].bytes)
      made->plan.order[made->plan.steps[i].at] = i;
  made->plan.live = malloc(made->plan.most_blocks * sizeof(uint32_t));
  return made->plan.live;
}

/* Plans the events after the checkpoint. The next attempt comes later, so that the work is spread
 * over the events until then. */
static void attempt_locked(clpi_arena *arena, clpi_checkpoint *point)
{
  enum { WORK_AN_EVENT = 4 };
  clpi_loop *loop = &arena->loop;
  draft *made = make_draft(point->event, loop->count - point->event, loop->segments);
  point->least = loop->count + (loop->count - point->event) / 2;
  if (made && plan_locked(arena, made)) {
    clpi_plan old = loop->plan;
    loop->plan = made->plan;
    made->plan = old;
    loop->segment = NULL;
    loop->start_digest = loop->digest;
    loop->strays = 0;
  }
  loop->next_attempt = loop->logged + 2 * loop->served + (made ? made->work : 0) / WORK_AN_EVENT;
  end_draft(made);
}

size_t clpi_loop_find_locked(clpi_arena *arena, size_t bytes, clpi_stream *by)
{
  clpi_loop *loop = &arena->loop;
  clpi_checkpoint *point = loop->is_followed ? NULL : checkpoint_now(arena, bytes, by);
  if (point && !is_at_start(loop, bytes))
    attempt_locked(arena, point);
  bool is_start = is_at_start(loop, bytes);
  if (!is_start || !clpi_segments_reserve(&arena->segments, spares_of(loop)) || loop->segment)
    return 0;
  return loop->plan.bytes;
}

/* Meanwhile another thread may have made another plan, and taken a segment for it. */
void clpi_loop_set_segment_locked(clpi_loop *loop, clpi_segment *segment)
{
  if (loop->segment)
    return;
  if (!segment)
    loop->plan.count = 0;
  else if (segment->bytes >= loop->plan.bytes)
    loop->segment = segment;
}

/* --- following --- */

/* Begins to follow the loop, if it can be left again: there are records for its blocks in use. */
static bool enter_locked(clpi_arena *arena, size_t bytes, clpi_stream *by)
{
  clpi_loop *loop = &arena->loop;
  clpi_segment *segment = loop->segment;
  if (!is_at_start(loop, bytes) || !segment || !clpi_segment_is_whole(segment) ||
      !clpi_uses_are_own(&segment->first->uses, by) || !has_order(by) || lacks_spares(arena))
    return false;
  loop->is_followed = true;
  arena->segments.kept = spares_of(loop);
  loop->next = 0;
  loop->by = by;
  return true;
}

static void count_locked(clpi_arena *arena, size_t bytes, bool is_used)
{
  clpi_loop *loop = &arena->loop;
  clpi_segments_count(&arena->segments, loop->segment, bytes, is_used);
  if (++loop->next < loop->plan.count)
    return;
  loop->next = 0;
  loop->strays = 0;
}

clp_memory clpi_loop_begin_locked(clpi_arena *arena, size_t bytes, clpi_stream *by)
{
  clpi_loop *loop = &arena->loop;
  if (!loop->is_followed && (!loop->plan.count || !enter_locked(arena, bytes, by)))
    return 0;
  const clpi_step *step = &loop->plan.steps[loop->next];
  if (step->bytes != bytes || loop->by != by) {
    loop->strays++;
    clpi_loop_leave_locked(arena);
    return 0;
  }
  count_locked(arena, bytes, true);
  loop->served++;
  return loop->segment->memory + step->at;
}

bool clpi_loop_end_locked(clpi_arena *arena, clp_memory memory, size_t bytes, const clpi_stream *by)
{
  clpi_loop *loop = &arena->loop;
  if (!loop->is_followed)
    return false;
  const clpi_step *step = &loop->plan.steps[loop->next];
  const clpi_step *begin = &loop->plan.steps[step->bytes ? 0 : step->at];
  if (step->bytes || begin->bytes != bytes || loop->segment->memory + begin->at != memory ||
      loop->by != by) {
    loop->strays++;
    clpi_loop_leave_locked(arena);
    return false;
  }
  count_locked(arena, bytes, false);
  return true;
}

/* --- leaving --- */

static int compare_offsets(const void *a, const void *b, void *steps)
{
  size_t one = ((const clpi_step *)steps)[*(const uint32_t *)a].at;
  size_t other = ((const clpi_step *)steps)[*(const uint32_t *)b].at;
  return one < other ? -1 : one > other;
}

/* Returns the steps that began the blocks in use, by their offsets. */
static size_t list_live(clpi_loop *loop)
{
  const clpi_plan *plan = &loop->plan;
  size_t count = 0;
  for (uint32_t i = 0; i < loop->next; i++)
    if (plan->steps[i].bytes && plan->order[i] >= loop->next)
      plan->live[count++] = i;
  qsort_r(plan->live, count, sizeof(uint32_t), compare_offsets, plan->steps);
  return count;
}

/* All of the segment may have been used by the loop's stream. */
void clpi_loop_leave_locked(clpi_arena *arena)
{
  clpi_loop *loop = &arena->loop;
  clpi_segments *segments = &arena->segments;
  clpi_segment *segment = loop->segment;
  if (!loop->is_followed)
    return;
  size_t count = list_live(loop);
  for (size_t i = 0; i < count; i++)
    clpi_segments_count(segments, segment, loop->plan.steps[loop->plan.live[i]].bytes, false);
  if (loop->by->is_ordered)
    (void)clpi_uses_add(&segment->first->uses, clpi_use_now(loop->by));
  clpi_range *rest = segment->first;
  segments->largest[segment->index] = SIZE_MAX; /* the carves need not look for it */
  for (size_t i = 0; i < count; i++) {
    const clpi_step *step = &loop->plan.steps[loop->plan.live[i]];
    clpi_range *block = clpi_segments_carve(segments, rest, step->at, step->bytes);
    rest = block->after;
    block->uses.count = 0;
    block->memory = segment->memory + step->at;
    clpi_segments_enter(segments, block);
    digest_block(loop, block);
  }
  clpi_segments_note_largest(segments, segment);
  segments->high_water = MAX(segments->high_water, segments->used_bytes);
  loop->is_followed = false;
  segments->kept = 0;
  begin_era(loop, loop->by);
}

void clpi_loop_forget_stream_locked(clpi_arena *arena)
{
  clpi_loop_leave_locked(arena);
  begin_era(&arena->loop, NULL);
}
