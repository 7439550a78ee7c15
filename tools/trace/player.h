/* SPDX-License-Identifier: MIT */
/* Plays a trace's operations on an allocator, with or without a pool and an arena. */
#ifndef CLPOOL_TRACE_PLAYER_H
#define CLPOOL_TRACE_PLAYER_H

#include "trace/batch.h"
#include "trace/replay.h"

#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <stddef.h>
#include <stdint.h>

/* The block that is played for a recorded block. */
typedef struct trace_play_slot {
  clp_buffer *buffer; /* with a pool */
  clp_memory memory;  /* without */
  size_t bytes;
  uint32_t pool; /* the number of its pool */
  bool is_live;  /* false: there is none, or its allocation failed */
} trace_play_slot;

/* The counts of operations: a result in which only the counts are used. */
typedef trace_replay_result trace_play_tally;

/* The pool of one context of the trace. */
typedef struct trace_play_pool {
  clp_allocator *source; /* of blocks: an arena, or the metering allocator */
  clp_pool *pool;        /* NULL: without a pool */
} trace_play_pool;

/* Begins as {0}. For one thread. */
typedef struct trace_player {
  const char *trace; /* for messages */
  const trace_replay_options *options;
  clp_allocator *metering;
  trace_play_pool *pools; /* by the contexts' numbers: at least one */
  size_t pool_count, pool_capacity;
  trace_play_slot *slots;
  size_t slot_count;
  trace_play_tally tally;
  size_t active_bytes; /* now */
} trace_player;

/* Makes the player's pools and arena on `allocator`, which it retains. It uses the pool, the arena
 * and the limit of the options, which must live as long as the player. Statuses as of trace_replay.
 * Call trace_player_close in any case. */
clp_status trace_player_open(trace_player *player, const char *trace, clp_allocator *allocator,
                             const trace_replay_options *options);

/* Makes room for operations whose slots are below `slots`, and pools for contexts whose numbers are
 * below `contexts`. Statuses as of trace_replay. */
clp_status trace_player_reserve(trace_player *player, size_t slots, size_t contexts);

/* Runs operations in order. It counts requests that an allocator or pool refuses; another failure
 * ends it, with a message that has its place in the trace. */
clp_status trace_player_run(trace_player *player, const trace_operation *operations, size_t count);

/* Gives back all live blocks. It cannot report failures. */
void trace_player_release_live(trace_player *player);

/* Gives the figures so far, except the time and the trace's own failures. */
void trace_player_read(const trace_player *player, trace_replay_result *result);

void trace_player_close(trace_player *player);

/* Returns the number of operations so far. */
static inline uint64_t trace_play_operations(const trace_play_tally *tally)
{
  return tally->allocations + tally->failures + tally->frees;
}

#endif
