/* SPDX-License-Identifier: MIT */
/* Waiting for a spinlock. */
#include "core/base/spinlock.h"

#include "core/base/cancel.h"
#include "core/base/relaxed.h"

#include <sched.h>
#include <time.h>

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* nanosleep is a cancellation point. */
static void nap(void)
{
  CLPI_UNCANCELLED;
  static const struct timespec length = {.tv_nsec = 50000};
  (void)nanosleep(&length, NULL);
}

static void let_owner_run(unsigned turns)
{
  enum { PAUSES = 64, YIELDS = 136 };
  if (turns < PAUSES)
    pause_briefly();
  else if (turns < PAUSES + YIELDS)
    (void)sched_yield();
  else
    nap();
}

bool clpi_spinlock_wait(clpi_spinlock *lock)
{
  unsigned turns = 0;
  do
    while (clpi_relaxed(lock->is_taken))
      let_owner_run(turns++);
  while (!clpi_spinlock_try(lock));
  return true;
}
