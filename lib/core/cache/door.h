/* SPDX-License-Identifier: MIT */
/* A door for one thread, its owner, which goes in and out without a lock. Others take a lock that
 * goes with the door, and claim it, so that the owner stays out: an owner that is not let in takes
 * the lock, too, and then need not claim its own door. doc/thread-cache.md shows that two are never
 * inside at once. */
#ifndef CLPOOL_CORE_CACHE_DOOR_H
#define CLPOOL_CORE_CACHE_DOOR_H

#include "core/cache/fence.h"

/* What an owner loads when it comes in; flags. Where the fence is asymmetric, there is nothing else
 * that it has to ask. */
enum clpi_gate {
  CLPI_GATE_OPEN = 0,
  CLPI_GATE_CLAIMED = 1, /* another thread wants in or is in */
  CLPI_GATE_FENCED = 2   /* always, where the fence is not asymmetric */
};

typedef struct clpi_door {
  atomic_bool busy;  /* the owner is inside; stored by the owner only */
  atomic_uchar gate; /* of clpi_gate; changed under the lock only */
} clpi_door;

/* One that is open. */
#define CLPI_NEW_DOOR                                                                              \
  ((clpi_door){.gate = clpi_fence_is_asymmetric ? CLPI_GATE_OPEN : CLPI_GATE_FENCED})

static inline void clpi_door_leave(clpi_door *door)
{
  /* Release: pairs with the load in clpi_door_await, so that the claimer sees what the owner did.
   * The owner must not touch anything behind the door after this store. */
  CLPI_STEP();
  atomic_store_explicit(&door->busy, false, memory_order_release);
  CLPI_STEP();
}

/* Lets the owner in. False: it is claimed; take the lock. */
static inline bool clpi_door_enter(clpi_door *door)
{
  clpi_fence_light_set(&door->busy);
  /* Acquire: pairs with the release in clpi_door_open, so that the owner sees what the last claimer
   * did. Sequentially consistent for the fence without membarrier: pairs with the store in
   * clpi_door_claim. */
  unsigned gate = atomic_load_explicit(&door->gate, memory_order_seq_cst);
  CLPI_STEP();
  if (__builtin_expect(gate == CLPI_GATE_OPEN, 1))
    return true;
  if (gate == CLPI_GATE_FENCED) { /* a claim may have been missed so far */
    clpi_fence_full_set(&door->busy);
    gate = atomic_load_explicit(&door->gate, memory_order_seq_cst);
    CLPI_STEP();
    if (gate == CLPI_GATE_FENCED)
      return true;
  }
  clpi_door_leave(door);
  return false;
}

/* A claim: of any number of doors; then one clpi_fence_heavy; then the wait for each of them. The
 * caller has their lock, and so it has when it opens them again. */
void clpi_door_claim(clpi_door *door);
void clpi_door_await(const clpi_door *door);
void clpi_door_open(clpi_door *door);

/* All three, for one door. */
void clpi_door_close(clpi_door *door);

static inline bool clpi_door_is_claimed(const clpi_door *door)
{
  return atomic_load_explicit(&door->gate, memory_order_relaxed) & CLPI_GATE_CLAIMED;
}

#endif
