/* SPDX-License-Identifier: MIT */
/* A pool on a device whose streams run late, and buffers that are used as they should be. */
#ifndef CLPT_LATE_RIG_H
#define CLPT_LATE_RIG_H

#include "late_device.h"
#include "pools.h"

#include <clpool/arena.h>

/** The sizes of the buffers that clpt_late_take takes: as asked for, and of their bin's blocks; and
 * of the segments of an arena, the least. */
enum { CLPT_LATE_BYTES = 1000, CLPT_LATE_BLOCK_BYTES = 1023, CLPT_LATE_SEGMENT = 4096 };

/** Every choice of reuse flags, which are the numbers from 0 on. */
enum {
  CLPT_REUSE_NEVER = 0,
  CLPT_REUSE_EITHER = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES,
  CLPT_REUSE_CHOICES = CLPT_REUSE_EITHER + 1
};

/** Each way to free memory (clpt_late_freeing), where parts are told to the device; then each where
 * they are addresses. A further one: parts that must not overlap what streams still use. */
enum {
  CLPT_LATE_WAYS = 2 * CLPT_LATE_FREEINGS,
  CLPT_LATE_EXCLUSIVE = CLPT_LATE_WAYS + CLPT_LATE_FREES_IN_ORDER
};

typedef struct clpt_late_rig {
  clpt_late_device device;
  clp_allocator *allocator;
  clp_pool *pool;
  clp_stream s, t, u; /**< the test's; `home` too where there is one */
  clp_stream home;
} clpt_late_rig;

/** A pool without a home stream, on a device that frees at once; with one, on such a device; on one
 * that frees in another way; on an arena of small segments, in one of CLPT_LATE_WAYS. */
void clpt_late_start(clpt_late_rig *rig, unsigned reuse_flags, bool home,
                     clpt_late_freeing freeing);
#define clpt_late_rig_start(rig, flags) clpt_late_start(rig, flags, false, CLPT_LATE_FREES_AT_ONCE)
void clpt_late_arena_start(clpt_late_rig *rig, unsigned reuse_flags, unsigned way);
#define clpt_late_rig_start_freeing(rig, flags, freeing) clpt_late_start(rig, flags, false, freeing)

/** As above, on `rig->device` as the test has set it up, with `rig->home` or without. */
void clpt_late_rig_start_on(clpt_late_rig *rig, const clp_pool_options *options);
void clpt_late_arena_start_on(clpt_late_rig *rig, unsigned reuse_flags,
                              const clp_arena_options *options);
extern const clp_arena_options clpt_late_small;
clp_arena_stats clpt_late_arena_figures(const clpt_late_rig *rig);

/** Releases pool, allocator and streams, does all work that is left, and asserts that nothing was
 * ever used wrongly and that nothing is left. */
void clpt_late_rig_end(clpt_late_rig *rig);

/** Another pool on the same allocator. */
clp_pool *clpt_late_pool(clpt_late_rig *rig, unsigned reuse_flags);

/** A buffer on a stream, which then writes to it and finds it as written: of any pool and size; of
 * the rig's pool and CLPT_LATE_BYTES; the same, allocated without a stream. */
clp_buffer *clpt_late_take_from(clpt_late_rig *rig, clp_pool *pool, size_t bytes,
                                clp_stream stream);
clp_buffer *clpt_late_take(clpt_late_rig *rig, clp_stream stream);
clp_buffer *clpt_late_take_unordered(clpt_late_rig *rig, clp_stream stream);

/** Releases what one of these took; takes a buffer on a stream and releases it there. */
void clpt_late_release_on(clpt_late_rig *rig, clp_buffer *buffer, clp_stream stream);
void clpt_late_hold(clpt_late_rig *rig, clp_stream stream);

/** Takes a buffer on a stream and asserts that it is a held block and that the host did not wait.
 */
clp_buffer *clpt_late_take_held(clpt_late_rig *rig, clp_stream stream);

/** Gives a stream work that uses the buffer: a write, and a look at it; and another one, `with`, a
 * look at what `from` has written, after that. */
void clpt_late_use(clpt_late_rig *rig, clp_buffer *buffer, clp_stream stream);
void clpt_late_share(clpt_late_rig *rig, clp_buffer *buffer, clp_stream from, clp_stream with);

#endif
