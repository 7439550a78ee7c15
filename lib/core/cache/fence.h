/* SPDX-License-Identifier: MIT */
/* The asymmetric fence between the owner of a cache and a thread that claims it.
 *
 * Each side stores its own flag and then loads the other's; at least one must see the other's
 * store. Normally both would execute a full fence in between. Here the owner, which gets here
 * millions of times a second, executes none: the claimer makes every running thread of the process
 * execute one (Linux: membarrier, private expedited). Where the kernel cannot do that, both sides
 * use sequentially consistent operations, which cost the owner one locked exchange. */
#ifndef CLPOOL_CORE_CACHE_FENCE_H
#define CLPOOL_CORE_CACHE_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

/* Stands between the steps of the protocol and does nothing. Tests define a CLPI_STEP of their own
 * that lets other threads run there (tests/support/step.h). */
#ifndef CLPI_STEP
#define CLPI_STEP() ((void)0)
#endif

/* Set once by clpi_fence_init, before any cache exists. */
extern bool clpi_fence_is_asymmetric __attribute__((visibility("hidden")));

/* Finds out whether the kernel has membarrier. May be called any number of times, by any thread. */
void clpi_fence_init(void);

/* The owner's side: sets its flag, ordered before its next load of the claimer's flag. */
static inline void clpi_fence_light_set(atomic_bool *mine)
{
  CLPI_STEP();
  /* Relaxed, with a fence for the compiler alone: clpi_fence_heavy on the other side makes this
   * processor execute the real one. */
  atomic_store_explicit(mine, true, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  CLPI_STEP();
}

/* The same where the fence is not asymmetric. */
static inline void clpi_fence_full_set(atomic_bool *mine)
{
  CLPI_STEP();
  atomic_exchange_explicit(mine, true, memory_order_seq_cst);
  CLPI_STEP();
}

/* The claimer's side: what the caller stored before is visible to every thread that passes
 * clpi_fence_light_set afterwards, and what threads stored before that is visible to the caller. */
void clpi_fence_heavy(void);

#endif
