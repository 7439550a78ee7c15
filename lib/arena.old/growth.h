/* SPDX-License-Identifier: MIT */
/* How an arena gets larger. doc/arena.md explains the rules. */
#ifndef CLPOOL_ARENA_GROWTH_H
#define CLPOOL_ARENA_GROWTH_H

#include "arena/carving.h"

/* With max_segment_bytes of 0, segments are slack times this large at most, in bytes. */
#define CLPI_MAX_SEGMENT_PER_SLACK 0x1.8p30

/* A segment that is a share of the use is a multiple of this many bytes. */
enum { CLPI_SEGMENT_UNIT = 512 };

/* How the arena is to grow for a request. */
typedef struct clpi_growth {
  size_t high_water;    /* the arena's, with this request */
  size_t segment_bytes; /* of the new segment */
  size_t most_unused;   /* the largest segment without blocks that is carved instead */
  size_t most_bytes;    /* of all segments, above which unused ones are given back first */
  bool is_spent;        /* all calls are made that the arena may make: the unused segments go, and
                           the new one takes their place; */
  bool may_exchange;    /* the reserve may go for it, as there can be room for both or it; */
  bool is_planned;      /* or all that is to come, which has its places in the new one, */
  uint32_t also_planned, first_planned; /* and in so many others, of numbers from that one on, */
  size_t planned_bytes;                 /* in all */
  uint64_t succeeded;                   /* arena->pending.succeeded at this time */
} clpi_growth;

/* Under no lock, as all below. */
clpi_growth clpi_arena_plan_growth(const clpi_carving *carving);

/* Of all segments, with those that are being taken. */
size_t clpi_arena_taken_bytes(clpi_arena *arena);

/* Gives segments without blocks back, so that all of them and the new one are within `most` and
 * what is planned; or all of them, if so planned. The host does not wait. */
void clpi_arena_make_room(clpi_arena *arena, clpi_growth *growth, size_t most);

/* Notes that the arena has grown as planned. */
void clpi_arena_note_growth(clpi_arena *arena, size_t high_water);

/* Takes a segment of `bytes` from upstream, or of what the request's most_bytes leave if that is
 * less, and carves the block from it; where the room is 0, none. CLP_LIMIT_EXCEEDED: they leave too
 * little. CLP_OUT_OF_HOST_MEMORY, or the status of upstream. */
clp_status clpi_arena_add_segment(clpi_carving *carving, size_t bytes);

/* Takes the other segments that are planned; as many as there is memory for. */
void clpi_arena_add_planned(clpi_carving *carving, const clpi_growth *growth);

#endif
