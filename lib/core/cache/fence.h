/* SPDX-License-Identifier: MIT */
/* The asymmetric fence between the owner of a cache and a thread that wants to look into it.
 *
 * Both sides store their own flag and then load the other's; at least one of them must see the
 * other's store. An ordinary solution has a full fence on both sides. Here the owner, who passes by
 * millions of times a second, has none: the other side makes every running thread of the process
 * execute one (Linux: membarrier, private expedited). Where the kernel cannot do that, both sides
 * use sequentially consistent operations, of which the owner's exchange costs one locked
 * instruction. */
#ifndef CLPOOL_CORE_CACHE_FENCE_H
#define CLPOOL_CORE_CACHE_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

/* Stands between the steps of the protocol. Nothing, but for tests that build the core with a
 * CLPI_STEP of their own, in which other threads get to run (tests/support/step.h). */
#ifndef CLPI_STEP
#define CLPI_STEP() ((void)0)
#endif

/* Set once by clpi_fence_init, before any cache exists. */
extern bool clpi_fence_is_asymmetric __attribute__((visibility("hidden")));

/* Finds out what the kernel can do. Any number of times, from any thread. */
void clpi_fence_init(void);

/* The owner's side: sets `mine`, ordered before the caller's next load of the other's flag. */
static inline void clpi_fence_light_set(atomic_bool *mine)
{
  CLPI_STEP();
  if (__builtin_expect(clpi_fence_is_asymmetric, 1)) {
    /* Relaxed, and only the compiler is kept from moving the load before it: clpi_fence_heavy on
     * the other side does for the processor what is missing here. */
    atomic_store_explicit(mine, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
  } else {
    atomic_exchange_explicit(mine, true, memory_order_seq_cst);
  }
  CLPI_STEP();
}

/* The other side: everything the caller stored before is visible to a thread that passes
 * clpi_fence_light_set afterwards, and what such threads stored before is visible to the caller. */
void clpi_fence_heavy(void);

#endif
