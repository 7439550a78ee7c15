/* SPDX-License-Identifier: MIT */
/* Bins in an array by size. A new peak costs nothing: each bin keeps its figures of the peak when
 * it first changes after it. */
#include "trace/bin_census.h"

#include "trace/error.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Where the bin is, or would be: the first that is not smaller. */
static size_t position_of(const trace_bin_census *census, size_t block_bytes)
{
  size_t begin = 0, end = census->count;
  while (begin < end) {
    size_t middle = begin + (end - begin) / 2;
    if (census->bins[middle].block_bytes < block_bytes)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

static clp_status insert(trace_bin_census *census, size_t position, size_t block_bytes)
{
  trace_bin *bins =
      trace_grow(census->bins, &census->capacity, census->count + 1, sizeof(*bins), "bins");
  if (!bins)
    return CLP_OUT_OF_HOST_MEMORY;
  census->bins = bins;
  trace_bin *bin = &census->bins[position];
  memmove(bin + 1, bin, (census->count - position) * sizeof(*bin));
  *bin = (trace_bin){.block_bytes = block_bytes};
  census->count++;
  return CLP_SUCCESS;
}

clp_status trace_bin_census_add(trace_bin_census *census, size_t block_bytes,
                                trace_bin_count change)
{
  size_t position = position_of(census, block_bytes);
  bool is_there = position < census->count && census->bins[position].block_bytes == block_bytes;
  clp_status status = is_there ? CLP_SUCCESS : insert(census, position, block_bytes);
  if (status)
    return status;
  trace_bin *bin = &census->bins[position];
  if (bin->peaks < census->peaks)
    bin->then = bin->now;
  bin->peaks = census->peaks;
  bin->now.blocks += change.blocks;
  bin->now.active_blocks += change.active_blocks;
  bin->now.active_bytes += change.active_bytes;
  bin->now.hits += change.hits;
  bin->now.misses += change.misses;
  return CLP_SUCCESS;
}

trace_bin_count trace_bin_at_peak(const trace_bin_census *census, const trace_bin *bin)
{
  return bin->peaks < census->peaks ? bin->now : bin->then;
}
