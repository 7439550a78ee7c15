/* SPDX-License-Identifier: MIT */
/* Bins in an array by size. A new peak costs nothing: each bin keeps its figures of the peak when
 * it first changes after it. */
#include "trace/bin_census.h"

#include "core/base/error.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

void clpi_bin_census_end(clpi_bin_census *census)
{
  free(census->bins);
  *census = (clpi_bin_census){0};
}

/* Where the bin is, or would be: the first that is not smaller. */
static size_t position_of(const clpi_bin_census *census, size_t block_bytes)
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

static bool is_at(const clpi_bin_census *census, size_t position, size_t block_bytes)
{
  return position < census->count && census->bins[position].block_bytes == block_bytes;
}

static bool grow(clpi_bin_census *census)
{
  if (census->count < census->capacity)
    return true;
  size_t capacity = census->capacity ? 2 * census->capacity : FIRST_CAPACITY;
  clpi_bin_record *bins = reallocarray(census->bins, capacity, sizeof(*bins));
  if (!bins)
    return false;
  census->bins = bins;
  census->capacity = capacity;
  return true;
}

static clp_status insert(clpi_bin_census *census, size_t position, size_t block_bytes)
{
  if (!grow(census))
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the figures of %zu bins",
                      census->count + 1);
  clpi_bin_record *bin = &census->bins[position];
  memmove(bin + 1, bin, (census->count - position) * sizeof(*bin));
  *bin = (clpi_bin_record){.block_bytes = block_bytes};
  census->count++;
  return CLP_SUCCESS;
}

/* The counts of a bin, which are about to change. */
static clpi_bin_count *change(clpi_bin_census *census, clpi_bin_record *bin)
{
  if (bin->peaks < census->peaks) {
    bin->then = bin->now;
    bin->peaks = census->peaks;
  }
  return &bin->now;
}

static clpi_bin_record *find(const clpi_bin_census *census, size_t block_bytes)
{
  return &census->bins[position_of(census, block_bytes)];
}

clp_status clpi_bin_census_take(clpi_bin_census *census, size_t block_bytes)
{
  size_t position = position_of(census, block_bytes);
  clp_status status =
      is_at(census, position, block_bytes) ? CLP_SUCCESS : insert(census, position, block_bytes);
  if (!status)
    change(census, &census->bins[position])->blocks++;
  return status;
}

void clpi_bin_census_give_back(clpi_bin_census *census, size_t block_bytes)
{
  change(census, find(census, block_bytes))->blocks--;
}

void clpi_bin_census_activate(clpi_bin_census *census, size_t block_bytes, size_t bytes,
                              bool is_hit)
{
  clpi_bin_record *bin = find(census, block_bytes);
  clpi_bin_count *count = change(census, bin);
  count->active_blocks++;
  count->active_bytes += bytes;
  bin->hits += is_hit;
  bin->misses += !is_hit;
}

void clpi_bin_census_release(clpi_bin_census *census, size_t block_bytes, size_t bytes)
{
  clpi_bin_count *count = change(census, find(census, block_bytes));
  count->active_blocks--;
  count->active_bytes -= bytes;
}

void clpi_bin_census_mark_peak(clpi_bin_census *census)
{
  census->peaks++;
}

clpi_bin_count clpi_bin_at_peak(const clpi_bin_census *census, const clpi_bin_record *bin)
{
  return bin->peaks < census->peaks ? bin->now : bin->then;
}
