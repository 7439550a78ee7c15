/* SPDX-License-Identifier: MIT */
/* The parts of bench/order: contests over blocks that are used on streams, on the host and on
 * OpenCL devices. */
#ifndef BENCH_ORDER_H
#define BENCH_ORDER_H

#include "compare.h"

/** The contests, by their numbers in bench_options.contest_names. */
typedef enum order_contest {
  ORDER_WARM,
  ORDER_SIZES,
  ORDER_ACROSS,
  ORDER_SVM,
  ORDER_CONTESTS
} order_contest;

/** When pools may hand a block from one stream to another: their reuse_flags. */
enum {
  ORDER_NEVER = 0,
  ORDER_WHEN_DONE = CLP_REUSE_OPPORTUNISTIC,
  ORDER_AFTER_WAITS = CLP_REUSE_INTERNAL_DEPENDENCIES,
  ORDER_EITHER = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES
};

/** Two streams of an allocator. */
typedef struct order_streams {
  clp_allocator *allocator;
  clp_stream streams[2];
} order_streams;

/** Blocks go from one stream to another. What is done with them is up to each source. */
extern const bench_pattern order_across;

/** A source of pairs without a stream, which others are compared with. Like each of these it has a
 * pool of its own; NULL if there is none, which was said. */
bench_source order_unordered(const order_streams *on);

/** One of pairs on the first of the streams. */
bench_source order_on_stream(const order_streams *on);

/** One of pairs on both streams in turn. */
bench_source order_in_turn(const char *name, order_streams *on, unsigned reuse_flags);

/** A pool over the allocator. NULL: failed, and said why. */
clp_pool *order_make_pool(clp_allocator *allocator, unsigned reuse_flags);

/** As bench_compare, and then releases the pools of the sources. False also where one that should
 * have a pool has none. */
bool order_compare(const bench_options *options, const bench_title *title, bench_source *sources,
                   size_t count);

/** Warm pairs on streams against unordered ones, for patterns that pools and streams suit. */
bool order_hold_warm(order_streams *on, const bench_options *options, const bench_title *title);

/** The contests on host memory, in the order of streams that do nothing. False: one failed, and
 * said why. */
bool order_on_host(const bench_options *options);

/** Those on the OpenCL devices that the user wants; `*devices` is how many there were. */
bool order_on_opencl(const bench_options *options, size_t *devices);

#endif
