/* SPDX-License-Identifier: MIT */
/* Pools and buffers for tests: calls that must succeed, and figures that must be right. */
#ifndef CLPT_POOLS_H
#define CLPT_POOLS_H

#include "failing_allocator.h"

#include <clpool/bin.h>
#include <clpool/buffer.h>
#include <clpool/pool.h>

/** A pool with the default options on a device of its own. */
typedef struct clpt_rig {
  clpt_device device;
  clp_allocator *allocator;
  clp_pool *pool;
} clpt_rig;

void clpt_rig_start(clpt_rig *rig);

/** As above, with options (NULL: the defaults), on `rig->device` as the test has set it up. */
void clpt_rig_start_with(clpt_rig *rig, const clp_pool_options *options);

/** Releases pool and allocator; asserts that nothing is left of them. */
void clpt_rig_end(clpt_rig *rig);

/** Memory straight from an allocator. */
clp_memory clpt_memory(clp_allocator *allocator, size_t bytes);

/** A pool with the default options. */
clp_pool *clpt_pool(clp_allocator *allocator);

/** A buffer, with the memory, sizes and pool that it must have. */
clp_buffer *clpt_allocate(clp_pool *pool, size_t bytes);

/** The size of the bin of `bytes`, with 4 leading bits. Where memory runs out, a request for it is
 * not asked for once more at a lesser size. */
size_t clpt_bin_bytes(size_t bytes);

/** Takes `blocks` buffers of `bytes` and releases them, so that so many are held. */
void clpt_hold(clp_pool *pool, size_t bytes, size_t blocks);

/** Releases a buffer on a thread of its own, which then ends. */
void clpt_release_aside(clp_buffer *buffer);

/** What does not hold among figures that were taken at one moment; NULL: they agree. For threads,
 * where Check's assertions must not be. */
const char *clpt_disagreement(const clp_pool *pool, const clp_pool_stats *stats);

/** Whether the pool's allocator carves its blocks, so that it holds nothing. */
bool clpt_holds_nothing(const clp_pool *pool);

/** The pool's statistics, which agree with each other. */
clp_pool_stats clpt_stats(const clp_pool *pool);

/** Asserts that nothing but the counts of what was tried differs: blocks, bytes, hits, misses. */
void clpt_assert_same_figures(const clp_pool_stats *before, const clp_pool_stats *after);

#endif
