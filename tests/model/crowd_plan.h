/* SPDX-License-Identifier: MIT */
/* What a program of the crowd is made of: drawn from a seed, so that a seed is a program. */
#ifndef CLPT_MODEL_CROWD_PLAN_H
#define CLPT_MODEL_CROWD_PLAN_H

#include <stdbool.h>
#include <stddef.h>

enum {
  CROWD_MOST_THREADS = 8,
  CROWD_MOST_POOLS = 3,
  CROWD_MOST_KEPT = 120, /**< blocks that one thread keeps */
  CROWD_MOST_STREAMS = 3 /**< of one thread */
};

/** What is under the pools, or under the arena that they stand on. */
typedef enum crowd_backend {
  CROWD_HOST,      /**< the library's allocator of host memory, counted */
  CROWD_SIMULATED, /**< its simulated device, counted */
  CROWD_LATE,      /**< the device whose streams run late */
  CROWD_BACKENDS
} crowd_backend;

typedef enum crowd_sizes {
  CROWD_ONE_SIZE,
  CROWD_FEW_SIZES,
  CROWD_BIN_EDGES, /**< a byte more or less than what the blocks of a bin have */
  CROWD_ANY_SIZE,
  CROWD_SIZES
} crowd_sizes;

/** What threads do besides allocating and releasing: bits of crowd_plan.calls. */
typedef enum crowd_call {
  CROWD_READ_STATS,
  CROWD_READ_BINS,
  CROWD_FREE_HELD,
  CROWD_TRIM,
  CROWD_SET_LIMIT,
  CROWD_RESET_PEAKS,
  CROWD_STOP_HOLDING,
  CROWD_OWN_POOL,    /**< make a pool, and end it while its buffers are in use */
  CROWD_GIVE_UP,     /**< drop the reference to a pool of which this thread may have buffers */
  CROWD_ADD_HOOK,    /**< add a hook to a pool, use the pool, remove the hook */
  CROWD_FORK,        /**< not under a checker, see crowd_fork.c */
  CROWD_MARK_STREAM, /**< from here on for streams only */
  CROWD_FORGET_STREAM,
  CROWD_CALLS
} crowd_call;

typedef struct crowd_plan {
  unsigned seed;
  crowd_backend backend;
  bool is_on_arena;
  unsigned threads, pools;
  unsigned phases; /**< after each, all threads end, and the figures must be exact */
  unsigned steps;  /**< of each thread in a phase */
  size_t kept;     /**< blocks that a thread keeps at most */

  crowd_sizes sizes;
  size_t most_bytes; /**< of a block */
  unsigned leading_bits, reuse_flags;
  size_t limit;       /**< of each pool, to begin with; 0: none */
  size_t capacity;    /**< of the device; 0: none */
  unsigned faults;    /**< one in so many calls of the device fails; 0: none */
  unsigned calls;     /**< 1u << crowd_call, or-ed */
  bool uses_try;      /**< the try_ functions first */
  bool uses_zero;     /**< also blocks of no bytes */
  bool hands_over;    /**< blocks go from thread to thread */
  bool relays;        /**< threads end in the midst of a phase, others go on with their blocks */
  bool cancels;       /**< and some of them end by being cancelled */
  bool yields;        /**< the device lets other threads run */
  bool checks_ranges; /**< under a lock, which hides some races from a checker */
  bool frees_room;    /**< on_out_of_memory releases a block of the caller's */
  bool has_pool_hooks, has_thread_hooks;

  unsigned streams; /**< of each thread; those of a late device only */
  unsigned freeing; /**< a clpt_late_freeing */
  bool has_home;    /**< unordered use is of a home stream */
} crowd_plan;

/** The program of a seed. Of these in a row, each has another backend. */
crowd_plan crowd_plan_draw(unsigned seed);

/** Whether its threads make such calls. */
bool crowd_plan_has(const crowd_plan *plan, crowd_call call);

/** Writes the plan on one line; `room` of 512 bytes is enough. */
void crowd_plan_print(const crowd_plan *plan, char *text, size_t room);

#endif
