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

/* What stands where a recorded block was live. A slot of no memory holds an allocation that failed
 * (or one of zero bytes). */
typedef struct clpi_play_slot {
  clp_buffer *buffer; /* with a pool */
  clp_memory memory;  /* without */
  size_t bytes;
  uint32_t word; /* for its contents */
} clpi_play_slot;

typedef struct clpi_play_tally {
  uint64_t allocations, frees, failures;
  uint64_t first_failure;                 /* its event; 0: none failed */
  size_t active_bytes, peak_active_bytes; /* without a pool, which counts by itself */
} clpi_play_tally;

/* Begins as {0}. One thread's. */
typedef struct clpi_player {
  const char *trace; /* for messages */
  const clpi_replay_options *options;
  clp_allocator *metering;
  clp_allocator *arena;  /* NULL: none */
  clp_allocator *source; /* of blocks: the arena, or the metering allocator */
  clp_pool *pool;        /* NULL: bare */
  clpi_play_slot *slots;
  size_t slot_count;
  clpi_play_tally tally;
} clpi_player;

/* Makes what the options ask for on `allocator`, which stays with the player; of the options, which
 * must last as long, it uses the pool, the arena, the limit and the contents. Statuses as of
 * clpi_replay. In any case the player is for clpi_player_close. */
clp_status clpi_player_open(clpi_player *player, const char *trace, clp_allocator *allocator,
                            const clpi_replay_options *options);

/* Makes room for operations whose slots are below `slots`. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_player_reserve(clpi_player *player, size_t slots);

/* Runs operations in order. What an allocator or pool refuses is counted; another failure ends it,
 * and is said of its place in the trace. */
clp_status clpi_player_run(clpi_player *player, const clpi_operation *operations, size_t count);

/* Gives back what is live. What fails to go back now cannot be told any more. */
void clpi_player_release_live(clpi_player *player);

/* The figures so far; but for the time and the trace's own failures, which are not the player's. */
void clpi_player_read(const clpi_player *player, clpi_replay_result *result);

void clpi_player_close(clpi_player *player);

/* The operations so far. */
static inline uint64_t clpi_play_operations(const clpi_play_tally *tally)
{
  return tally->allocations + tally->failures + tally->frees;
}

#endif
