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
enum {
  CROWD_HOST,      /**< clp_host_allocator_create, counted */
  CROWD_SIMULATED, /**< clp_simulated_allocator_create, counted */
  CROWD_LATE,      /**< the device whose streams run late */
  CROWD_BACKENDS
};

enum {
  CROWD_ONE_SIZE,
  CROWD_FEW_SIZES,
  CROWD_BIN_EDGES, /**< what the blocks of a bin have, or a byte more or less */
  CROWD_ANY_SIZE,
  CROWD_SIZES
};

/** What threads do besides allocating and releasing. */
#define CROWD_CALLS(X)                                                                             \
  X(get_stats)                                                                                     \
  X(free_held)                                                                                     \
  X(trim_to)                                                                                       \
  X(set_limit)                                                                                     \
  X(reset_peaks)                                                                                   \
  X(stop_holding)                                                                                  \
  X(own_pool) /* make a pool, and end it while its buffers are in use */                           \
  X(fork)     /* not under a checker, see crowd_fork.c */                                          \
  X(mark_stream)                                                                                   \
  X(forget_stream)                                                                                 \
  X(trim_idle)                                                                                     \
  X(free_all_held)

typedef enum crowd_call {
#define X(name) CROWD_##name,
  CROWD_CALLS(X)
#undef X
      CROWD_CALL_COUNT
} crowd_call;

#define CROWD_PLAN(X)                                                                              \
  X(seed)                                                                                          \
  X(backend)                                                                                       \
  X(is_on_arena)                                                                                   \
  X(threads)                                                                                       \
  X(pools)                                                                                         \
  X(phases)     /* after each, all threads end, and the figures must be exact */                   \
  X(steps)      /* of each thread in a phase */                                                    \
  X(kept)       /* blocks that a thread keeps at most */                                           \
  X(sizes)      /* CROWD_ONE_SIZE and so on */                                                     \
  X(most_bytes) /* of a block */                                                                   \
  X(leading_bits)                                                                                  \
  X(reuse_flags)                                                                                   \
  X(limit)      /* of each pool, to begin with; 0: none */                                         \
  X(hold)       /* hold_bytes of each pool, and 1; 0: not set */                                   \
  X(capacity)   /* of the device; 0: none */                                                       \
  X(faults)     /* one in so many calls of the device fails; 0: none */                            \
  X(uses_try)   /* the try_ functions first */                                                     \
  X(uses_zero)  /* also blocks of no bytes */                                                      \
  X(hands_over) /* blocks go from thread to thread */                                              \
  X(relays)     /* threads end in the midst of a phase, others go on with their blocks */          \
  X(cancels)    /* and some of them end by being cancelled */                                      \
  X(yields)     /* the device lets other threads run */                                            \
  X(has_hooks)  /* a hook on each pool */                                                          \
  X(streams)    /* of each thread; those of a late device only */                                  \
  X(freeing)    /* a clpt_late_freeing */                                                          \
  X(has_home)   /* unordered use is of a home stream */                                            \
  X(calls)      /* 1u << crowd_call, or-ed */

typedef struct crowd_plan {
#define X(name) unsigned long name;
  CROWD_PLAN(X)
#undef X
} crowd_plan;

/** The program of a seed. The backend is the seed's, in turn. */
crowd_plan crowd_plan_draw(unsigned seed);

/** Whether its threads make such calls. */
bool crowd_plan_has(const crowd_plan *plan, crowd_call call);

/** Writes what is not 0 on one line; `room` of 512 bytes is enough. */
void crowd_plan_print(const crowd_plan *plan, char *text, size_t room);

#endif
