/* SPDX-License-Identifier: MIT */
/* A device that has no memory and does no work: what pools cost by themselves. */
#ifndef BENCH_STUB_H
#define BENCH_STUB_H

#include "source.h"

/** The device. Its memory is made-up addresses, which threads make without meeting each other; its
 * streams are no more than addresses, too. */
typedef struct bench_stub {
  bool is_idle;     /**< its streams have done all work; else they are still at it */
  long allocate_ns; /**< how long an allocation keeps its thread busy */
  clp_stream streams[BENCH_MAX_THREADS];
} bench_stub;

/** Sets the streams and makes an allocator of its memory, in their order. NULL: failed, and said
 * why. */
clp_allocator *bench_stub_allocator(bench_stub *stub);

#endif
