/* SPDX-License-Identifier: MIT */
/* The tape grows to a bound, and then begins anew. */
#include "arena/tape.h"

#include <stdlib.h>
#include <sys/param.h>

enum {
  FIRST_EVENTS = 256,
  MOST_EVENTS = 1 << 20,
  FIRST_SEGMENTS = 64,
  LAST_SEGMENTS = 1 << 10,
  MANY_SEGMENTS = 1 << 16
};

/* What happens next is no part of the run. */
static void end_run(clpi_tape *tape)
{
  clpi_tape_runs_add(&tape->runs, tape->entered, tape->next);
  tape->entered = tape->next;
}

static void set_next(clpi_tape *tape, size_t number)
{
  tape->next = tape->told = tape->ready = number;
  tape->is_open = false;
  tape->from = SIZE_MAX;
}

static void go_to(clpi_tape *tape, size_t number)
{
  end_run(tape);
  set_next(tape, number);
  tape->entered = number;
}

static void go_elsewhere(clpi_tape *tape, size_t number, uint32_t jump)
{
  go_to(tape, number);
  tape->from = tape->since = number;
  tape->jump = jump;
}

/* Forgets all events. The sites know of them. */
static void clear(clpi_tape *tape)
{
  clpi_tape_index_clear(&tape->index);
  tape->count = tape->lone = tape->followed = tape->repeated = tape->strays = 0;
  go_to(tape, 0);
  clpi_tape_runs_forget(&tape->runs);
}

/* --- segments --- */

/* Numbers those anew that are still there. */
static void renumber(clpi_tape *tape)
{
  size_t count = 0;
  clear(tape);
  tape->renumbered++;
  for (size_t i = 0; i < tape->segment_count; i++) {
    if (!tape->segments[i].segment)
      continue;
    tape->segments[i].segment->number = (uint32_t)count;
    tape->segments[count++] = tape->segments[i];
  }
  tape->segment_count = count;
}

/* Room for one more. Where very many have come and gone, there is some. False: no host memory. */
static bool reserve_segment(clpi_tape *tape)
{
  bool is_full = tape->segment_count == tape->segment_capacity;
  if (is_full && tape->segment_count >= MANY_SEGMENTS)
    renumber(tape);
  if (!is_full || 2 * tape->segment_count < tape->segment_capacity)
    return true;
  size_t capacity = tape->segment_capacity ? 2 * tape->segment_capacity : FIRST_SEGMENTS;
  clpi_tape_segment *segments = realloc(tape->segments, capacity * sizeof(*segments));
  if (!segments)
    return false;
  tape->segments = segments;
  tape->segment_capacity = capacity;
  return true;
}

/* NULL: no host memory. */
static clpi_tape_segment *make_number(clpi_tape *tape, size_t bytes, uint64_t origin)
{
  if (!reserve_segment(tape))
    return NULL;
  clpi_tape_segment *made = &tape->segments[tape->segment_count++];
  *made = (clpi_tape_segment){.bytes = bytes, .origin = origin};
  return made;
}

/* The latest number that a segment of so many bytes left; a new one, if none of the last did. */
static clpi_tape_segment *find_number(clpi_tape *tape, const clpi_segment *segment)
{
  size_t looked_at = MIN(tape->segment_count, LAST_SEGMENTS);
  for (size_t i = tape->segment_count; looked_at > 0; looked_at--)
    if (!tape->segments[--i].segment && tape->segments[i].bytes == segment->bytes)
      return &tape->segments[i];
  return make_number(tape, segment->bytes, segment->origin);
}

static bool has_number(const clpi_tape *tape, const clpi_segment *segment)
{
  return segment->number < tape->segment_count;
}

/* Without host memory for that, what happens to its blocks is not noted. */
void clpi_tape_add_segment(clpi_tape *tape, clpi_segment *segment)
{
  clpi_tape_segment *found =
      has_number(tape, segment) ? &tape->segments[segment->number] : find_number(tape, segment);
  if (!found)
    return;
  found->segment = segment;
  found->memory = segment->memory;
  found->planned = 0;
  segment->origin = found->origin;
  segment->number = (uint32_t)(found - tape->segments);
}

uint32_t clpi_tape_plan_segment(clpi_tape *tape, size_t bytes, uint64_t origin, uint32_t planned)
{
  clpi_tape_segment *made = make_number(tape, bytes, origin);
  if (!made)
    return UINT32_MAX;
  made->planned = planned;
  return (uint32_t)(made - tape->segments);
}

void clpi_tape_hide_segment(clpi_tape *tape, const clpi_segment *segment)
{
  if (has_number(tape, segment))
    tape->segments[segment->number].memory = 0;
}

void clpi_tape_remove_segment(clpi_tape *tape, const clpi_segment *segment)
{
  if (has_number(tape, segment))
    tape->segments[segment->number].segment = NULL;
}

/* --- events --- */

