/* SPDX-License-Identifier: MIT */
/* What the pools of `clpool run` would take for a recorded program: the layer's rules, in front of
 * a player.
 *
 * Each context has a pool. A held block serves objects of its kind: buffers of the same flags and
 * rounded size, or images of the same flags and size. Buffers of 1 MiB and more have 6 leading bits
 * at least. The pool gives the blocks back that were released first, before it would have more than
 * the most bytes that the program had at once, a quarter of that, and 16 MiB; or more than a limit.
 * Shared virtual memory and objects with a host pointer are the device's own.
 *
 * The player's pools do not know kinds. So their sizes are in units of 1/64 byte, and a block of
 * each kind is another number of units, or bins, larger than its rounded size. */
#ifndef CLPOOL_TRACE_LAYER_POOLS_H
#define CLPOOL_TRACE_LAYER_POOLS_H

#include "trace/player.h"

/* Leading bits of the player's pools, and their units in a byte. */
enum { TRACE_LAYER_BITS = 13, TRACE_LAYER_UNITS = 64 };

/* Begins as {0}. */
typedef struct trace_layer_pools {
  trace_player *player;  /* borrowed */
  unsigned leading_bits; /* of buffers below 1 MiB */
  size_t limit_units;    /* of each context; 0: none */
  struct trace_layer_context *contexts;
  size_t context_count;
} trace_layer_pools;

/* Makes pools of the player, which was opened with TRACE_LAYER_BITS leading bits and the limit in
 * units, for operations with so many slots and contexts. In any case they are for
 * trace_layer_pools_end. Statuses as of trace_player_reserve. */
clp_status trace_layer_pools_begin(trace_layer_pools *pools, trace_player *player,
                                   unsigned leading_bits, size_t slots, size_t contexts);
void trace_layer_pools_end(trace_layer_pools *pools);

/* Runs operations in order, as trace_player_run does. */
clp_status trace_layer_pools_run(trace_layer_pools *pools, const trace_operation *operations,
                                 size_t count);

/* What was live has gone back by trace_player_release_live. */
void trace_layer_pools_forget_live(trace_layer_pools *pools);

#endif
