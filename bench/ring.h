/* SPDX-License-Identifier: MIT */
/* A bounded ring: one thread puts blocks in, one other takes them out, one at a time. */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include "spin.h"

#include <stdatomic.h>
#include <stddef.h>

enum { BENCH_RING_BLOCKS = 256 };

/** All zero is an empty ring. Each side has a cache line of its own, and in it what it last saw of
 * the other's, so that it looks there only when that does not do. */
typedef struct bench_ring {
  _Alignas(64) atomic_size_t put; /**< how many ever were put in */
  size_t taken_seen;
  _Alignas(64) atomic_size_t taken; /**< how many ever were taken out */
  size_t put_seen;
  _Alignas(64) void *blocks[BENCH_RING_BLOCKS];
} bench_ring;

/** Waits while the ring is full. One thread at a time. */
static inline void bench_ring_put(bench_ring *ring, void *block)
{
  size_t put = atomic_load_explicit(&ring->put, memory_order_relaxed);
  for (unsigned spins = 0; put - ring->taken_seen == BENCH_RING_BLOCKS;) {
    /* Acquire: pairs with the release in bench_ring_take, which is done with the place. */
    ring->taken_seen = atomic_load_explicit(&ring->taken, memory_order_acquire);
    if (put - ring->taken_seen == BENCH_RING_BLOCKS)
      bench_spin(&spins);
  }
  ring->blocks[put % BENCH_RING_BLOCKS] = block;
  /* Release: pairs with the acquire in bench_ring_take, for the place and what the block is. */
  atomic_store_explicit(&ring->put, put + 1, memory_order_release);
}

/** Waits while the ring is empty. One thread at a time. */
static inline void *bench_ring_take(bench_ring *ring)
{
  size_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
  for (unsigned spins = 0; taken == ring->put_seen;) {
    ring->put_seen = atomic_load_explicit(&ring->put, memory_order_acquire);
    if (taken == ring->put_seen)
      bench_spin(&spins);
  }
  void *block = ring->blocks[taken % BENCH_RING_BLOCKS];
  atomic_store_explicit(&ring->taken, taken + 1, memory_order_release);
  return block;
}

#endif
