/* SPDX-License-Identifier: MIT */
/* The model behind advice.
 *
 * Bins on the device. Nothing goes back, so a bin has as many blocks as were ever in use in it at
 * once, and each of these was a miss. For the pool's own bins that is counted. Where bins of other
 * settings are made of these, or these of them, the blocks are those of its own bins, times the
 * ratio that looks at sizes found between the most in use in the one and in the other: looks miss
 * peaks of both alike. A wide bin has at least the blocks of the largest that it is made of, and at
 * most the sum of all.
 *
 * An arena. Its pool holds only what there is room for beside the blocks in use, so it takes what
 * these are padded to, and somewhat more for what lies between them; and a request is a hit if the
 * last that were released are enough to find a block among. */
#include "core/forecast.h"

#include "core/allocator.h"
#include "core/error.h"
#include "core/sizes.h"

#include <clpool/arena.h>
#include <clpool/bin.h>

enum { BINS = CLPI_CLASSES };

/* In replays an arena took so many of the segments that steady growth would take: large blocks come
 * with segments of their own. */
#define SEGMENTS_TAKEN 0.6

/* What an arena takes over what its blocks take: more where small ones that stay are born among
 * large ones that do not. */
#define ARENA_EXCESS 1.12

/* An arena's defaults (clpool/arena.h, lib/arena/growth.c), bytes. */
#define SLACK            0.022
#define SMALLEST_SEGMENT 0x1p18
#define LARGEST_SEGMENT  (SLACK * 0x1.8p30)

/* Blocks and bytes. */
typedef struct amount {
  double blocks, bytes;
} amount;

/* One floor(log2 size) of a pool. */
typedef struct octave {
  const clp_pool *pool;
  const clpi_size_level *seen; /* NULL: at no look */
  size_t number;
  unsigned base;        /* leading bits: the pool's, or those of the histogram if that is less */
  const double *blocks; /* the most of each bin of as many leading bits */
} octave;

static double smaller(double a, double b)
{
  return a < b ? a : b;
}

static double larger(double a, double b)
{
  return a > b ? a : b;
}

static unsigned base_bits(const clp_pool *pool)
{
  unsigned bits = pool->store.leading_bits;
  return bits < CLPI_CLASS_BITS ? bits : CLPI_CLASS_BITS;
}

/* The most blocks of each bin of the base's leading bits. Only bins in use are read: of many
 * leading bits, most are not. */
static void read_blocks(const clp_pool *pool, double blocks[CLPI_LEVELS][BINS])
{
  unsigned narrower = pool->store.leading_bits - base_bits(pool);
  for (uint32_t i = 1; i < pool->store.index_count; i++) {
    const clpi_bin *bin = pool->store.by_index[i];
    size_t level = bin->number >> pool->store.leading_bits;
    size_t m = bin->number & (((size_t)1 << pool->store.leading_bits) - 1);
    blocks[level][m >> narrower] += (double)bin->most_blocks;
  }
}

/* The most in use at one look in a bin. */
static double most_seen(const octave *of, unsigned bits, size_t m)
{
  return of->seen ? of->seen->most[((size_t)1 << bits) + m] : 0;
}

static double block_bytes(const octave *of, unsigned bits, size_t m)
{
  size_t bytes = clp_bin_size(bits, of->number << bits | m);
  return (double)clpi_smaller(bytes, of->pool->store.max_block_bytes);
}

/* The blocks of bin m of `bits`, which has several of the pool's. */
static double blocks_of_wider(const octave *of, unsigned bits, size_t m)
{
  size_t count = (size_t)1 << (of->base - bits);
  double sum = 0, most = 0, seen = 0;
  for (size_t i = m * count; i < (m + 1) * count; i++) {
    sum += of->blocks[i];
    most = larger(most, of->blocks[i]);
    seen += most_seen(of, of->base, i);
  }
  double ratio = seen > 0 ? most_seen(of, bits, m) / seen : 0;
  return smaller(sum, larger(most, ratio * sum));
}

