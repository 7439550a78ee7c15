/* SPDX-License-Identifier: MIT */
/* A pool on a device whose streams run late, and buffers that are used as they should be. */
#ifndef CLPT_LATE_RIG_H
#define CLPT_LATE_RIG_H

#include "late_device.h"
#include "pools.h"

/** The sizes of the buffers that clpt_late_take takes: as asked for, and of their bin's blocks. */
enum { CLPT_LATE_BYTES = 1000, CLPT_LATE_BLOCK_BYTES = 1023 };

/** Every choice of reuse flags, which are the numbers from 0 on. */
enum {
  CLPT_REUSE_NEVER = 0,
  CLPT_REUSE_EITHER = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES,
  CLPT_REUSE_CHOICES = CLPT_REUSE_EITHER + 1
};

typedef struct clpt_late_rig {
  clpt_late_device device;
  clp_allocator *allocator;
  clp_pool *pool;
  clp_stream s, t, u; /**< the test's; `home` too where there is one */
  clp_stream home;
} clpt_late_rig;

void clpt_late_rig_start(clpt_late_rig *rig, unsigned reuse_flags);

/** As above, where unordered use is of the home stream. */
void clpt_late_rig_start_with_home(clpt_late_rig *rig, unsigned reuse_flags);

/** As above, without a home stream, where memory goes back in one of several ways. */
void clpt_late_rig_start_freeing(clpt_late_rig *rig, unsigned reuse_flags,
                                 clpt_late_freeing freeing);

/** As above, on `rig->device` as the test has set it up, with `rig->home` or without. */
void clpt_late_rig_start_on(clpt_late_rig *rig, const clp_pool_options *options);

/** Releases pool, allocator and streams, does all work that is left, and asserts that nothing was
 * ever used wrongly and that nothing is left. */
void clpt_late_rig_end(clpt_late_rig *rig);

/** Another pool on the same allocator. */
clp_pool *clpt_late_pool(clpt_late_rig *rig, unsigned reuse_flags);

/** A buffer on a stream, which then writes to it and finds it as written. */
clp_buffer *clpt_late_take_from(clpt_late_rig *rig, clp_pool *pool, size_t bytes,
                                clp_stream stream);
clp_buffer *clpt_late_take(clpt_late_rig *rig, clp_stream stream);

/** Releases what one of these took. */
void clpt_late_release_on(clpt_late_rig *rig, clp_buffer *buffer, clp_stream stream);

/** The same, but that it is allocated without a stream. */
clp_buffer *clpt_late_take_unordered(clpt_late_rig *rig, clp_stream stream);

/** Gives a stream work that uses the buffer: a write, and a look at it. */
void clpt_late_use(clpt_late_rig *rig, clp_buffer *buffer, clp_stream stream);

/** Gives the stream `with` a look at what `from` has written, after that. */
void clpt_late_share(clpt_late_rig *rig, clp_buffer *buffer, clp_stream from, clp_stream with);

/** Takes a buffer on a stream and releases it there. */
void clpt_late_hold(clpt_late_rig *rig, clp_stream stream);

/** Takes a buffer on a stream and asserts that it is a held block or that it is not, then that the
 * host did not wait for that. */
clp_buffer *clpt_late_take_held(clpt_late_rig *rig, clp_stream stream);
clp_buffer *clpt_late_take_new(clpt_late_rig *rig, clp_stream stream);

/** Has the pool forget s and ends it: its handle is dead. */
void clpt_late_end_stream(clpt_late_rig *rig);

/** Then that handle is another stream's, where addresses come back. */
void clpt_late_come_back(clpt_late_rig *rig);

#endif
