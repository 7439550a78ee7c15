/* SPDX-License-Identifier: MIT */
/* A program that repeats itself gets the same places again, without a search.
 *
 * Blocks that begin and end are logged. If what is in use, and what is asked for, are again as they
 * were at a checkpoint, then what lies between is a loop. All of it is planned at once, in
 * one segment that takes the place of all unused ones. From then on each event need only be the
 * next one of the loop. If it is another, the arena leaves the loop: the blocks of the loop become
 * ranges of its segment, and the next ones are carved as always. The loop is followed again from
 * its beginning.
 *
 * A loop is of one stream that runs in order: what was done with a place comes before what is next.
 * Only arenas whose memory is an address have one. All is guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_LOOP_H
#define CLPOOL_ARENA_LOOP_H

#include "arena/segments.h"

/* --- plan: where the blocks of a loop are placed (plan.c) ---
 *
 * By the lives of their segments: from a segment's first block until it has none, it is one item
 * with its blocks as they were. Where there are too many, a segment's next life is part of the
 * item, if it begins soon. */

/* A block of `bytes` begins at an offset, or if that is 0, the one ends that began in step `at`. */
typedef struct clpi_step {
  size_t bytes;
  size_t at;
} clpi_step;

typedef struct clpi_plan {
  clpi_step *steps;
  size_t count;
  size_t bytes;       /* of the segment */
  size_t most_blocks; /* at a time */
  uint32_t *order;    /* of a step that begins a block, the one that ends it */
  uint32_t *live;     /* room for the numbers of most_blocks steps */
} clpi_plan;

/* What lives from one step to another, in one piece. */
enum { CLPI_MOST_ITEMS = 3600 }; /* to place so many takes some 15 ms */

typedef struct clpi_item {
  uint32_t begin, end; /* the steps; it has ended in the second */
  uint32_t blocks;     /* that live at the step which is looked at */
  size_t low, bytes;   /* its lowest offset in its segment; and its length from there */
  size_t offset;       /* where it is placed */
} clpi_item;

/* Places items, those of most bytes first, each at the lowest offset where nothing else is
 * meanwhile. `order` and `placed` have room for all. Returns the bytes that all need; 0: more than
 * `most`. Adds the steps that it took to `*work`. */
size_t clpi_plan_place(clpi_item *items, size_t count, size_t most, clpi_item **order,
                       clpi_item **placed, size_t *work);

void clpi_plan_end(clpi_plan *plan);

/* --- the log, and the loop --- */

#define CLPI_NO_EVENT UINT32_MAX

/* A block begins, or ends. Events have numbers: the first one of an era is 0. */
typedef struct clpi_event {
  uint32_t begin;       /* of an end: the event that began the block; of a begin: CLPI_NO_EVENT */
  uint32_t segment;     /* of a begin: the number of its segment in this era */
  size_t offset, bytes; /* of a begin: the block's */
} clpi_event;

enum { CLPI_CHUNK_EVENTS = 1 << 12, CLPI_LOG_CHUNKS = 1 << 8 };

/* A place in the log that a loop may begin at. */
typedef struct clpi_checkpoint {
  bool is_set;
  size_t event;    /* the next one then */
  uint64_t digest; /* of what was in use, */
  size_t used;     /* its bytes, */
  size_t bytes;    /* and what was asked for */
  size_t most;     /* it moves after so many events, and where less is in use */
  size_t least;    /* no plan is made before the log has so many */
} clpi_checkpoint;

typedef struct clpi_loop {
  bool may_be; /* the arena may have a loop */
  /* The log. A new era begins with another stream, and when the log is full. */
  clpi_stream *by;        /* of all events in this era; NULL: there are none */
  uint32_t era, segments; /* and how many segments have a number in it */
  size_t count, open;     /* events in this era; blocks that began in it and have not ended */
  size_t chunk_count;
  clpi_event *chunks[CLPI_LOG_CHUNKS];
  uint64_t digest;           /* of all blocks in use */
  clpi_checkpoint idle, low; /* while nothing was in use; and little */
  /* The loop. */
  clpi_plan plan;        /* count 0: there is none */
  clpi_segment *segment; /* of the plan; NULL: it was given back */
  uint64_t start_digest; /* of what was in use when the loop began */
  bool is_followed;
  unsigned strays;       /* how often in a row the program went another way than the plan */
  size_t next;           /* step of the plan, while it is followed */
  uint64_t served;       /* blocks that began so */
  uint64_t logged;       /* events in all eras */
  uint64_t next_attempt; /* no plan is made before so many events, logged or followed */
} clpi_loop;

struct clpi_arena;

void clpi_loop_end(clpi_loop *loop);

/* Log that a block begins, or ends, for a stream. */
void clpi_loop_note_begin_locked(struct clpi_arena *arena, clpi_range *block, clpi_stream *by);
void clpi_loop_note_end_locked(struct clpi_arena *arena, const clpi_range *block, clpi_stream *by);

/* The memory of the next block of the loop, if that is followed, or may be from here on, and the
 * block is so large. 0: there is none, and the loop is left. */
clp_memory clpi_loop_begin_locked(struct clpi_arena *arena, size_t bytes, clpi_stream *by);

/* Ends a block that is the next to end in the loop. False: it is not, and the loop is left. */
bool clpi_loop_end_locked(struct clpi_arena *arena, clp_memory memory, size_t bytes,
                          const clpi_stream *by);

/* Leaves the loop, if it is followed. */
void clpi_loop_leave_locked(struct clpi_arena *arena);

/* Whether a loop, of which none is followed, may have come to its beginning, so that
 * clpi_loop_find_locked is worth a call. */
bool clpi_loop_is_due_locked(struct clpi_arena *arena, size_t bytes, clpi_stream *by);

/* Plans the loop that ends here, if there is one. If it may be followed from here on, but for its
 * segment: the bytes of that; else 0. */
size_t clpi_loop_find_locked(struct clpi_arena *arena, size_t bytes, clpi_stream *by);

/* The plan has a segment, or there is none for it: then the plan is dropped. */
void clpi_loop_set_segment_locked(clpi_loop *loop, clpi_segment *segment);

/* A stream must be forgotten. */
void clpi_loop_forget_stream_locked(struct clpi_arena *arena);

#endif
