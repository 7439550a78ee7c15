/* SPDX-License-Identifier: MIT */
/* Following the tape, and telling sites and segments of it. */
#include "arena/ahead.h"

#include "arena/blocks.h"
#include "arena/foresight.h"
#include "core/streams/use.h"

#include <sys/param.h>

/* --- telling the sites --- */

static void tell_of(clpi_arena *arena, clpi_site *site, clpi_event_kind kind)
{
  site->is_used = kind == CLPI_BEGIN;
  arena->used = clpi_digest_xor(arena->used, site->digest);
  if (site->is_ahead)
    return;
  site->is_ahead = true;
  site->next_ahead = arena->ahead;
  arena->ahead = site;
  arena->ahead_count++;
}

/* Where a block began that followed the tape. */
static clpi_site *begin_site(clpi_arena *arena, const clpi_event *event)
{
  clpi_site *site = clpi_sites_take_spare(&arena->sites);
  clpi_segment *segment = arena->tape.segments[event->segment].segment;
  clpi_site_begin(site, segment, event->offset, event->bytes);
  site->memory = clpi_tape_memory(&arena->tape, event);
  site->digest = clpi_site_digest(site);
  clpi_sites_add(&arena->sites, site);
  return site;
}

/* They need not know of blocks that have begun and ended since they were told. */
static void tell_sites(clpi_arena *arena)
{
  clpi_tape *tape = &arena->tape;
  tape->followed += tape->next - tape->told;
  for (size_t from = tape->told; tape->told < tape->next; tape->told++) {
    const clpi_event *event = &tape->events[tape->told];
    if (clpi_tape_is_brief(tape, event, from))
      continue;
    clp_memory memory = clpi_tape_memory(tape, event);
    clpi_site *site = clpi_sites_of(&arena->sites, memory, event->bytes);
    if (!site)
      site = begin_site(arena, event);
    if (event->kind == CLPI_BEGIN)
      site->begun = (uint32_t)tape->told;
    else
      clpi_tape_join(tape, site->begun, tape->told);
    tell_of(arena, site, event->kind);
  }
}

/* --- telling the segments --- */

static void begin_block(clpi_arena *arena, clpi_site *site)
{
  size_t room = clpi_arena_room(arena, site->bytes);
  uint64_t position = site->segment->position + site->offset;
  clpi_range *block = clpi_segments_carve_at(&arena->segments, site->segment, position, room);
  clpi_range_drop_uses(block);
  clpi_block_begin_locked(arena, site, block);
}

/* Blocks end before others begin, which may be where those were. */
void clpi_arena_settle_locked(clpi_arena *arena)
{
  tell_sites(arena);
  clpi_site *begun = NULL, *next;
  for (clpi_site *site = arena->ahead; site; site = next) {
    next = site->next_ahead;
    site->is_ahead = false;
    if (site->is_used && !site->block) {
      site->next_ahead = begun;
      begun = site;
    } else if (!site->is_used) {
      clpi_block_end_locked(arena, site);
    }
  }
  for (; begun; begun = begun->next_ahead)
    begin_block(arena, begun);
  arena->ahead = NULL;
  arena->ahead_count = 0;
  arena->tape.ready = arena->tape.next;
}

/* --- the lock --- */

bool clpi_arena_claim_locked(clpi_arena *arena)
{
  const void *owner = clpi_relaxed(arena->owner);
  bool is_anothers = owner && owner != &clpi_self;
  if (is_anothers && !arena->is_closed)
    clpi_spinlock_lock(&arena->door);
  arena->is_closed |= is_anothers;
  return is_anothers;
}

void clpi_arena_lock(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  (void)clpi_arena_claim_locked(arena);
  if (arena->has_tape)
    clpi_arena_settle_locked(arena);
}

void clpi_arena_lock_to_work(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->lock);
  if (clpi_arena_claim_locked(arena))
    clpi_set_relaxed(arena->is_shared, true);
}

void clpi_arena_unlock(clpi_arena *arena)
{
  if (arena->is_closed && !clpi_relaxed(arena->is_shared)) {
    arena->is_closed = false;
    clpi_spinlock_unlock(&arena->door);
  }
  pthread_mutex_unlock(&arena->lock);
}

/* --- what the home stream may still do --- */

/* As a set for ranges to share. If there is no host memory for a new one, the former tells of more
 * than there was. */
static clpi_use_set *home_uses(clpi_arena *arena)
{
  clpi_use now = clpi_use_now(&arena->streams.home);
  clpi_use_set *set = arena->home_uses;
  clpi_use_set *later = set->uses[0].epoch < now.epoch ? clpi_use_set_create(now) : NULL;
  if (later) {
    clpi_use_set_release(set);
    set = arena->home_uses = later;
  }
  set->uses[0] = now;
  set->references++;
  return set;
}

