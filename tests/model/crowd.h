/* SPDX-License-Identifier: MIT */
/* A crowd: threads that use the same pools as a plan says, and know for themselves what they have.
 * Threads cannot use Check's assertions, so whoever finds something wrong notes it; the others then
 * stop. Counts are relaxed: they order no threads, so that a checker sees the library's own order.
 */
#ifndef CLPT_MODEL_CROWD_H
#define CLPT_MODEL_CROWD_H

#include "support/late_device.h"
#include "support/pools.h"

#include <check.h>
#include <clpool/clpool.h>
#include <stdatomic.h>

enum {
  CROWD_THREADS = 8,
  CROWD_POOLS = 3,
  CROWD_KEPT = 120,  /* blocks that one thread keeps */
  CROWD_STREAMS = 3, /* of one thread */
  CROWD_MAILBOX = 16 /* blocks on their way from thread to thread */
};

/* What is under the pools, or under the arena that they stand on: an allocator of the library,
 * counted, or the device whose streams run late. */
enum { CROWD_HOST, CROWD_SIMULATED, CROWD_LATE, CROWD_BACKENDS };

/* CROWD_BIN_EDGES: what the blocks of a bin have, or a byte more or less. */
enum { CROWD_ONE_SIZE, CROWD_FEW_SIZES, CROWD_BIN_EDGES, CROWD_ANY_SIZE, CROWD_SIZES };

/** What threads do besides allocating and releasing; own_pool: make a pool, and end it while its
 * buffers are in use. */
/* clang-format off */
typedef enum crowd_call {
  CROWD_get_stats, CROWD_free_held, CROWD_trim_to, CROWD_set_limit, CROWD_reset_peaks,
  CROWD_stop_holding, CROWD_own_pool, CROWD_fork, CROWD_mark_stream, CROWD_forget_stream,
  CROWD_trim_idle, CROWD_free_all_held, CROWD_CALL_COUNT
} crowd_call;
/* clang-format on */

/** The settings of a program. */
typedef struct crowd_plan {
  unsigned long seed, is_on_arena, threads, pools, leading_bits, reuse_flags;
  unsigned long backend;       /* CROWD_HOST and so on */
  unsigned long phases, steps; /* after each phase, all threads end, and figures must be exact */
  unsigned long kept;          /* blocks that a thread keeps at most */
  unsigned long is_wave;       /* blocks of one size, of which a thread keeps all, or none */
  unsigned long sizes, most_bytes;   /* of blocks: CROWD_ONE_SIZE and so on */
  unsigned long limit, hold;         /* of each pool, to begin with; hold_bytes, and 1 */
  unsigned long capacity;            /* of the device; 0: none */
  unsigned long faults, yields;      /* one in so many of its calls fails; it lets others run */
  unsigned long uses_try, uses_zero; /* the try_ functions first; also blocks of no bytes */
  unsigned long hands_over;          /* blocks go from thread to thread */
  unsigned long relays, cancels;     /* threads end in a phase and others go on; by cancellation */
  unsigned long has_hooks;           /* a hook on each pool */
  unsigned long streams, freeing, has_home; /* of a late device; so many streams of each thread */
  unsigned long calls;                      /* 1u << crowd_call, or-ed */
} crowd_plan;

typedef struct crowd crowd;

/** A block that the test has. */
typedef struct crowd_block {
  clp_buffer *buffer; /* NULL: none */
  int pool;           /* its number; -1: a pool that one thread made and ended */
  size_t bytes;
  unsigned char pattern; /* what it is full of */
  clp_stream stream;     /* that used it last; NULL: none */
} crowd_block;

/** A pool, and what threads and its hook know of it. "Least" is not above the truth. */
typedef struct crowd_pool {
  crowd *all;
  clp_pool *pool;
  atomic_ullong allocations;                            /* that succeeded */
  atomic_size_t least_active, least_capacity;           /* bytes, now */
  atomic_size_t least_peak_active, least_peak_capacity; /* the peaks of those */
  atomic_bool has_stopped_holding;
  clp_hook hook;
  atomic_int open; /* preprocesses without their postprocess */
  atomic_ullong seen_allocations, seen_releases, seen_device_allocations, seen_device_frees;
} crowd_pool;

/** What one thread does and has. Its threads follow one another. */
typedef struct crowd_member {
  crowd *all;
  unsigned number;
  pthread_t thread;
  clpt_chance chance;
  size_t target; /* of blocks: it allocates up to that, or releases down to it */
  size_t count;
  crowd_block kept[CROWD_KEPT];
  clp_stream streams[CROWD_STREAMS];
  unsigned patterns;
  unsigned long steps_left;
  bool is_cancelled; /* the thread that is at work ends by its cancellation */
} crowd_member;

struct crowd {
  crowd_plan plan;
  clp_allocator *allocator; /* what the pools stand on; the program's reference */
  clp_allocator *upstream;  /* of the library; NULL with a late device */
  clpt_late_device late;
  atomic_uint device_calls;
  atomic_size_t live_blocks, live_bytes; /* of the upstream */
  atomic_bool is_sound;                  /* no call of the device fails any more */
  crowd_pool pools[CROWD_POOLS];
  crowd_member members[CROWD_THREADS];
  _Atomic(crowd_block *) mailbox[CROWD_MAILBOX];
  atomic_uint forks;
  atomic_bool is_wrong;
  pthread_mutex_t lock; /* guards `wrong` */
  char wrong[256];
};

/** Runs a program from its beginning to its end. NULL: nothing was wrong; else what was, until the
 * next call. crowd.c. */
const char *crowd_run(const crowd_plan *plan);

/** Notes what is wrong, as printf does. Only the first is kept. */
void crowd_wrong(crowd *all, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Notes a call that failed otherwise than the plan has it. Whether it succeeded. */
#define crowd_note(all, call) crowd_note_call(all, #call, call)
bool crowd_note_call(crowd *all, const char *call, clp_status status);

/** Whether its threads make such calls. */
static inline bool crowd_has(const crowd *all, crowd_call call)
{
  return all->plan.calls >> call & 1;
}

/** crowd_check.c: asks for figures while others are at work; compares all figures with what the
 * members have while none is. */
clp_status crowd_check_at_work(crowd_member *self, crowd_pool *pool);
void crowd_check_at_rest(crowd *all);

#endif
