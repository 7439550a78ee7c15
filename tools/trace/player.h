/* SPDX-License-Identifier: MIT */
/* Plays a trace's operations on an allocator, through a pool or bare, on an arena or not. */
#ifndef CLPOOL_TRACE_PLAYER_H
#define CLPOOL_TRACE_PLAYER_H

#include "trace/batch.h"
#include "trace/replay.h"

#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands where a recorded block was live. */
typedef struct trace_play_slot {
  clp_buffer *buffer; /* with a pool */
  clp_memory memory;  /* without */
  size_t bytes;
  uint32_t pool; /* the number of its pool */
  bool is_live;  /* false: there is nothing, or what failed */
} trace_play_slot;

/* What was counted of operations: those figures of a result that are called so. */
typedef trace_replay_result trace_play_tally;

/* What serves one context of the trace. */
typedef struct trace_play_pool {
  clp_allocator *source; /* of blocks: an arena, or the metering allocator */
  clp_pool *pool;        /* NULL: bare */
} trace_play_pool;

/* Begins as {0}. One thread's. */
typedef struct trace_player {
  const char *trace; /* for messages */
  const trace_replay_options *options;
  clp_allocator *metering;
  trace_play_pool *pools; /* by the contexts' numbers: one at least */
  size_t pool_count, pool_capacity;
  trace_play_slot *slots;
  size_t slot_count;
  trace_play_tally tally;
  size_t active_bytes; /* now */
} trace_player;

/* Makes what the options ask for on `allocator`, which stays with the player; of the options, which
 * must last as long, it uses the pool, the arena and the limit. Statuses as of
 * trace_replay. In any case the player is for trace_player_close. */
clp_status trace_player_open(trace_player *player, const char *trace, clp_allocator *allocator,
                             const trace_replay_options *options);

/* Makes room for operations whose slots are below `slots`, and pools for contexts whose numbers are
 * below `contexts`. Statuses as of trace_replay;
 * CLP_OUT_OF_HOST_MEMORY is said of that line of the trace. */
clp_status trace_player_reserve(trace_player *player, size_t slots, size_t contexts, uint64_t line);

/* Runs operations in order. What an allocator or pool refuses is counted; another failure ends it,
 * and is said of its place in the trace. */
clp_status trace_player_run(trace_player *player, const trace_operation *operations, size_t count);

/* Gives back what is live. What fails to go back now cannot be told any more. */
void trace_player_release_live(trace_player *player);

/* The figures so far; but for the time and the trace's own failures, which are not the player's. */
void trace_player_read(const trace_player *player, trace_replay_result *result);

void trace_player_close(trace_player *player);

/* The operations so far. */
static inline uint64_t trace_play_operations(const trace_play_tally *tally)
{
  return tally->allocations + tally->failures + tally->frees;
}

#endif
