/* SPDX-License-Identifier: MIT */
/* The tape: blocks as they began and ended, one event after another. A program that repeats itself
 * runs along it, and so gets the same places again, without a search: what happens need only be
 * what comes next on the tape. One that did something else finds its way back by what is in use.
 * Guarded by the arena's lock or its door (ahead.h), inside which only clpi_tape_begin and
 * clpi_tape_end are called. */
#ifndef CLPOOL_ARENA_TAPE_H
#define CLPOOL_ARENA_TAPE_H

#include "arena/segments.h"
#include "arena/tape_index.h"
#include "arena/tape_runs.h"

typedef enum clpi_event_kind {
  CLPI_BREAK, /* what is before and behind it did not follow one another */
  CLPI_JUMP,  /* what follows is elsewhere */
  CLPI_BEGIN, /* of a block */
  CLPI_END    /* likewise */
} clpi_event_kind;

enum { CLPI_NO_EVENT = INT32_MAX };

typedef struct clpi_event {
  size_t offset, bytes; /* of the block, */
  uint32_t segment;     /* and the number of its segment */
  uint32_t other;       /* the event where its block ends or began, or where a jump goes; or none */
  clpi_event_kind kind;
} clpi_event;

/* Who has a number. A segment that was given back leaves its number to the next one of as many
 * bytes: a program that repeats itself may give back and take the same ones each time. */
typedef struct clpi_tape_segment {
  clp_memory memory;     /* 0: it is being given back, or was */
  clpi_segment *segment; /* NULL: it was */
  size_t bytes;
  uint64_t origin;
  uint32_t planned;      /* so many events were foreseen for it, and it never came; 0: none; */
  uint32_t also_planned; /* also for so many segments of the next numbers */
} clpi_tape_segment;

typedef struct clpi_tape {
  clpi_event *events;
  size_t capacity, count; /* of events */
  size_t lone;            /* so many of them have no other */
  size_t next;            /* the event that follows, if the program repeats itself */
  size_t told;            /* those from here to next have happened, and the sites do not know */
  size_t ready;           /* those before it may follow: there is host memory for what they begin */
  bool is_open;           /* next is behind an event that was just noted, and so may be the next */
  size_t from;            /* where it went when it last did not go on; SIZE_MAX: no more known, */
  uint32_t jump;          /* and the jump that led there, or none */
  size_t since;           /* what is from here to next has happened, one after another */
  size_t entered;         /* likewise, and is not among the runs yet */
  clpi_tape_runs runs;    /* what happened before that */
  size_t followed, repeated; /* events that the sites were told of, and that were unrolled, */
  size_t strays;             /* and ends that followed nothing */
  clpi_tape_index index;
  clpi_tape_segment *segments; /* by their numbers, */
  unsigned renumbered;         /* which they have since so many times */
  size_t segment_capacity, segment_count;
} clpi_tape;

void clpi_tape_destroy(clpi_tape *tape);

/* Gives a segment a number, and the origin that goes with it, if it has none. */
void clpi_tape_add_segment(clpi_tape *tape, clpi_segment *segment);

/* A number for a segment that is yet to come, for so many events that are foreseen. UINT32_MAX: no
 * host memory. */
uint32_t clpi_tape_plan_segment(clpi_tape *tape, size_t bytes, uint64_t origin, uint32_t planned);

/* No block begins in it any more, until it is added again, */
void clpi_tape_hide_segment(clpi_tape *tape, const clpi_segment *segment);

/* or given back, and its number free. */
void clpi_tape_remove_segment(clpi_tape *tape, const clpi_segment *segment);

/* The memory of an event's block. */
static inline clp_memory clpi_tape_memory(const clpi_tape *tape, const clpi_event *event)
{
  return tape->segments[event->segment].memory + event->offset;
}

/* The next event, if it is of that kind and size, and ready; or NULL. */
static inline const clpi_event *clpi_tape_peek(const clpi_tape *tape, clpi_event_kind kind,
                                               size_t bytes)
{
  const clpi_event *event = tape->next < tape->ready ? &tape->events[tape->next] : NULL;
  return event && event->kind == kind && event->bytes == bytes ? event : NULL;
}

