/* SPDX-License-Identifier: MIT */
/* Waiting for another thread that will be quick. */
#ifndef BENCH_SPIN_H
#define BENCH_SPIN_H

#include <sched.h>

enum { BENCH_SPINS_BEFORE_YIELD = 128 };

/** One step of waiting; `*spins` starts as 0. Now and then the processor goes to others, since the
 * awaited thread may need it. */
static inline void bench_spin(unsigned *spins)
{
  if (++*spins % BENCH_SPINS_BEFORE_YIELD == 0)
    (void)sched_yield();
#if defined __x86_64__ || defined __i386__
  else
    __builtin_ia32_pause();
#elif defined __aarch64__
  else
    __asm__ volatile("yield");
#endif
}

#endif
