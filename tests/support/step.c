/* SPDX-License-Identifier: MIT */
/* A step: in one of 64, the thread stands still for as long as others need for many of theirs. */
#include "step.h"

#include "chance.h"

#include <time.h>

/* It sleeps, for about 50 us, rather than yields: beside other programs that compute, each yield
 * gives one of them a turn of some milliseconds, and there are a million steps. */
void clpt_step(void)
{
  static const struct timespec shortest = {.tv_nsec = 1};
  static _Thread_local clpt_chance chance;
  if (chance.state == 0)
    chance = clpt_chance_seed((unsigned)((uintptr_t)&chance >> 6));
  if (clpt_chance_below(&chance, 64) == 0)
    nanosleep(&shortest, NULL);
}