void clpi_tape_destroy(clpi_tape *tape)
{
  free(tape->events);
  clpi_tape_index_end(&tape->index);
  clpi_tape_runs_end(&tape->runs);
  free(tape->segments);
  *tape = (clpi_tape){0};
}

/* Room for a break and so many events. False: there is none. */
static bool reserve_events(clpi_tape *tape, size_t count)
{
  size_t needed = tape->count + 1 + count, capacity = MAX(tape->capacity, FIRST_EVENTS);
  if (needed <= tape->capacity)
    return true;
  while (capacity < needed)
    capacity *= 2;
  clpi_event *events =
      capacity > MOST_EVENTS ? NULL : realloc(tape->events, capacity * sizeof(*events));
  if (!events)
    return false;
  tape->events = events;
  tape->capacity = capacity;
  return true;
}

static void append(clpi_tape *tape, clpi_event event)
{
  if (tape->next != tape->count)
    go_to(tape, tape->count);
  tape->events[tape->count++] = event;
  tape->lone += event.other == CLPI_NO_EVENT;
  set_next(tape, tape->count);
  tape->is_open = true;
}

/* `from`: where the events are of which those behind it are copies, or none. */
static void append_break(clpi_tape *tape, uint32_t from)
{
  append(tape, (clpi_event){.other = from, .kind = CLPI_BREAK});
  clpi_tape_index_begin_run(&tape->index);
  tape->since = tape->count;
}

static bool is_jump(const clpi_tape *tape, size_t number)
{
  return number < tape->count && tape->events[number].kind == CLPI_JUMP;
}

bool clpi_tape_jump(clpi_tape *tape)
{
  bool jumps = is_jump(tape, tape->next);
  if (jumps)
    go_elsewhere(tape, tape->events[tape->next].other, (uint32_t)tape->next);
  return jumps;
}

void clpi_tape_lose(clpi_tape *tape)
{
  go_to(tape, tape->count + 1);
  clpi_tape_runs_forget(&tape->runs);
}

/* It is no part of what happened. */
static void append_jump(clpi_tape *tape, uint32_t number)
{
  end_run(tape);
  append(tape, (clpi_event){.other = number, .kind = CLPI_JUMP});
  tape->entered = tape->next;
}

/* At the end of the tape, a jump to there makes it known for the next time. */
bool clpi_tape_seek(clpi_tape *tape, clpi_digest used, size_t bytes)
{
  size_t number = clpi_tape_index_find(&tape->index, used, bytes);
  if (!number)
    return false;
  uint32_t jump = CLPI_NO_EVENT;
  if (tape->next == tape->count && reserve_events(tape, 1)) {
    jump = (uint32_t)tape->count;
    append_jump(tape, (uint32_t)number - 1);
  }
  go_elsewhere(tape, number - 1, jump);
  return true;
}

static bool is_same_block(const clpi_event *one, const clpi_event *other)
{
  return one->segment == other->segment && one->offset == other->offset &&
         one->bytes == other->bytes;
}

void clpi_tape_join(clpi_tape *tape, uint32_t begun, size_t end)
{
  bool is_known = begun >= tape->since && begun < end;
  clpi_event *begin = is_known ? &tape->events[begun] : NULL;
  if (!begin || begin->kind != CLPI_BEGIN || begin->other != CLPI_NO_EVENT ||
      !is_same_block(begin, &tape->events[end]))
    return;
  begin->other = (uint32_t)end;
  tape->events[end].other = begun;
  tape->lone -= 2;
}

/* Appends the events from one on until another, and that, too, if it is a jump. The tape goes on
 * behind the copies. */
static void repeat(clpi_tape *tape, size_t from, size_t until, const clpi_event *jump)
{
  size_t made = tape->since = tape->count;
  end_run(tape);
  tape->repeated += until - from;
  for (size_t i = 0; from + i < until; i++) {
    clpi_event event = tape->events[from + i];
    uint32_t begun = event.other - (uint32_t)from;
    event.other = CLPI_NO_EVENT;
    append(tape, event);
    if (event.kind == CLPI_END && begun < i)
      clpi_tape_join(tape, (uint32_t)made + begun, made + i);
  }
  if (jump)
    append(tape, *jump);
  tape->told = made;
  tape->next = tape->entered = made + until - from;
  tape->is_open = !jump;
}

/* Whether the events from there on are copies, behind a break that says so. */
static bool is_repeated(const clpi_tape *tape, size_t from)
{
  const clpi_event *before = from ? &tape->events[from - 1] : NULL;
  return before && before->kind == CLPI_BREAK && before->other != CLPI_NO_EVENT;
}

/* What led there leads to copies at the end of the tape from now on. */
static void redirect(clpi_tape *tape, size_t from, clpi_digest used)
{
  uint32_t jump = tape->jump;
  append_break(tape, (uint32_t)from);
  if (jump == CLPI_NO_EVENT)
    clpi_tape_index_enter(&tape->index, used, tape->events[from].bytes, tape->count);
  else
    tape->events[jump].other = (uint32_t)tape->count;
}

