/* SPDX-License-Identifier: MIT */
/* Bins in an array by size. A new peak costs nothing: each bin keeps its figures of the peak when
 * it first changes after it. */
#include "trace/bin_census.h"

#include "trace/error.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void trace_bin_census_end(trace_bin_census *census)
{
  free(census->bins);
  *census = (trace_bin_census){0};
}

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

static bool is_at(const trace_bin_census *census, size_t position, size_t block_bytes)
{
  return position < census->count && census->bins[position].block_bytes == block_bytes;
}

static bool grow(trace_bin_census *census)
{
  if (census->count < census->capacity)
    return true;
  size_t capacity = census->capacity ? 2 * census->capacity : FIRST_CAPACITY;
  trace_bin_record *bins = reallocarray(census->bins, capacity, sizeof(*bins));
  if (!bins)
    return false;
  census->bins = bins;
  census->capacity = capacity;
  return true;
}

static clp_status insert(trace_bin_census *census, size_t position, size_t block_bytes)
{
  if (!grow(census))
    return trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the figures of %zu bins",
                       census->count + 1);
  trace_bin_record *bin = &census->bins[position];
  memmove(bin + 1, bin, (census->count - position) * sizeof(*bin));
  *bin = (trace_bin_record){.block_bytes = block_bytes};
  census->count++;
  return CLP_SUCCESS;
}

/* The counts of a bin, which are about to change. */
static trace_bin_count *change(trace_bin_census *census, trace_bin_record *bin)
{
  if (bin->peaks < census->peaks) {
    bin->then = bin->now;
    bin->peaks = census->peaks;
  }
  return &bin->now;
}

static trace_bin_record *find(const trace_bin_census *census, size_t block_bytes)
{
  return &census->bins[position_of(census, block_bytes)];
}

clp_status trace_bin_census_take(trace_bin_census *census, size_t block_bytes)
{
  size_t position = position_of(census, block_bytes);
  clp_status status =
      is_at(census, position, block_bytes) ? CLP_SUCCESS : insert(census, position, block_bytes);
  if (!status)
    change(census, &census->bins[position])->blocks++;
  return status;
}

void trace_bin_census_give_back(trace_bin_census *census, size_t block_bytes)
{
  change(census, find(census, block_bytes))->blocks--;
}

void trace_bin_census_activate(trace_bin_census *census, size_t block_bytes, size_t bytes,
                               bool is_hit)
{
  trace_bin_record *bin = find(census, block_bytes);
  trace_bin_count *count = change(census, bin);
  count->active_blocks++;
  count->active_bytes += bytes;
  bin->hits += is_hit;
  bin->misses += !is_hit;
}

void trace_bin_census_release(trace_bin_census *census, size_t block_bytes, size_t bytes)
{
  trace_bin_count *count = change(census, find(census, block_bytes));
  count->active_blocks--;
  count->active_bytes -= bytes;
}

void trace_bin_census_mark_peak(trace_bin_census *census)
{
  census->peaks++;
}

trace_bin_count trace_bin_at_peak(const trace_bin_census *census, const trace_bin_record *bin)
{
  return bin->peaks < census->peaks ? bin->now : bin->then;
}
