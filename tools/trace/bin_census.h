/* SPDX-License-Identifier: MIT */
/* What each bin of a pool had when the pool was largest: told by its blocks as they come and go. */
#ifndef CLPOOL_TRACE_BIN_CENSUS_H
#define CLPOOL_TRACE_BIN_CENSUS_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct trace_bin_count {
  size_t blocks; /* taken from the device and not given back */
  size_t active_blocks;
  size_t active_bytes; /* as asked for */
} trace_bin_count;

typedef struct trace_bin_record {
  size_t block_bytes; /* of its blocks, what tells bins apart */
  uint64_t hits, misses;
  trace_bin_count now;
  trace_bin_count then; /* at the peak, if it changed since: */
  uint64_t peaks;       /* how many there had been when `then` was kept */
} trace_bin_record;

/* Begins as {0}. */
typedef struct trace_bin_census {
  trace_bin_record *bins; /* by ascending size */
  size_t count;
  size_t capacity;
  uint64_t peaks; /* how many times there was a new one */
} trace_bin_census;

void trace_bin_census_end(trace_bin_census *census);

/* A block was taken from the device. CLP_OUT_OF_HOST_MEMORY: nothing changed. */
clp_status trace_bin_census_take(trace_bin_census *census, size_t block_bytes);

/* A block went back to the device. */
void trace_bin_census_give_back(trace_bin_census *census, size_t block_bytes);

/* A block became active for a request of `bytes`, and is active no more. */
void trace_bin_census_activate(trace_bin_census *census, size_t block_bytes, size_t bytes,
                               bool is_hit);
void trace_bin_census_release(trace_bin_census *census, size_t block_bytes, size_t bytes);

/* Now is the peak: what the bins have at present is what trace_bin_at_peak gives, until the next.
 */
void trace_bin_census_mark_peak(trace_bin_census *census);

/* What a bin of the census had at the last peak. */
trace_bin_count trace_bin_at_peak(const trace_bin_census *census, const trace_bin_record *bin);

static inline size_t trace_bin_held_bytes(const trace_bin_record *bin, trace_bin_count count)
{
  return (count.blocks - count.active_blocks) * bin->block_bytes;
}

static inline size_t trace_bin_padding_bytes(const trace_bin_record *bin, trace_bin_count count)
{
  return count.active_blocks * bin->block_bytes - count.active_bytes;
}

#endif
