/* SPDX-License-Identifier: MIT */
/* A crowd: threads that use the same pools as a plan says, and know for themselves what they have.
 * Threads cannot use Check's assertions, so whoever finds something wrong notes it; the others then
 * stop. */
#ifndef CLPT_MODEL_CROWD_H
#define CLPT_MODEL_CROWD_H

#include "crowd_device.h"
#include "crowd_plan.h"
#include "crowd_ranges.h"

#include "support/chance.h"

#include <clpool/buffer.h>
#include <clpool/hook.h>
#include <clpool/pool.h>
#include <stdint.h>

enum {
  CROWD_MAILBOX = 16, /* blocks on their way from thread to thread */
  CROWD_TEXT = 256,
  CROWD_MOST_RELAYS = 8, /* threads that do one member's part in a phase, one after another */
  CROWD_MOST_FORKS = 4   /* in a program */
};

typedef struct crowd crowd;

/** A block that the test has. */
typedef struct crowd_block {
  clp_buffer *buffer; /**< NULL: none */
  int pool;           /**< its number; CROWD_NO_POOL: a pool that one thread made and ended */
  size_t bytes;
  uint64_t pattern;  /**< what was written to it */
  clp_stream stream; /**< that used it last; NULL: none */
} crowd_block;

enum { CROWD_NO_POOL = -1 };

/** What a hook saw. Atomics are relaxed. */
typedef struct crowd_sight {
  clp_hook hook;
  char name[32];
  atomic_int open; /**< preprocesses without their postprocess */
  atomic_ullong allocations, releases, device_allocations, device_frees; /**< that succeeded */
} crowd_sight;

/** A pool, and what the test knows of it. The counts do not go below the truth where they say
 * "least", nor above where they say "most". They are relaxed, so that they order no threads. */
typedef struct crowd_pool {
  clp_pool *pool;  /**< NULL: the program has dropped its reference */
  clp_pool *known; /**< where members that have references of their own find it */
  atomic_size_t least_active, least_capacity;                             /**< bytes, now */
  atomic_size_t most_active;                                              /**< bytes, now */
  atomic_size_t least_peak_active, least_peak_capacity, most_peak_active; /**< the peaks of those */
  atomic_bool has_stopped_holding, had_refusals;
  crowd_sight sight; /**< registered where the plan has pool hooks */
} crowd_pool;

/** One of the threads of a member. It writes its own, before it ends. */
typedef struct crowd_relay {
  pthread_t thread;
  bool is_followed;  /**< the next relay was started */
  bool is_cancelled; /**< it ends by its cancellation */
} crowd_relay;

/** What one thread does and has; its threads follow one another. */
typedef struct crowd_member {
  crowd *crowd;
  unsigned number;
  clpt_chance chance;
  size_t target; /**< of blocks: it allocates up to that, or releases down to it */
  size_t count;
  crowd_block kept[CROWD_MOST_KEPT];
  clp_stream streams[CROWD_MOST_STREAMS];
  bool has_reference[CROWD_MOST_POOLS];
  uint64_t allocations[CROWD_MOST_POOLS], releases[CROWD_MOST_POOLS]; /**< that succeeded */
  uint64_t all_allocations, all_releases;                             /**< also of other pools */
  uint64_t patterns;
  crowd_sight sight; /**< its thread's hook */
  unsigned steps_left;
  crowd_relay relays[CROWD_MOST_RELAYS];
  unsigned relay; /**< the thread that is at work */
} crowd_member;

struct crowd {
  crowd_plan plan;
  crowd_device device;
  crowd_ranges ranges;
  crowd_pool pools[CROWD_MOST_POOLS];
  crowd_member members[CROWD_MOST_THREADS];
  _Atomic(crowd_block *) mailbox[CROWD_MAILBOX];
  atomic_size_t in_use, most_in_use; /**< bytes as allocated, of all pools; at least */
  atomic_uint forks;
  atomic_bool is_wrong;
  pthread_mutex_t lock; /* guards `wrong` */
  char wrong[CROWD_TEXT];
};

/** Runs a program from its beginning to its end. NULL: nothing was wrong; else what was, until the
 * next call. `most_taken` is the memory that was taken from the device, over the most in use; 0
 * where it is not known. */
const char *crowd_run(const crowd_plan *plan, double *most_taken);

/** Notes what is wrong, as printf does. Only the first is kept. */
void crowd_wrong(crowd *all, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Notes a call that failed otherwise than the plan has it. Whether it succeeded. */
bool crowd_note(crowd *all, const char *call, clp_status status);

bool crowd_is_wrong(const crowd *all);

/** @name Blocks (crowd_blocks.c) @{ */

/** Allocates a block from a pool on one of the member's streams, or without one. Whether it did. */
bool crowd_take(crowd_member *self, unsigned pool);

/** The same from a pool that is nobody else's; the block is the member's. */
bool crowd_take_from(crowd_member *self, clp_pool *pool);

/** Looks at what is in a block, and releases it. */
void crowd_give(crowd_member *self, crowd_block *block);

/** Releases one of the member's blocks. Whether it had one. */
bool crowd_give_any(crowd_member *self);

/** Puts one of the member's blocks into the mailbox, and releases the one that was there. */
void crowd_hand_over(crowd_member *self);

/** An on_out_of_memory, which releases a block of the thread's member. */
bool crowd_free_room(clp_pool *pool, size_t bytes, void *unused);

/** Whose blocks the calling thread's on_out_of_memory may release. NULL: nobody's. */
void crowd_act_as(crowd_member *member);

/** @} @name Streams (crowd_streams.c) @{ */

/** The stream for a new block; NULL: none, or the home stream. */
clp_stream crowd_pick_stream(crowd_member *self);
void crowd_write_late(crowd_member *self, const crowd_block *block);

/** Releases the block on a stream, perhaps after another one has used it. */
clp_status crowd_release_late(crowd_member *self, crowd_block *block);

/** Makes a block ready for another thread, or takes over one. */
void crowd_send_late(crowd_member *self, crowd_block *block);
void crowd_receive_late(crowd_member *self, crowd_block *block);
void crowd_mark_stream(crowd_member *self);
void crowd_forget_stream(crowd_member *self);

/** @} @name Other calls (crowd_calls.c) @{ */

/** Makes one call that the plan has, by chance. */
void crowd_call_any(crowd_member *self);

/** @} @name Forks (crowd_fork.c) @{ */
void crowd_fork(crowd_member *self);

/** @} @name Hooks (crowd_hooks.c) @{ */
void crowd_sight_start(crowd_sight *sight, const char *name, unsigned number);

/** @} @name When no thread is at work (crowd_rest.c) @{ */

/** Compares all figures with what the members have. */
void crowd_check_at_rest(crowd *all);

/** Compares what the hooks of threads were shown with what their members did. */
void crowd_check_thread_hooks(crowd *all);

/** Whether the limits have room for exactly what is not in use. */
void crowd_check_limits(crowd *all);

/** @} */

#endif