enum { FEW = 128 };

/* Whether few events follow a jump, which begin with a block of `bytes`. */
static bool leads_near(const clpi_tape *tape, const clpi_event *jump, size_t bytes)
{
  const clpi_event *event = &tape->events[jump->other], *end = tape->events + tape->count;
  if (event->bytes != bytes || !tape->segments[event->segment].memory)
    return false;
  for (size_t i = 0; i < FEW && event < end; i++, event++)
    if (event->kind < CLPI_BEGIN)
      return true;
  return event == end;
}

/* A program that goes another way each time has nothing of it: the tape would only grow. */
static bool may_repeat(const clpi_tape *tape)
{
  enum { AT_FIRST = 1 << 17, RARELY = 64 };
  return tape->repeated < AT_FIRST + tape->followed / RARELY;
}

/* A jump at the end of the tape gives way to what it led to. Any other leads to the end, but only
 * once, lest the tape grow for ever where something else follows each time; or if few events lead
 * to a jump, and few follow that. */
void clpi_tape_unroll(clpi_tape *tape, clpi_digest used, size_t bytes)
{
  size_t from = tape->from, next = tape->next;
  if (tape->told != from || next == from || next - from >= FEW || !may_repeat(tape) ||
      !reserve_events(tape, next + 1 - from) || !clpi_tape_index_reserve(&tape->index))
    return;
  bool is_last = tape->jump != CLPI_NO_EVENT && tape->jump + 1 == tape->count;
  bool jumps = bytes && is_jump(tape, next);
  const clpi_event jump = tape->events[jumps ? next : from];
  bool stays = jumps ? !leads_near(tape, &jump, bytes) : is_repeated(tape, from);
  if (is_last)
    tape->count--;
  else if (stays)
    return;
  else
    redirect(tape, from, used);
  repeat(tape, from, next, jumps ? &jump : NULL);
}

bool clpi_tape_has_room(const clpi_tape *tape, size_t count)
{
  return count < MOST_EVENTS - 2 && tape->count <= MOST_EVENTS - 2 - count;
}

bool clpi_tape_foresee(clpi_tape *tape, const clpi_event *events, size_t count, clpi_digest used)
{
  if (!reserve_events(tape, count + 1))
    return false;
  end_run(tape);
  if (!tape->is_open)
    append_break(tape, CLPI_NO_EVENT);
  size_t first = tape->count;
  for (size_t i = 0; i < count; i++) {
    clpi_event event = events[i];
    event.other += event.other == CLPI_NO_EVENT ? 0 : (uint32_t)first;
    uint64_t place = tape->segments[event.segment].origin + event.offset;
    clpi_tape_index_begin_run(&tape->index); /* the way back is known from anywhere */
    if (event.kind == CLPI_BEGIN && clpi_tape_index_reserve(&tape->index))
      clpi_tape_index_enter(&tape->index, used, event.bytes, tape->count);
    used = clpi_digest_xor(used, clpi_digest_of(place, event.bytes));
    append(tape, event);
  }
  tape->entered = tape->next;
  append_jump(tape, (uint32_t)first);
  set_next(tape, first);
  tape->entered = first;
  return true;
}

/* An end that followed nothing leads nowhere, but what happened is then known (tape_runs.h). */
static bool may_stray(clpi_tape *tape)
{
  enum { AT_FIRST = 1 << 12, RARELY = 64 };
  return tape->strays++ < AT_FIRST + tape->followed / RARELY;
}

static bool is_next(const clpi_tape *tape, const clpi_event *event)
{
  const clpi_event *next = tape->next < tape->count ? &tape->events[tape->next] : NULL;
  return next && next->kind == event->kind && is_same_block(next, event);
}

uint32_t clpi_tape_note(clpi_tape *tape, clpi_event event, clpi_digest used)
{
  if (is_next(tape, &event)) {
    set_next(tape, tape->next + 1);
    return (uint32_t)tape->next - 1;
  }
  if (!reserve_events(tape, 1) || !clpi_tape_index_reserve(&tape->index))
    clear(tape);
  bool is_stray = !tape->is_open && event.kind == CLPI_END;
  if (!tape->capacity || !tape->index.bits || event.segment >= tape->segment_count ||
      (is_stray && !may_stray(tape))) {
    clpi_tape_lose(tape);
    return CLPI_NO_EVENT;
  }
  if (!tape->is_open)
    append_break(tape, CLPI_NO_EVENT);
  uint32_t begun = event.other, number = (uint32_t)tape->count;
  if (event.kind == CLPI_BEGIN)
    clpi_tape_index_enter(&tape->index, used, event.bytes, number);
  event.other = CLPI_NO_EVENT;
  append(tape, event);
  if (event.kind == CLPI_END)
    clpi_tape_join(tape, begun, number);
  return number;
}
