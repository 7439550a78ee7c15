/* SPDX-License-Identifier: MIT */
/* A crowd: threads that use the same pools as a plan says, and know for themselves what they have.
 * Threads cannot use Check's assertions, so whoever finds something wrong notes it; the others then
 * stop. Counts are relaxed: they order no threads, so that a checker sees the library's own order.
 */
#ifndef CLPT_MODEL_CROWD_H
#define CLPT_MODEL_CROWD_H

#include "crowd_plan.h"

#include "support/late_device.h"

#include <check.h>
#include <clpool/buffer.h>
#include <clpool/hook.h>
#include <clpool/pool.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
  CROWD_NO_POOL = -1,
  CROWD_MAILBOX = 16,   /* blocks on their way from thread to thread */
  CROWD_MOST_RELAYS = 8 /* threads that do one member's part in a phase, one after another */
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

/** What a hook saw. */
typedef struct crowd_sight {
  clp_hook hook;
  atomic_int open; /**< preprocesses without their postprocess */
  atomic_ullong allocations, releases, device_allocations, device_frees; /**< that succeeded */
} crowd_sight;

/** A pool, and what threads know of it. "Least" is not above the truth. */
typedef struct crowd_pool {
  clp_pool *pool;
  atomic_ullong allocations;                            /**< that succeeded */
  atomic_size_t least_active, least_capacity;           /**< bytes, now */
  atomic_size_t least_peak_active, least_peak_capacity; /**< the peaks of those */
  atomic_bool has_stopped_holding;
  crowd_sight sight;
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
  uint64_t patterns;
  unsigned long steps_left;
  crowd_relay relays[CROWD_MOST_RELAYS];
  unsigned relay; /**< the thread that is at work */
} crowd_member;

struct crowd {
  crowd_plan plan;
  clp_allocator *allocator; /**< what the pools stand on; the program's reference */
  clp_allocator *upstream;  /**< of the library; NULL with a late device */
  clpt_late_device late;
  atomic_uint device_calls;
  atomic_size_t live_blocks, live_bytes; /**< of the upstream */
  atomic_bool is_sound;                  /**< no call of the device fails any more */

  crowd_pool pools[CROWD_MOST_POOLS];
  crowd_member members[CROWD_MOST_THREADS];
  _Atomic(crowd_block *) mailbox[CROWD_MAILBOX];
  atomic_uint forks;
  atomic_bool is_wrong;
  pthread_mutex_t lock; /* guards `wrong` */
  char wrong[256];
};

/** Runs a program from its beginning to its end. NULL: nothing was wrong; else what was, until the
 * next call. */
const char *crowd_run(const crowd_plan *plan);

/** Notes what is wrong, as printf does. Only the first is kept. */
void crowd_wrong(crowd *all, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Notes a call that failed otherwise than the plan has it. Whether it succeeded. */
bool crowd_note(crowd *all, const char *call, clp_status status);

bool crowd_is_wrong(const crowd *all);

/** A pool as the plan has it. */
clp_status crowd_create_pool(crowd *all, clp_pool **pool);

/** @name The device (crowd_device.c) @{ */
void crowd_device_start(crowd *all);
void crowd_device_end(crowd *all);

/** @} @name Blocks (crowd_blocks.c) @{ */

/** Allocates a block on one of the member's streams, or without one; which the member then has.
 * `number` is the pool's, or CROWD_NO_POOL. Whether it did. */
bool crowd_take(crowd_member *self, clp_pool *pool, int number);

/** Looks at what is in a block, and releases it. */
void crowd_give(crowd_member *self, crowd_block *block);

/** Releases one of the member's blocks. Whether it had one. */
bool crowd_give_any(crowd_member *self);

/** Puts one of the member's blocks into the mailbox, and releases the one that was there. */
void crowd_hand_over(crowd_member *self);

/** @} @name Streams (crowd_streams.c) @{ */

/** The stream for a new block; NULL: none, or the home stream. */
clp_stream crowd_pick_stream(crowd_member *self);
void crowd_write_late(crowd_member *self, const crowd_block *block);

/** Perhaps uses the block on another stream, before it is released. */
void crowd_share_late(crowd_member *self, crowd_block *block);

/** Makes a block ready for another thread, or takes over one. */
void crowd_send_late(crowd_member *self, crowd_block *block);
void crowd_receive_late(crowd_member *self, crowd_block *block);

/** @} */

/** @name Other calls (crowd_calls.c) @{ */

/** Makes one call that the plan has, by chance. */
void crowd_call_any(crowd_member *self);
clp_status crowd_call_fork(crowd_member *self, crowd_pool *pool);
clp_status crowd_call_mark_stream(crowd_member *self, crowd_pool *pool);
clp_status crowd_call_forget_stream(crowd_member *self, crowd_pool *unused);

/** @} */

void crowd_add_hook(crowd_pool *pool);

/** @name When no thread is at work (crowd_rest.c) @{ */

/** Compares all figures with what the members have. */
void crowd_check_at_rest(crowd *all);

/** Whether the limits have room for exactly what is not in use. */
void crowd_check_limits(crowd *all);

/** @} */

#endif
