/* SPDX-License-Identifier: MIT */
/* A lock that is held for some tens of instructions, and never during calls of the driver or the
 * program. (An arena holds it longer, to plan.) To take the lock costs one locked instruction, to
 * release it a plain store.
 *
 * A thread that waits first pauses, then yields its processor, then sleeps for 50 us at a time. So
 * the owner can run, even if its real-time priority is lower. Waiting is not a cancellation point.
 * A futex would need a second locked instruction to release the lock. */
#ifndef CLPOOL_CORE_BASE_SPINLOCK_H
#define CLPOOL_CORE_BASE_SPINLOCK_H

#include <stdatomic.h>
#include <stdbool.h>

/* All zeros: free. */
typedef struct clpi_spinlock {
  atomic_bool is_taken;
} clpi_spinlock;

/* Waits until the lock is free, and takes it. Returns true. */
bool clpi_spinlock_wait(clpi_spinlock *lock);

/* Takes the lock if it is free. */
static inline bool clpi_spinlock_try(clpi_spinlock *lock)
{
  return !atomic_exchange_explicit(&lock->is_taken, true, memory_order_acquire);
}

static inline void clpi_spinlock_lock(clpi_spinlock *lock)
{
  if (__builtin_expect(!clpi_spinlock_try(lock), 0))
    (void)clpi_spinlock_wait(lock);
}

static inline void clpi_spinlock_unlock(clpi_spinlock *lock)
{
  atomic_store_explicit(&lock->is_taken, false, memory_order_release);
}

#endif