/* The memory of a block of so many bytes, if that begins next; 0: it does not. */
static inline clp_memory clpi_tape_next_memory(const clpi_tape *tape, size_t bytes)
{
  const clpi_event *event = clpi_tape_peek(tape, CLPI_BEGIN, bytes);
  bool is_there = event && tape->segments[event->segment].memory;
  return is_there ? clpi_tape_memory(tape, event) : 0;
}

/* Likewise, and goes on. */
static inline clp_memory clpi_tape_begin(clpi_tape *tape, size_t bytes)
{
  clp_memory memory = clpi_tape_next_memory(tape, bytes);
  tape->next += memory != 0;
  return memory;
}

/* Goes on, if this block ends next. */
static inline bool clpi_tape_end(clpi_tape *tape, clp_memory memory, size_t bytes)
{
  const clpi_event *event = clpi_tape_peek(tape, CLPI_END, bytes);
  bool ends = event && clpi_tape_memory(tape, event) == memory;
  tape->next += ends;
  return ends;
}

/* What comes is not what comes next. If that is so soon after the tape went elsewhere, when the
 * blocks of `used` were in use, the few events that did follow are repeated at the end, so that
 * they follow what led there. So a program that repeats itself seldom has to go elsewhere. The
 * sites know of none of these events. */
void clpi_tape_unroll(clpi_tape *tape, clpi_digest used, size_t bytes);

/* For the following, the sites know of all events, and nothing is ready afterwards. */

/* If what follows is elsewhere on the tape, goes there. */
bool clpi_tape_jump(clpi_tape *tape);

/* Joins an end that has just happened to the event where its block began, if from there it went on
 * all the time: so there is nothing of the same block between the two. */
void clpi_tape_join(clpi_tape *tape, uint32_t begun, size_t end);

/* Goes to where a block of `bytes` began while those of `used` were in use. False: it is not known
 * where. */
bool clpi_tape_seek(clpi_tape *tape, clpi_digest used, size_t bytes);

/* Notes at the end what happens while the blocks of `used` are in use, and goes there; if it is
 * what comes next, goes on. When there are very many events, or no host memory for more, all others
 * are forgotten. The other event of an end is where its block began, if that is still on the tape.
 * Returns the number of the event; CLPI_NO_EVENT: it is not noted. */
uint32_t clpi_tape_note(clpi_tape *tape, clpi_event event, clpi_digest used);

/* Whether the block of an event that follows `from` began and ended between there and what comes
 * next. */
static inline bool clpi_tape_is_brief(const clpi_tape *tape, const clpi_event *event, size_t from)
{
  return event->other >= from && event->other < tape->next;
}

/* Whether so many events more may be on it. */
bool clpi_tape_has_room(const clpi_tape *tape, size_t count);

/* Appends events that are to come next, while those of `used` are in use; then they come again. The
 * other of each is counted from the first one. False: there is no room. */
bool clpi_tape_foresee(clpi_tape *tape, const clpi_event *events, size_t count, clpi_digest used);

/* The segment of what comes next, if that is its first block, and it has gone; or NULL. */
static inline const clpi_tape_segment *clpi_tape_gone(const clpi_tape *tape)
{
  const clpi_event *event = tape->next < tape->count ? &tape->events[tape->next] : NULL;
  bool is_first = event && event->kind == CLPI_BEGIN && !event->offset;
  const clpi_tape_segment *gone = is_first ? &tape->segments[event->segment] : NULL;
  return gone && !gone->segment ? gone : NULL;
}

/* Adds a new segment: what comes next has its place there, if one of as many bytes was there. Else
 * the program may be without it the next time, if there is a plan. */
static inline void clpi_tape_grow(clpi_tape *tape, clpi_segment *segment)
{
  const clpi_tape_segment *gone = clpi_tape_gone(tape);
  if (gone && gone->bytes == segment->bytes)
    segment->number = (uint32_t)(gone - tape->segments);
  else
    tape->runs.grown = tape->runs.count + 1;
  clpi_tape_add_segment(tape, segment);
}

/* Something happened that is not noted. */
void clpi_tape_lose(clpi_tape *tape);

#endif
