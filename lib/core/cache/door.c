/* SPDX-License-Identifier: MIT */
/* The claimer's side of a door. */
#include "core/cache/door.h"

#include "core/base/cancel.h"

#include <sched.h>
#include <time.h>

void clpi_door_claim(clpi_door *door)
{
  /* Sequentially consistent: this side's store of the fence; pairs with clpi_door_enter. */
  atomic_fetch_or_explicit(&door->gate, CLPI_GATE_CLAIMED, memory_order_seq_cst);
}

/* Yields at first, then sleeps: yielding would never let an owner of lower real-time priority run.
 * Callers may be without CLPI_UNCANCELLED, and inside a door of their own. */
static void let_owner_run(unsigned turns)
{
  CLPI_UNCANCELLED;
  static const struct timespec nap = {.tv_nsec = 50000};
  if (turns < 100)
    sched_yield();
  else
    nanosleep(&nap, NULL);
}

void clpi_door_await(const clpi_door *door)
{
  /* At least acquire: pairs with clpi_door_leave. The owner is inside for a few instructions only,
   * but if it was preempted there, it needs this processor to go on. */
  for (unsigned turns = 0; atomic_load_explicit(&door->busy, memory_order_seq_cst); turns++)
    let_owner_run(turns);
}

void clpi_door_close(clpi_door *door)
{
  clpi_door_claim(door);
  clpi_fence_heavy();
  clpi_door_await(door);
}

void clpi_door_open(clpi_door *door)
{
  /* Release: pairs with the load in clpi_door_enter, so that the owner sees all changes. */
  atomic_fetch_and_explicit(&door->gate, CLPI_GATE_FENCED, memory_order_release);
}