/* The union needs no host memory: while there is a tape, all uses are of the home stream. */
void clpi_arena_note_home_locked(clpi_arena *arena, clpi_range *range)
{
  if (!arena->has_tape || !arena->is_home_used)
    return;
  clpi_use_set *uses = home_uses(arena);
  clpi_use_note_freed_locked(&uses->uses[0]);
  if (!clpi_use_set_join(&range->uses, uses))
    clpi_use_set_release(uses);
}

/* --- the tape --- */

void clpi_arena_stop_tracking_locked(clpi_arena *arena)
{
  if (arena->has_tape)
    clpi_arena_settle_locked(arena);
  clpi_list_each (clpi_segment, segment, &arena->segments.all, on_all)
    for (clpi_range *range = segment->first; range; range = range->after)
      if (!range->is_used)
        clpi_arena_note_home_locked(arena, range);
  clpi_tape_destroy(&arena->tape);
  arena->may_track = arena->has_tape = false;
}

void clpi_arena_start_tape_locked(clpi_arena *arena)
{
  if (!arena->may_track || arena->has_tape)
    return;
  clpi_list_each (clpi_segment, segment, &arena->segments.all, on_all)
    clpi_tape_add_segment(&arena->tape, segment);
  arena->used = clpi_sites_digest(&arena->sites);
  arena->has_tape = true;
  clpi_set_relaxed(arena->owner, &clpi_self);
}

/* How many events the sites may not know of: so many that most blocks have ended before. */
static size_t most_untold(const clpi_arena *arena)
{
  enum { LEAST = 1 << 10, MOST = 1 << 14, EACH = 64 };
  return MAX(MIN(EACH * arena->used_blocks, MOST), LEAST);
}

/* Has a site for each block that the sites do not know of, and may not be brief, and two ranges for
 * each that the segments may not know of, and those of the next events. Without host memory for
 * that, nothing more follows. */
static void make_ready(clpi_arena *arena)
{
  enum { MOST_AHEAD = 1 << 14, AT_ONCE = 64 };
  clpi_tape *tape = &arena->tape;
  if (tape->next < tape->ready || tape->next >= tape->count)
    return;
  if (tape->next - tape->told >= most_untold(arena))
    tell_sites(arena);
  if (arena->ahead_count >= MOST_AHEAD)
    clpi_arena_settle_locked(arena);
  size_t untold = tape->next - tape->told;
  size_t lasting = MIN(arena->used_blocks + tape->lone, untold) + AT_ONCE;
  size_t begun = MIN(arena->used_blocks, arena->ahead_count + untold) + AT_ONCE;
  if (clpi_sites_reserve(&arena->sites, lasting) &&
      clpi_segments_reserve(&arena->segments, 2 * begun))
    tape->ready = MIN(tape->next + AT_ONCE, tape->count);
}

/* A block of `bytes` begins, or is expected to. */
static bool foresees(clpi_arena *arena, size_t bytes)
{
  if (!clpi_arena_may_plan_locked(arena, bytes))
    return false;
  clpi_arena_settle_locked(arena);
  return clpi_arena_foresees_locked(arena, bytes);
}

static clp_memory begin_here(clpi_arena *arena, size_t bytes)
{
  make_ready(arena);
  return clpi_ahead_begin_next(arena, bytes);
}

/* What comes next, or follows a jump, or where it began before. */
clp_memory clpi_ahead_begin_locked(clpi_arena *arena, size_t bytes)
{
  clp_memory memory = begin_here(arena, bytes);
  if (memory)
    return memory;
  clpi_tape_unroll(&arena->tape, arena->used, bytes);
  tell_sites(arena);
  if (clpi_arena_awaits_growth_locked(arena, bytes) || foresees(arena, bytes))
    return 0;
  if (clpi_tape_jump(&arena->tape))
    memory = begin_here(arena, bytes);
  if (!memory && clpi_tape_seek(&arena->tape, arena->used, bytes))
    memory = begin_here(arena, bytes);
  return memory;
}

/* Where it is not what comes next, the sites know of the block. */
bool clpi_ahead_end_locked(clpi_arena *arena, clp_memory memory, size_t bytes, bool may_use)
{
  make_ready(arena);
  if (clpi_ahead_end_next(arena, memory, bytes, may_use))
    return true;
  clpi_tape_unroll(&arena->tape, arena->used, 0);
  tell_sites(arena);
  clpi_site *site = clpi_sites_of(&arena->sites, memory, bytes);
  if (!site || !site->is_used)
    return false;
  clpi_tape_note(&arena->tape, clpi_event_of(site, CLPI_END), arena->used);
  tell_of(arena, site, CLPI_END);
  clpi_arena_count_ended(arena, bytes, may_use);
  size_t first = arena->used_blocks ? 0 : arena->foresight.first_bytes;
  arena->foresight.expects_first |= first && foresees(arena, first);
  return true;
}
