/* SPDX-License-Identifier: MIT */
/* The loop: if a program repeats its requests, the arena places them as before, without a search.
 *
 * The arena logs the begin and end of blocks. The events since a checkpoint are a loop if the
 * blocks in use, and the request, are the same as at the checkpoint. The arena then plans all
 * blocks of the loop at once, in one segment that replaces all unused ones. From then on it only
 * compares each event with the next one of the loop. If an event differs, the arena leaves the
 * loop: the loop's blocks become ranges of its segment, and the next blocks are carved as usual.
 * The arena follows the loop again from its beginning.
 *
 * A loop is for one in-order stream: the earlier use of a place comes before the next one. Only
 * arenas whose memory is an address have a loop. The arena's lock guards all. */
#ifndef CLPOOL_ARENA_LOOP_H
#define CLPOOL_ARENA_LOOP_H

#include "arena/segments.h"

/* --- plan: where the blocks of a loop are placed (plan.c) ---
 *
 * It places items: a segment, from its first block until it has none, with its blocks at their
 * offsets. If there are too many items, one also includes the segment's next such time, if that
 * begins soon. */

/* A block of `bytes` begins at offset `at`; or `bytes` is 0, and the block of step `at` ends. */
typedef struct clpi_step {
  size_t bytes;
  size_t at;
} clpi_step;

typedef struct clpi_plan {
  clpi_step *steps;
  size_t count;
  size_t bytes;       /* of the segment */
  size_t most_blocks; /* at a time */
  uint32_t *order;    /* for a step that begins a block, the step that ends it */
  uint32_t *live;     /* room for the numbers of most_blocks steps */
} clpi_plan;

/* A piece that exists from one step to another. */
enum { CLPI_MOST_ITEMS = 3600 }; /* to place so many takes some 15 ms */

typedef struct clpi_item {
  uint32_t begin, end; /* the steps; at `end` it does not exist any more */
  uint32_t blocks;     /* its blocks at the current step */
  size_t low, bytes;   /* its lowest offset in its segment; and its length from there */
  size_t offset;       /* its place in the plan */
} clpi_item;

/* Places items, the largest first, each at the lowest offset that no other item has meanwhile.
 * `order` and `placed` have room for all. Returns the bytes that all need; 0: more than `most`.
 * Adds the number of steps of this work to `*work`. */
size_t clpi_plan_place(clpi_item *items, size_t count, size_t most, clpi_item **order,
                       clpi_item **placed, size_t *work);

void clpi_plan_end(clpi_plan *plan);

/* --- the log, and the loop --- */

#define CLPI_NO_EVENT UINT32_MAX

/* The begin or end of a block. Events have numbers: the first one of an era is 0. */
typedef struct clpi_event {
  uint32_t begin;       /* for an end: the event that began the block; for a begin: CLPI_NO_EVENT */
  uint32_t segment;     /* for a begin: the number of its segment in this era */
  size_t offset, bytes; /* for a begin: the block's */
} clpi_event;

enum { CLPI_CHUNK_EVENTS = 1 << 12, CLPI_LOG_CHUNKS = 1 << 8 };

/* A place in the log at which a loop may begin. */
typedef struct clpi_checkpoint {
  bool is_set;
  size_t event;    /* the next event at that time */
  uint64_t digest; /* of the blocks in use, */
  size_t used;     /* their bytes, */
  size_t bytes;    /* and the requested bytes */
  size_t most;     /* it moves after so many events, and when less is in use */
  size_t least;    /* the arena makes no plan before the log has so many events */
} clpi_checkpoint;

typedef struct clpi_loop {
  bool may_be; /* the arena may have a loop */
  /* The log. A new era begins with another stream, and when the log is full. */
  clpi_stream *by;        /* of all events in this era; NULL: there are none */
  uint32_t era, segments; /* the era; the number of segments with a number in it */
  size_t count, open;     /* events in this era; blocks that began in it and have not ended */
  size_t chunk_count;
  clpi_event *chunks[CLPI_LOG_CHUNKS];
  uint64_t digest;           /* of all blocks in use */
  clpi_checkpoint idle, low; /* while nothing was in use; and little */
  /* The loop. */
  clpi_plan plan;        /* count 0: there is none */
  clpi_segment *segment; /* of the plan; NULL: it was given back */
  uint64_t start_digest; /* of the blocks in use when the loop begins */
  bool is_followed;
  unsigned strays;       /* how often in a row the program deviated from the plan */
  size_t next;           /* the next step of the plan, while it is followed */
  uint64_t served;       /* blocks placed by a plan so far */
  uint64_t logged;       /* events in all eras */
  uint64_t next_attempt; /* the arena makes no plan before so many events, logged or followed */
} clpi_loop;

struct clpi_arena;

void clpi_loop_end(clpi_loop *loop);

/* Log the begin or end of a block for a stream. */
void clpi_loop_note_begin_locked(struct clpi_arena *arena, clpi_range *block, clpi_stream *by);
void clpi_loop_note_end_locked(struct clpi_arena *arena, const clpi_range *block, clpi_stream *by);

/* Begins the next block of the loop, if the loop is followed or may be from here on, and the block
 * has `bytes`. Returns its memory. 0: the request differs, and the loop is left. */
clp_memory clpi_loop_begin_locked(struct clpi_arena *arena, size_t bytes, clpi_stream *by);

/* Ends a block, if it is the next to end in the loop. False: it is not, and the loop is left. */
bool clpi_loop_end_locked(struct clpi_arena *arena, clp_memory memory, size_t bytes,
                          const clpi_stream *by);

/* Leaves the loop, if it is followed. */
void clpi_loop_leave_locked(struct clpi_arena *arena);

/* Whether a loop may begin here, while none is followed, so that clpi_loop_find_locked is worth a
 * call. */
bool clpi_loop_is_due_locked(struct clpi_arena *arena, size_t bytes, clpi_stream *by);

/* Plans the loop that ends here, if there is one. If it can be followed from here on as soon as it
 * has a segment, returns the segment's bytes; else 0. */
size_t clpi_loop_find_locked(struct clpi_arena *arena, size_t bytes, clpi_stream *by);

/* Gives the plan its segment; NULL: there is none, and the plan is dropped. */
void clpi_loop_set_segment_locked(clpi_loop *loop, clpi_segment *segment);

/* Forgets the stream of the log, because a stream must be forgotten. */
void clpi_loop_forget_stream_locked(struct clpi_arena *arena);

#endif