/* The blocks of bin m of `bits`, a part of one of the pool's. */
static double blocks_of_narrower(const octave *of, unsigned bits, size_t m)
{
  size_t own = m >> (bits - of->base);
  double seen = most_seen(of, bits, m), all = most_seen(of, of->base, own);
  double blocks = all > 0 ? of->blocks[own] * seen / all : seen;
  return seen > 0 ? smaller(of->blocks[own], larger(1, blocks)) : 0;
}

static amount amount_of(const octave *of, unsigned bits)
{
  amount sum = {0};
  for (size_t m = 0; m < (size_t)1 << bits; m++) {
    double blocks = bits < of->base   ? blocks_of_wider(of, bits, m)
                    : bits > of->base ? blocks_of_narrower(of, bits, m)
                                      : of->blocks[m];
    sum.blocks += blocks;
    sum.bytes += blocks * block_bytes(of, bits, m);
  }
  return sum;
}

static void add_up(const clp_pool *pool, amount amounts[CLPI_SETTINGS])
{
  double blocks[CLPI_LEVELS][BINS] = {{0}};
  read_blocks(pool, blocks);
  for (size_t l = 0; l < CLPI_LEVELS; l++) {
    octave of = {.pool = pool,
                 .seen = pool->sizes.levels[l],
                 .number = l,
                 .base = base_bits(pool),
                 .blocks = blocks[l]};
    if (!pool->store.levels[l].bins)
      continue;
    for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++) {
      amount part = amount_of(&of, bits);
      amounts[bits].blocks += part.blocks;
      amounts[bits].bytes += part.bytes;
    }
  }
}

static void look_ahead_plain(const clp_pool *pool, clpi_forecast *forecast)
{
  amount amounts[CLPI_SETTINGS] = {{0}};
  add_up(pool, amounts);
  const amount *own = &amounts[base_bits(pool)];
  /* What went back and came again, for a limit or by a trim, would have done so anyway. */
  double again = forecast->now.on_arena ? 1 : forecast->now.misses / own->blocks;
  double excess = forecast->now.on_arena
                      ? 1
                      : forecast->now.footprint * forecast->peak_active_bytes / own->bytes;
  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++) {
    clpi_outlook *outlook = &forecast->plain[bits];
    outlook->leading_bits = bits;
    outlook->misses = smaller(again * amounts[bits].blocks, (double)forecast->allocations);
    outlook->calls = outlook->misses;
    outlook->footprint = larger(1, excess * amounts[bits].bytes / forecast->peak_active_bytes);
  }
}

/* Segments are a part of what is in use when they are taken, which grows up to its peak. */
static double count_segments(double taken_bytes)
{
  double segments = 0, taken = 0;
  for (; taken < smaller(taken_bytes, LARGEST_SEGMENT / SLACK); segments++)
    taken += larger(SMALLEST_SEGMENT, SLACK * taken);
  segments += larger(0, taken_bytes - taken) / LARGEST_SEGMENT; /* all of that size */
  return SEGMENTS_TAKEN * segments;
}

/* Blocks in use over what was asked for. */
static double padding(const clpi_size_histogram *sizes, unsigned bits)
{
  return sizes->peak_padded[bits] / sizes->peak_requested;
}

/* The part of requests that find a block on an arena. One that would be young enough may have gone
 * back all the same, to make room larger where it lay: in replays, with the same chance again. */
static double find_rate(const clpi_size_histogram *sizes, unsigned bits)
{
  double young = sizes->found[bits] / sizes->requests;
  return young * young;
}

/* What was counted is compared with what is expected: both shall mean the same. */
static void scale_calls(clpi_forecast *forecast, unsigned base)
{
  double expected = forecast->arena[base].calls;
  for (unsigned bits = 0; expected > 0 && bits < CLPI_SETTINGS; bits++) {
    clpi_outlook *outlook = &forecast->arena[bits];
    outlook->calls = smaller(outlook->misses, outlook->calls * forecast->now.calls / expected);
  }
}

