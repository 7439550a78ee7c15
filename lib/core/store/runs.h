/* SPDX-License-Identifier: MIT */
/* The runs of a bin: its listed blocks by the streams that used them last, so that a search need
 * not look at each of very many blocks that a stream still uses.
 *
 * A run has the blocks of the same streams in the order of their uses. Of one stream, what comes
 * first is settled first: if a run's oldest block is not settled, none of it is. So a search looks
 * at the ends of each run, and costs by the number of runs: mostly, of streams. */
#ifndef CLPOOL_CORE_STORE_RUNS_H
#define CLPOOL_CORE_STORE_RUNS_H

#include "core/store/block_store.h"

/* Puts a block that is on the bin's list into its run. */
void clpi_runs_link(clpi_bin *bin, clp_buffer *block);

void clpi_runs_unlink(clpi_bin *bin, clp_buffer *block);

/* Makes the runs anew after the uses of listed blocks were changed. */
void clpi_runs_remake(clpi_bin *bin);

static inline clp_buffer *clpi_run_newest(const clp_buffer *oldest)
{
  return oldest->run.older;
}

/* The oldest block of the run after that of `oldest`; NULL at the end. */
static inline clp_buffer *clpi_run_next(const clpi_bin *bin, const clp_buffer *oldest)
{
  return oldest->run.next == bin->runs ? NULL : oldest->run.next;
}

/* Goes through the runs by their oldest blocks. The body must not change them. */
#define clpi_each_run(bin, oldest)                                                                 \
  for (clp_buffer *oldest = (bin)->runs; oldest; oldest = clpi_run_next(bin, oldest))

#endif
