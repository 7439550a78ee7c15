/* SPDX-License-Identifier: MIT */
/* What contests on one OpenCL device work with. */
#ifndef BENCH_PAIR_OPENCL_H
#define BENCH_PAIR_OPENCL_H

#include "pair.h"

#include <clpool/opencl.h>

typedef struct pair_device {
  cl_context context;
  clp_stream queues[2]; /**< in-order ones; the first is the home stream */
  clp_allocator *deferred, *immediate;
  clp_allocator *svm; /**< NULL: it is not here */
} pair_device;

/** False: an OpenCL function that the source called returned an error, which is reported. */
static inline bool pair_done(const bench_source *source, cl_int code)
{
  return code == CL_SUCCESS || bench_failed("%s: OpenCL error %d", source->name, code);
}

/** As bench_source.finish, with a pair_device: waits for both queues. */
bool pair_finish(const bench_source *on);

/** Fills of blocks that go from one queue to the other, ordered by a pool and without. As
 * bench_event.hold, with a pair_device. */
bool pair_hold_fills(void *device, const bench_options *options, const bench_title *title);

#endif
