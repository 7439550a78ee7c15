/* SPDX-License-Identifier: MIT */
/* What each bin of a pool had when the pool was largest: told by its blocks as they come and go. */
#ifndef CLPOOL_TRACE_BIN_CENSUS_H
#define CLPOOL_TRACE_BIN_CENSUS_H

#include <clpool/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trace_bin_count {
  size_t blocks; /* taken from the device and not given back */
  size_t active_blocks;
  size_t active_bytes;   /* as asked for */
  uint64_t hits, misses; /* so far */
} trace_bin_count;

typedef struct trace_bin {
  size_t block_bytes; /* of its blocks, what tells bins apart */
  trace_bin_count now;
  trace_bin_count then; /* at the peak, if it changed since: */
  uint64_t peaks;       /* how many there had been when `then` was kept */
} trace_bin;

/* Begins as {0}; free(bins) ends it. */
typedef struct trace_bin_census {
  trace_bin *bins; /* by ascending size */
  size_t count, capacity;
  uint64_t peaks; /* how many times there was a new one; the census is told by adding 1 */
} trace_bin_census;

/* Adds to what a bin has now; numbers that shall become smaller wrap. CLP_OUT_OF_HOST_MEMORY, which
 * only happens with a new bin: nothing changed. */
clp_status trace_bin_census_add(trace_bin_census *census, size_t block_bytes,
                                trace_bin_count change);

/* What a bin of the census had at the last peak. */
trace_bin_count trace_bin_at_peak(const trace_bin_census *census, const trace_bin *bin);

#endif
