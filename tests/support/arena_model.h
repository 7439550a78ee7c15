/* SPDX-License-Identifier: MIT */
/** @file
 * An arena of host memory, two pools on it, and a model of both: a set of intervals, so simple that
 * it is right. Nothing here uses Check or takes host memory by malloc, so that fuzzers and tests of
 * host failures can use it. */
#ifndef CLPT_ARENA_MODEL_H
#define CLPT_ARENA_MODEL_H

#include "support/chance.h"

#include <clpool/arena.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>

enum {
  CLPT_USERS = 3,  /**< two pools, */
  CLPT_DIRECT = 2, /**< and one that calls the arena itself */
  CLPT_SLOTS = 64,
  CLPT_MOST_SEGMENTS = 1024
};

typedef struct clpt_interval {
  clp_memory memory; /**< 0: none */
  size_t bytes;
} clpt_interval;

typedef struct clpt_slot {
  clpt_interval at;
  size_t bytes;       /**< as asked for */
  unsigned user;      /**< who has it */
  clp_buffer *buffer; /**< of a pool */
  uint64_t stamp;     /**< its content */
} clpt_slot;

/** What a user did, and what the device did for it. */
typedef struct clpt_account {
  uint64_t hits, misses, taken, given_back;
  size_t blocks, bytes, room;
} clpt_account;

typedef struct clpt_model {
  size_t capacity;   /**< of the device; 0: no bound. The test may set it at any time. */
  unsigned refusals; /**< so many calls of the device fail */
  /** What another thread does while the device is asked, once. NULL: nothing. */
  void (*meanwhile)(void);
  bool is_nested;   /**< so calls of the device are counted when others have begun */
  bool may_lack;    /**< requests may fail for lack of memory */
  size_t alignment; /**< of the device's blocks */
  clp_allocator *arena;
  clp_pool *pools[CLPT_DIRECT];
  clpt_slot slots[CLPT_SLOTS];
  clpt_account users[CLPT_USERS];
  unsigned user; /**< whose call it is */
  clpt_interval segments[CLPT_MOST_SEGMENTS];
  size_t segment_count, reserved, peak_reserved, peak_used;
  uint64_t stamps, refused;
  size_t reserve; /**< what clp_arena_reserve was last asked for */
  bool had_reserve;
  char wrong[200]; /**< what was wrong first; empty: nothing */
} clpt_model;

/** Starts on a model that is all zeros but for what the test has set. */
void clpt_model_start(clpt_model *model, const clp_arena_options *options);

/** Ends it: all goes back. What is wrong is in `wrong`. */
void clpt_model_end(clpt_model *model);

/** Frees the slot's block, or allocates one of `bytes` for a user, and compares what that changes.
 * What is in the arena's figures is compared by clpt_model_look. */
void clpt_model_toggle(clpt_model *model, unsigned slot, size_t bytes, unsigned user);

/** Frees all blocks, in the order of the slots. */
void clpt_model_free_all(clpt_model *model);

/** Gives back what is unused above `most` bytes, for a user. */
void clpt_model_trim(clpt_model *model, size_t most, unsigned user);

void clpt_model_reserve(clpt_model *model, size_t bytes);

/** Compares all figures. */
void clpt_model_look(clpt_model *model);

clp_arena_stats clpt_model_figures(clpt_model *model);

/** Notes that something is wrong, as printf does. Only the first is kept. */
void clpt_model_wrong(clpt_model *model, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
