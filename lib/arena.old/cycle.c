/* SPDX-License-Identifier: MIT */
/* Reading a cycle from the tape, by its runs, and writing it again. */
#include "arena/cycle.h"

#include <stdlib.h>
#include <sys/param.h>

/* --- the steps --- */

/* The runs, and the one that goes on, which is the last. */
static clpi_tape_run run_of(const clpi_tape *tape, size_t number)
{
  bool is_last = number == tape->runs.count;
  return is_last ? (clpi_tape_run){(uint32_t)tape->entered, (uint32_t)tape->next}
                 : tape->runs.runs[number];
}

/* The last run with an event; that of the number behind all: there is none. */
static size_t find_run(const clpi_tape *tape, size_t event)
{
  size_t after = tape->runs.count + 1;
  for (size_t number = after; number-- > 0;) {
    clpi_tape_run run = run_of(tape, number);
    if (event >= run.from && event < run.until)
      return number;
  }
  return after;
}

/* Copies the events of a run. False: less was in use than before the cycle, which so began
 * elsewhere. */
static bool copy_run(clpi_cycle *cycle, const clpi_event *from, const clpi_event *until)
{
  for (const clpi_event *event = from; event < until; event++) {
    if (event->kind < CLPI_BEGIN)
      continue;
    bool begins = event->kind == CLPI_BEGIN;
    size_t room = clpi_rounded(event->bytes, cycle->alignment);
    if (!begins && room > cycle->used_bytes)
      return false;
    cycle->used_bytes += begins ? room : -room;
    cycle->most_used_bytes = MAX(cycle->most_used_bytes, cycle->used_bytes);
    cycle->events[cycle->steps++] = *event;
  }
  return true;
}

bool clpi_cycle_load(clpi_cycle *cycle, const clpi_tape *tape, size_t event, size_t alignment)
{
  enum { LEAST_STEPS = 256 };
  size_t first = find_run(tape, event), last = tape->runs.count, most = 0;
  *cycle = (clpi_cycle){.alignment = alignment};
  for (size_t i = first; i <= last; i++)
    most += run_of(tape, i).until - (i == first ? event : run_of(tape, i).from);
  cycle->events = most >= LEAST_STEPS && clpi_tape_has_room(tape, most)
                      ? malloc(most * sizeof(*cycle->events))
                      : NULL;
  bool is_read = cycle->events;
  for (size_t i = first; is_read && i <= last; i++) {
    clpi_tape_run run = run_of(tape, i);
    size_t from = i == first ? event : run.from;
    is_read = copy_run(cycle, &tape->events[from], &tape->events[run.until]);
  }
  return is_read;
}

/* --- the blocks --- */

/* The last step that began a block at a place, and 1, in a hash table. */
typedef struct begun_steps {
  uint32_t *steps;
  size_t mask;
} begun_steps;

static bool is_same_place(const clpi_event *one, const clpi_event *other)
{
  return one->segment == other->segment && one->offset == other->offset;
}

static uint32_t *begun_at(const begun_steps *begun, const clpi_cycle *cycle,
                          const clpi_event *event)
{
  uint64_t key = (event->offset + ((uint64_t)event->segment << 40)) * 0x9e3779b97f4a7c15u;
  size_t slot = (size_t)(key >> 32) & begun->mask;
  while (begun->steps[slot] && !is_same_place(&cycle->events[begun->steps[slot] - 1], event))
    slot = (slot + 1) & begun->mask;
  return &begun->steps[slot];
}

/* Each step that ends a block finds the one that began it. */
static void pair_steps(clpi_cycle *cycle, const begun_steps *begun)
{
  for (uint32_t step = 0; step < cycle->steps; step++) {
    clpi_event *event = &cycle->events[step];
    uint32_t *at = begun_at(begun, cycle, event);
    clpi_event *begin = *at ? &cycle->events[*at - 1] : NULL;
    event->other = CLPI_NO_EVENT;
    if (event->kind == CLPI_BEGIN) {
      *at = step + 1;
    } else if (begin && begin->other == CLPI_NO_EVENT) {
      event->other = *at - 1;
      begin->other = step;
    }
  }
}

/* Those that begin and end. */
static void list_blocks(clpi_cycle *cycle)
{
  for (uint32_t step = 0; step < cycle->steps; step++) {
    const clpi_event *event = &cycle->events[step];
    if (event->kind == CLPI_END || event->other == CLPI_NO_EVENT)
      continue;
    cycle->blocks[cycle->count++] =
        (clpi_planned){.asked = event->bytes,
                       .bytes = clpi_rounded(event->bytes, cycle->alignment),
                       .begin = step,
                       .end = event->other};
  }
}

static bool read_blocks(clpi_cycle *cycle)
{
  begun_steps begun = {.mask = 1};
  while (begun.mask < 2 * (size_t)cycle->steps)
    begun.mask = 2 * begun.mask + 1;
  begun.steps = calloc(begun.mask + 1, sizeof(*begun.steps));
  cycle->blocks = malloc(cycle->steps * sizeof(*cycle->blocks));
  bool has_memory = begun.steps && cycle->blocks;
  if (has_memory) {
    pair_steps(cycle, &begun);
    list_blocks(cycle);
  }
  free(begun.steps);
  return has_memory && cycle->events[0].other != CLPI_NO_EVENT;
}

/* --- the cycle --- */

/* What comes next, if its segment has gone, or where a jump leads, or where the tape was in the
 * same state before. */
static size_t find_event(const clpi_tape *tape, clpi_digest used, size_t bytes)
{
  const clpi_event *next = tape->next < tape->count ? &tape->events[tape->next] : NULL;
  if (next && next->kind == CLPI_BEGIN && next->bytes == bytes)
    return tape->next;
  if (next && next->kind == CLPI_JUMP && tape->events[next->other].bytes == bytes)
    return next->other;
  return clpi_tape_index_find(&tape->index, used, bytes) - 1;
}

size_t clpi_cycle_find(const clpi_tape *tape, clpi_digest used, size_t bytes)
{
  size_t event = find_event(tape, used, bytes);
  bool has_grown = event != SIZE_MAX && find_run(tape, event) < tape->runs.grown;
  return has_grown ? event : SIZE_MAX;
}

bool clpi_cycle_plan(clpi_cycle *cycle, const clpi_plan_options *options)
{
  return read_blocks(cycle) &&
         clpi_plan_places(cycle->blocks, cycle->count, cycle->steps, options, &cycle->plan);
}

bool clpi_cycle_expect(clpi_cycle *cycle, clpi_tape *tape, uint32_t segment, clpi_digest used)
{
  const size_t *begins = cycle->plan.begins;
  for (uint32_t i = 0; i < cycle->count; i++) {
    const clpi_planned *block = &cycle->blocks[i];
    clpi_event *begin = &cycle->events[block->begin], *end = &cycle->events[block->end];
    uint32_t at = clpi_plan_segment_at(&cycle->plan, block->offset);
    begin->segment = end->segment = segment + at;
    begin->offset = end->offset = block->offset - begins[at];
  }
  return clpi_tape_foresee(tape, cycle->events, cycle->steps, used);
}

void clpi_cycle_end(clpi_cycle *cycle)
{
  free(cycle->events);
  free(cycle->blocks);
  *cycle = (clpi_cycle){0};
}
