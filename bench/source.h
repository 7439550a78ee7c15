/* SPDX-License-Identifier: MIT */
/* Where blocks come from, and the patterns in which they are allocated and released. */
#ifndef BENCH_SOURCE_H
#define BENCH_SOURCE_H

#include "crew.h"

#include <clpool/clpool.h>

enum { BENCH_LIVE_BLOCKS = 64, BENCH_MAX_THREADS = 1024 };

typedef enum bench_kind {
  BENCH_NOTHING,   /**< no blocks: what the pattern itself costs */
  BENCH_MALLOC,    /**< `malloc` and `free` */
  BENCH_BARE,      /**< `allocator`, without a pool */
  BENCH_CALLS,     /**< `take` and `give` */
  BENCH_POOL,      /**< `pool`, as the kinds below */
  BENCH_STREAM,    /**< each thread on its own one of `streams` */
  BENCH_IN_TURN,   /**< on the first two of `streams` in turn */
  BENCH_FREE_HELD, /**< all held blocks are freed after each release */
  BENCH_KINDS
} bench_kind;

/** Where blocks come from. The functions return false or NULL if they failed, and said why. */
typedef struct bench_source bench_source;
struct bench_source {
  const char *name;
  bench_kind kind;
  bool is_basis; /**< others are compared with it */
  clp_pool *pool;
  const clp_stream *streams;
  void *(*malloc)(size_t bytes);
  void (*free)(void *memory);
  clp_allocator *allocator;
  void *(*take)(const bench_source *from, size_t bytes);
  bool (*give)(const bench_source *to, void *block);
  bool (*begin)(const bench_source *on);  /**< at the start of a thread's turn; or NULL */
  bool (*finish)(const bench_source *on); /**< at its end: waits for what was put off; or NULL */
  bench_run *run; /**< what to do in place of a pattern, with the source as `self`; or NULL */
  void *device;   /**< what these work with */

  /* Set for each contest; the sizes by the source's maker, if the pattern wants that. */
  size_t bytes; /**< of a block, or of the first where each is larger than the one before */
  size_t step;  /**< by so much */

  /* Of each thread's copy. */
  unsigned thread; /**< its number */
  clp_stream stream;
  unsigned taken, given; /**< how many in turn */
};

/** What is done with blocks; a turn's "one time" is a pair, an allocation and its release. */
typedef struct bench_pattern {
  bench_run *run[BENCH_KINDS]; /**< with a bench_source as `self` */
  unsigned threads;            /**< that one of it takes */
  size_t live_blocks;          /**< at once, on one thread, and as many pairs in a batch */
  size_t step;                 /**< not 0: one block each of so many bytes, twice as many, ... */
  bool own_sizes;              /**< each source has sizes of its own */
  bool moves;                  /**< blocks go from one thread or stream to another: the most blocks
                                    that the pool had are reported */
} bench_pattern;

/** One block: allocated, released. */
extern const bench_pattern bench_one;

/** The same; what is done is up to each source, which moves the block between streams. */
extern const bench_pattern bench_across;

/** 64 blocks of 64 sizes: all allocated, then all released. */
extern const bench_pattern bench_sizes;

/** The same with sizes that each source has for itself. */
extern const bench_pattern bench_live;

/** The first of each two threads allocates and puts blocks into a ring, the second takes them out
 * and releases them. */
extern const bench_pattern bench_handover;

/** Two threads take turns. In its turn a thread allocates the block that the other one released
 * before, and releases it. */
extern const bench_pattern bench_by_turns;

/** Live sets of a thread, bytes: the first is compared with. */
enum { BENCH_LIVE_SETS = 3 };
extern const size_t bench_live_sets[BENCH_LIVE_SETS];

/** Sets the sizes of a source for bench_live: 1, 2, ... 64 times something, `bytes` in all. They
 * are not the size classes of bins, as programs do not have them. */
void bench_set_live(bench_source *source, size_t bytes);

/** A pool over the allocator. NULL: failed, and said why. */
clp_pool *bench_make_pool(clp_allocator *allocator, unsigned reuse_flags);

#endif
