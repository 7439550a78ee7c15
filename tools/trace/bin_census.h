/* SPDX-License-Identifier: MIT */
/* Counts what each bin of a pool had when the pool was largest, from its blocks. */
#ifndef CLPOOL_TRACE_BIN_CENSUS_H
#define CLPOOL_TRACE_BIN_CENSUS_H

#include <clpool/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trace_bin_count {
  size_t blocks; /* taken from the device and not given back */
  size_t active_blocks;
  size_t active_bytes;   /* as requested */
  uint64_t hits, misses; /* so far */
} trace_bin_count;

typedef struct trace_bin {
  size_t block_bytes; /* of its blocks; identifies the bin */
  trace_bin_count now;
  trace_bin_count then; /* at the peak, if the bin has changed since: */
  uint64_t peaks;       /* the number of peaks when `then` was kept */
} trace_bin;

/* Begins as {0}; free(bins) ends it. */
typedef struct trace_bin_census {
  trace_bin *bins; /* by ascending size */
  size_t count, capacity;
  uint64_t peaks; /* the number of new peaks; the caller adds 1 at each */
} trace_bin_census;

/* Adds `change` to a bin's counts of now; negative changes wrap around.
 * CLP_OUT_OF_HOST_MEMORY, only for a new bin: nothing has changed. */
clp_status trace_bin_census_add(trace_bin_census *census, size_t block_bytes,
                                trace_bin_count change);

/* Returns what a bin of the census had at the last peak. */
trace_bin_count trace_bin_at_peak(const trace_bin_census *census, const trace_bin *bin);

#endif
