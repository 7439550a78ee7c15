/* SPDX-License-Identifier: MIT */
/* What a pool's program would see with other settings, from the pool's own counts and its histogram
 * of sizes. doc/tuning.md compares that with replays. */
#ifndef CLPOOL_CORE_FORECAST_H
#define CLPOOL_CORE_FORECAST_H

#include "core/pool.h"

/* A pool with bins of so many leading bits, on the device or on an arena. */
typedef struct clpi_outlook {
  unsigned leading_bits;
  bool on_arena;
  double misses;    /* of as many allocations as there were */
  double footprint; /* peak of memory taken over the peak in use */
  double calls;     /* of the device, for memory */
} clpi_outlook;

typedef struct clpi_forecast {
  uint64_t allocations; /* but those of zero bytes */
  double peak_active_bytes;
  clpi_outlook now;
  clpi_outlook plain[CLPI_SETTINGS], arena[CLPI_SETTINGS];
} clpi_forecast;

/* What a pool's arena took from its upstream: zeros where there is none. */
typedef struct clpi_taken {
  size_t bytes, peak_bytes; /* now, and the most ever */
  uint64_t calls;           /* for segments, ever */
  bool is_alone;            /* the pool: no other is on the arena */
} clpi_taken;

/* Under no lock. */
clpi_taken clpi_forecast_read_taken(const clp_pool *pool);

/* Fills `*forecast`, for a pool that had allocations. `stats` are its figures of this moment,
 * `taken` was read not long ago and is noted for the next time. All caches are claimed and added
 * up. */
void clpi_forecast_make_locked(clp_pool *pool, const clp_pool_stats *stats, const clpi_taken *taken,
                               clpi_forecast *forecast);

#endif
