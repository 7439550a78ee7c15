/* SPDX-License-Identifier: MIT */
/* What the pools of `clpool run` would take for a recorded program: the layer's rules, on a
 * simulated device.
 *
 * Each context has a pool. A held block serves objects of its kind: buffers of the same flags and
 * rounded size, or images of the same flags and size. Buffers of 1 MiB and more have 6 leading bits
 * at least. The pool gives the blocks back that were released first, before it would have more than
 * the most bytes that the program had at once, a quarter of that, and 16 MiB. Shared virtual memory
 * and objects with a host pointer are the device's own. */
#ifndef CLPOOL_TRACE_LAYER_POOLS_H
#define CLPOOL_TRACE_LAYER_POOLS_H

#include "core/base/map.h"
#include "trace/player.h"

/* Begins as {0}. */
typedef struct trace_layer_pools {
  const char *trace;     /* for messages */
  clp_allocator *device; /* borrowed */
  unsigned leading_bits; /* of buffers below 1 MiB */
  struct trace_layer_context *contexts;
  size_t context_count;
  clpi_map kinds_by_size;         /* the newest of that size, by its number */
  struct trace_layer_kind *kinds; /* by number, from 1 */
  size_t kind_count;
  trace_play_slot *slots;
  size_t slot_count;
  trace_play_tally tally; /* all counts, but not the bytes */
} trace_layer_pools;

/* Makes pools on `device` for operations with so many slots and contexts. In any case they are for
 * trace_layer_pools_end. Statuses as of clp_pool_create. */
clp_status trace_layer_pools_begin(trace_layer_pools *pools, const char *trace,
                                   clp_allocator *device, unsigned leading_bits, size_t slots,
                                   size_t contexts);
void trace_layer_pools_end(trace_layer_pools *pools);

/* Runs operations in order, as trace_player_run does. */
clp_status trace_layer_pools_run(trace_layer_pools *pools, const trace_operation *operations,
                                 size_t count);

/* Gives back what is live. */
void trace_layer_pools_release_live(trace_layer_pools *pools);

#endif
