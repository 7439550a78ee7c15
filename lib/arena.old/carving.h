/* SPDX-License-Identifier: MIT */
/* The carve of one block: from a range, at a site, which may have to get memory. */
#ifndef CLPOOL_ARENA_CARVING_H
#define CLPOOL_ARENA_CARVING_H

#include "arena/arena.h"

/* A request, and the block that is carved for it. */
typedef struct clpi_carving {
  clpi_arena *arena;
  const clp_memory_request *request;
  size_t room;      /* the request's bytes, rounded up to the arena's alignment */
  clpi_stream *by;  /* the stream that will use the block, pinned; NULL: unknown */
  clpi_site *spare; /* for a new site; NULL: none is reserved */
  clpi_site *site;  /* of the block; NULL: there is none yet */
  bool is_settled;  /* the block is safe for `by`, and was when it was found */
  bool is_done;     /* clpi_carving_succeed_locked was called */
} clpi_carving;

/* Makes sure that the next carve has the records that it needs. False: no host memory. */
bool clpi_carving_reserve_locked(clpi_carving *carving);

/* Carves the carving's block from a range. If memory is no address, the caller has that made, */
void clpi_carving_carve_locked(clpi_carving *carving, clpi_range *range);

/* and enters it. */
void clpi_carving_enter_locked(clpi_carving *carving, clp_memory memory);

/* Undoes the carve of a block that is not safe for the stream, or cannot get memory. Under no lock.
 */
void clpi_carving_put_back(clpi_carving *carving);

/* The block has memory, and is safe for the stream. */
void clpi_carving_succeed_locked(clpi_carving *carving);

#endif
