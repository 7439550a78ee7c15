/* SPDX-License-Identifier: MIT */
/* Replays a trace on an allocator, with or without a pool, and measures it. */
#ifndef CLPOOL_TRACE_REPLAY_H
#define CLPOOL_TRACE_REPLAY_H

#include "trace/batch.h"
#include "trace/metering_allocator.h"
#include "trace/reader.h"

#include <clpool/allocator.h>
#include <clpool/arena.h>
#include <clpool/pool.h>
#include <stdbool.h>
#include <stdint.h>

/* The result of a row of the trace. */
typedef enum trace_replay_outcome {
  TRACE_REPLAY_HIT,     /* allocated without the device */
  TRACE_REPLAY_MISS,    /* allocated from the device */
  TRACE_REPLAY_REFUSED, /* not allocated */
  TRACE_REPLAY_FREED,
  TRACE_REPLAY_SKIPPED /* a recorded failure, or the free of a refused allocation */
} trace_replay_outcome;

typedef struct trace_replay_step {
  const trace_event *event;
  trace_replay_outcome outcome;
  size_t bytes;        /* scaled; 0 if it was a recorded failure */
  size_t block_bytes;  /* of an allocation: as allocated; else 0 */
  size_t slot;         /* the same for a free and its allocation: see trace_live_blocks_add */
  size_t pool;         /* of an allocation, served or refused: the number of its pool */
  size_t device_bytes; /* taken from the device at this moment */
} trace_replay_step;

typedef struct trace_replay_observer {
  /* Called for each row. A status other than CLP_SUCCESS ends the replay. */
  clp_status (*on_step)(const trace_replay_step *step, void *user_data);
  /* Called for each block or segment that a pool, or its arena, takes from the device or gives
   * back, before the step that caused it. */
  void (*on_block)(size_t pool, size_t bytes, bool is_taken, void *user_data);
  void *user_data;
} trace_replay_observer;

typedef struct trace_replay_options {
  bool pooled; /* false: directly on the allocator, without the pool's options */
  clp_pool_options pool_options;
  bool on_arena; /* an arena stands on the allocator */
  clp_arena_options arena_options;
  bool has_limit;     /* false: the limit is the pool's initial one */
  size_t limit_bytes; /* 0: none */
  double scale;       /* of sizes, finite and above 0 */
  /* Called with the bytes of the file that have been read, the file's bytes as stored (0: unknown)
   * and the number of operations so far. NULL: not called. */
  void (*on_progress)(void *user_data, uint64_t done_bytes, uint64_t total_bytes,
                      uint64_t operations);
  void *user_data;
  uint64_t (*clock)(void);               /* nanoseconds; NULL: the system's monotonic clock */
  const trace_replay_observer *observer; /* NULL: none; with one, times are not valid */
  unsigned passes;                       /* over the trace, with the same pools; 0: one */
} trace_replay_options;

/* Sets every field, so that the environment does not matter. */
#define TRACE_POOL_OPTIONS_INIT                                                                    \
  {                                                                                                \
    .struct_size = sizeof(clp_pool_options), .initialized = 1, .leading_bits_in_bin_id = 4,        \
    .reuse_flags = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES,                      \
    .hold_bytes = SIZE_MAX - 1                                                                     \
  }

#define TRACE_ARENA_OPTIONS_INIT                                                                   \
  {                                                                                                \
    .struct_size = sizeof(clp_arena_options), .initialized = 1, .slack = 0.016,                    \
    .one_thread = true, .min_segment_bytes = (size_t)4 << 10                                       \
  }

#define TRACE_REPLAY_OPTIONS_INIT                                                                  \
  {                                                                                                \
    .pooled = true, .pool_options = TRACE_POOL_OPTIONS_INIT,                                       \
    .arena_options = TRACE_ARENA_OPTIONS_INIT, .scale = 1.0                                        \
  }

/* Figures after the last row, of all passes, except that the time is the last pass's. The release
 * of live blocks at the end of a pass is neither timed nor counted. */
typedef struct trace_replay_result {
  size_t pools;         /* one, or one for each kind of memory in each context of the trace */
  uint64_t allocations; /* that succeeded: hits and misses */
  uint64_t kinds[TRACE_KINDS]; /* likewise, for each kind */
  uint64_t frees;
  uint64_t hits; /* served without the device; 0 without a pool */
  uint64_t misses;
  uint64_t device_allocations; /* the allocator's successful calls, metered beneath the pool */
  uint64_t device_frees;       /* likewise */
  uint64_t failures;           /* allocations that the pool or allocator refused; not freed later */
  uint64_t first_failure;      /* the number of its row, from 1; 0: none failed */
  uint64_t recorded_failures;  /* the trace's own "allocate failure" rows, which are skipped */
  size_t limit_bytes;          /* of each pool; 0: none */
  size_t peak_active_bytes;    /* requested, and not yet freed */
  size_t peak_managed_bytes;   /* active and held, as allocated; if several pools are on arenas,
                                  the sum of their peaks, which may be more */
  size_t peak_device_bytes;    /* taken from the allocator, as metered beneath the pool */
  double footprint;            /* peak device over peak active bytes; 0 when nothing was active */
  double ns_per_operation;     /* of an allocation or a free; 0 without any */
} trace_replay_result;

/* Replays `reader`'s trace from the current row to its end, with a pool for each kind of memory in
 * each of its contexts: a block serves only the pool that released it. The replay reads and checks
 * rows in batches; the clock runs only during a batch's allocations and frees. Host memory grows
 * only with the live blocks. Allocations that fail with CLP_OUT_OF_DEVICE_MEMORY,
 * CLP_LIMIT_EXCEEDED or CLP_INVALID_ARGUMENT (a block too large for the device) count as failures;
 * another status ends the replay. In any case it gives all memory back before it returns.
 *
 * CLP_INVALID_ARGUMENT, with file, line and column: the trace is malformed, frees a pointer that is
 *   not live, allocates one that is, frees with another size, or has a size that cannot be scaled;
 *   or as from clp_pool_create.
 * CLP_IO_ERROR: the trace cannot be read, or kept for several passes. CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR or another status of the allocator, with the line of the trace. */
clp_status trace_replay(trace_reader *reader, clp_allocator *allocator,
                        const trace_replay_options *options, trace_replay_result *result);

/* The same, for a source whose next batch is its first. */
clp_status trace_replay_source(trace_batch_source *source, clp_allocator *allocator,
                               const trace_replay_options *options, trace_replay_result *result);

/* Finds a scale for a trace's sizes: the largest power of two, at most 1, with which a pool with
 * these options manages at most a quarter of the memory of `allocator`'s device. 1 if that memory
 * is unknown. Replays the trace once on a simulated device, and keeps it. Statuses as of
 * trace_replay. */
clp_status trace_replay_fit_scale(trace_batch_source *source, const clp_allocator *allocator,
                                  const trace_replay_options *options, double *scale);

/* Returns the nanoseconds of a clock that never goes back. */
uint64_t trace_now(void);

#endif
