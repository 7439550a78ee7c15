/* SPDX-License-Identifier: MIT */
/* Simulates the pools of `clpool run` for a recorded program: the layer's rules, with a player.
 *
 * Each context has a pool. A held block serves objects of its kind: buffers of the same flags and
 * rounded size, or images of the same flags and size. Buffers of 1 MiB and more have at least 6
 * leading bits. The pool gives blocks back, the first released first, before it passes its limit,
 * or the program's peak use plus a quarter of that and 16 MiB. The device serves shared virtual
 * memory and objects with a host pointer.
 *
 * The player's pools do not know kinds. So their sizes are in units of 1/64 byte, and the blocks of
 * each kind are larger than their rounded size by a different number of units, or bins. */
#ifndef CLPOOL_TRACE_LAYER_POOLS_H
#define CLPOOL_TRACE_LAYER_POOLS_H

#include "trace/player.h"

/* Leading bits of the player's pools, and units in a byte. */
enum { TRACE_LAYER_BITS = 13, TRACE_LAYER_UNITS = 64 };

/* Begins as {0}. */
typedef struct trace_layer_pools {
  trace_player *player;  /* borrowed */
  unsigned leading_bits; /* of buffers below 1 MiB */
  size_t limit_units;    /* of each context; 0: none */
  struct trace_layer_context *contexts;
  size_t context_count;
} trace_layer_pools;

/* Makes pools on a player that was opened with TRACE_LAYER_BITS leading bits and the limit in
 * units, for operations with so many slots and contexts. Call trace_layer_pools_end in any case.
 * Statuses as of trace_player_reserve. */
clp_status trace_layer_pools_begin(trace_layer_pools *pools, trace_player *player,
                                   unsigned leading_bits, size_t slots, size_t contexts);
void trace_layer_pools_end(trace_layer_pools *pools);

/* Runs operations in order, as trace_player_run does. */
clp_status trace_layer_pools_run(trace_layer_pools *pools, const trace_operation *operations,
                                 size_t count);

/* Forgets the live objects, after trace_player_release_live has given them back. */
void trace_layer_pools_forget_live(trace_layer_pools *pools);

#endif