static void look_ahead_arena(const clp_pool *pool, clpi_forecast *forecast)
{
  const clpi_size_histogram *sizes = &pool->sizes;
  const clpi_outlook *now = &forecast->now;
  unsigned base = base_bits(pool);
  double excess = now->on_arena ? larger(1, now->footprint / padding(sizes, base)) : ARENA_EXCESS;
  double rest = now->on_arena ? 0 : SMALLEST_SEGMENT / forecast->peak_active_bytes;
  double rate_now = 1 - find_rate(sizes, base);
  double again =
      now->on_arena && rate_now > 0 ? now->misses / (double)forecast->allocations / rate_now : 1;
  for (unsigned bits = 0; bits < CLPI_SETTINGS; bits++) {
    clpi_outlook *outlook = &forecast->arena[bits];
    double rate = again * (1 - find_rate(sizes, bits));
    outlook->leading_bits = bits;
    outlook->on_arena = true;
    outlook->misses =
        smaller((double)forecast->allocations,
                larger(rate * (double)forecast->allocations, forecast->plain[bits].misses));
    outlook->footprint = excess * padding(sizes, bits) + rest;
    /* A segment is taken for a block. */
    outlook->calls =
        smaller(outlook->misses, count_segments(outlook->footprint * forecast->peak_active_bytes));
  }
  if (now->on_arena)
    scale_calls(forecast, base);
}

/* --- as it is --- */

static bool is_alone(const clp_pool *pool)
{
  clp_allocator *allocator = pool->allocator;
  pthread_mutex_lock(&allocator->pools_lock);
  bool alone = allocator->pools.next == &pool->on_allocator &&
               allocator->pools.previous == &pool->on_allocator;
  pthread_mutex_unlock(&allocator->pools_lock);
  return alone;
}

clpi_taken clpi_forecast_read_taken(const clp_pool *pool)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  if (!pool->allocator->ops.allocate_within)
    return (clpi_taken){0};
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clp_status status = clp_arena_get_stats(pool->allocator, &stats);
  clpi_error_restore(&kept);
  if (status)
    return (clpi_taken){0};
  return (clpi_taken){.bytes = stats.reserved_bytes,
                      .peak_bytes = stats.peak_reserved_bytes,
                      .calls = stats.segments_taken,
                      .is_alone = is_alone(pool)};
}

/* The peak of what was taken, since peaks were last reset. An arena knows its own since it was made
 * alone: if that is older, it is what the arena was seen to have, or what the pool had. */
static size_t find_peak_locked(clp_pool *pool, const clp_pool_stats *stats, const clpi_taken *taken)
{
  clpi_size_histogram *sizes = &pool->sizes;
  if (!taken->is_alone)
    return stats->peak_managed_bytes;
  if (sizes->is_reset) {
    sizes->is_reset = false;
    sizes->arena_peak = taken->peak_bytes;
    sizes->arena_bytes = 0;
  }
  sizes->arena_bytes = clpi_larger(sizes->arena_bytes, taken->bytes);
  bool is_new = taken->peak_bytes > sizes->arena_peak;
  size_t peak = is_new ? taken->peak_bytes : sizes->arena_bytes;
  /* Since it was read, other threads may have gone on. */
  return clpi_larger(peak, stats->peak_managed_bytes);
}

void clpi_forecast_make_locked(clp_pool *pool, const clp_pool_stats *stats, const clpi_taken *taken,
                               clpi_forecast *forecast)
{
  double peak = (double)stats->peak_active_bytes;
  *forecast = (clpi_forecast){.allocations = stats->allocations - pool->empty.hits,
                              .peak_active_bytes = peak};
  forecast->now = (clpi_outlook){.leading_bits = pool->store.leading_bits,
                                 .on_arena = pool->allocator->ops.allocate_within != NULL,
                                 .misses = (double)stats->misses,
                                 .footprint = (double)find_peak_locked(pool, stats, taken) / peak,
                                 .calls = (double)stats->device_allocations};
  if (forecast->now.on_arena)
    forecast->now.calls = smaller(forecast->now.misses,
                                  taken->is_alone ? (double)taken->calls
                                                  : count_segments(forecast->now.footprint * peak));
  look_ahead_plain(pool, forecast);
  look_ahead_arena(pool, forecast);
}
