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

/* Fills `*forecast`, for a pool that had allocations. `stats` are its figures of this moment,
 * `taken_bytes` the peak of what it took from the device. All caches are claimed and added up. */
void clpi_forecast_make_locked(const clp_pool *pool, const clp_pool_stats *stats,
                               size_t taken_bytes, clpi_forecast *forecast);

#endif
