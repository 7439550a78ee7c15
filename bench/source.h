/* SPDX-License-Identifier: MIT */
/* Where blocks come from, and the patterns in which they are taken and given back. */
#ifndef BENCH_SOURCE_H
#define BENCH_SOURCE_H

#include "crew.h"
#include "ring.h"
#include "rivals.h"

#include <clpool/clpool.h>

enum { BENCH_LIVE_BLOCKS = 64 };

typedef enum bench_kind {
  BENCH_MALLOC,    /**< `rival` */
  BENCH_POOL,      /**< `pool` */
  BENCH_STREAM,    /**< `pool`, each pair on the thread's stream: its number behind `stream` */
  BENCH_FREE_HELD, /**< `pool`, which must give everything to the device after each release */
  BENCH_ALLOCATOR, /**< `allocator`, with no pool between */
  BENCH_NOTHING,   /**< no blocks at all: what the pattern itself costs */
  BENCH_KINDS
} bench_kind;

/** Where blocks come from. */
typedef struct bench_source {
  const char *name;
  bench_kind kind;
  bool is_basis; /**< others are compared with it */
  bench_rival rival;
  clp_pool *pool;
  clp_stream stream;
  clp_allocator *allocator;
  bench_run *run; /**< what to do in place of a pattern, with the source as `self`; NULL: nothing */
  bool (*finish)(void *device); /**< waits at the end of a turn for what was put off; or NULL */
  void *device;                 /**< what `run` and `finish` work with */

  /* Set for each contest; the sizes by the source's maker, if the pattern wants that. */
  size_t bytes;     /**< of a block, or of the first where each is larger than the one before */
  size_t step;      /**< by so much */
  bench_ring *ring; /**< one for each pair of threads */
} bench_source;

/** What is done with blocks; a turn's "one time" is a pair, an allocation and its release. */
typedef struct bench_pattern {
  bench_run *run[BENCH_KINDS]; /**< with a bench_source as `self`; NULL: not for these */
  unsigned threads;            /**< that one of it takes */
  size_t live_blocks;          /**< at once, on one thread, and as many pairs in a batch */
  size_t step;      /**< not 0: one block each of so many bytes, of twice as many, and so on */
  bool own_sizes;   /**< each source has sizes of its own */
  size_t in_flight; /**< not 0: blocks go from one thread or stream to another, at most so many
                       at a time of `threads` threads, and it counts how many there are */
} bench_pattern;

/** One block: allocated, released. */
extern const bench_pattern bench_one;

/** 64 blocks of 64 sizes: all allocated, then all released. */
extern const bench_pattern bench_sizes;

/** 64 blocks of 64 sizes that each source has for itself: all allocated, then all released. */
extern const bench_pattern bench_live;

/** Live sets of a thread, bytes: the first is compared with. */
enum { BENCH_LIVE_SETS = 3 };
extern const size_t bench_live_sets[BENCH_LIVE_SETS];

/** Sets the sizes of a source for bench_live: 1, 2, ... 64 times something, so many bytes in all.
 * They are not the size classes of bins, as programs do not have them. */
void bench_set_live(bench_source *source, size_t bytes);

/** The first of each two threads allocates and puts blocks into their ring, the second takes them
 * out and releases them. */
extern const bench_pattern bench_handover;

/** Two threads take turns. In its turn a thread allocates a block, which the other one released
 * before, and releases it. */
extern const bench_pattern bench_by_turns;

/** Waits for what the source put off. */
bool bench_finish(const bench_source *source);

#endif
