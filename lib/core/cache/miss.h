/* SPDX-License-Identifier: MIT */
/* A miss without the stock's lock: the owner sees from inside its own cache that nobody holds a
 * block of the bin, takes a spare buffer, asks the device outside, and counts inside again. So
 * threads that miss at once do not wait for each other. */
#ifndef CLPOOL_CORE_CACHE_MISS_H
#define CLPOOL_CORE_CACHE_MISS_H

#include "core/cache/warm_path.h"

typedef struct clpi_miss {
  clpi_cache *cache;
  clpi_bin *bin;
  size_t bytes;
  clp_buffer *buffer;
} clpi_miss;

/* Begins a miss of the calling thread: the cache counts a block of the bin as reserved, and seems
 * to be at work. False, and nothing is changed: the slow path has to look, for blocks seem to be
 * held somewhere, or something of the thread's is missing. Under no lock. */
bool clpi_miss_begin(clpi_stock *stock, size_t bytes, clpi_given given, clpi_miss *miss);

/* Ends it with memory from the device: the buffer is active. False: the cache is claimed; the miss
 * must be ended under the lock, by clpi_miss_leave_locked and what the slow path does. Under no
 * lock. */
bool clpi_miss_end(clpi_stock *stock, clpi_miss *miss, clp_memory memory);

/* Gives up the reservation. The caller has the lock, and the buffer. */
void clpi_miss_leave_locked(clpi_miss *miss);

#endif
