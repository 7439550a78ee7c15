/* SPDX-License-Identifier: MIT */
/* A step: in one of four, the processor goes to another thread. */
#include "step.h"

#include "chance.h"

#include <sched.h>

void clpt_step(void)
{
  static _Thread_local clpt_chance chance;
  if (chance.state == 0)
    chance = clpt_chance_seed((unsigned)((uintptr_t)&chance >> 6));
  if (clpt_chance_below(&chance, 4) == 0)
    sched_yield();
}
