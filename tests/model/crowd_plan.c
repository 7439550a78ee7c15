/* SPDX-License-Identifier: MIT */
/* What a program of the crowd is made of. */
#include "crowd_plan.h"

#include "support/instrumented.h"
#include "support/late_device.h"
#include "support/late_rig.h"
#include "support/suite.h"

#include <stdio.h>

enum { STEPS = 4000, LATE_STEPS = 800, CALL_CHANCE = 3 };

static bool one_in(clpt_chance *chance, unsigned bound)
{
  return clpt_chance_below(chance, bound) == 0;
}

static unsigned draw_number(clpt_chance *chance, unsigned least, unsigned most)
{
  return least + (unsigned)clpt_chance_below(chance, most - least + 1);
}

/* Each call is in some programs and not in others, so that none hides what another would show. */
static unsigned draw_calls(clpt_chance *chance, const crowd_plan *plan)
{
  unsigned calls = 1u << CROWD_get_stats;

  for (unsigned call = 0; call < CROWD_CALL_COUNT; call++)
    if (one_in(chance, CALL_CHANCE))
      calls |= 1u << call;
  if (!one_in(chance, 4))
    calls &= ~(1u << CROWD_stop_holding);
  if (plan->backend != CROWD_LATE)
    calls &= ~(1u << CROWD_mark_stream | 1u << CROWD_forget_stream);
  /* A stream is forgotten in all pools that know it, so that threads must know these. And a device
   * that does not take a block back at a pool's end keeps it for ever. */
  if (calls >> CROWD_forget_stream & 1 || plan->faults > 0)
    calls &= ~(1u << CROWD_own_pool);
  return calls;
}

static void draw_memory(clpt_chance *chance, crowd_plan *plan)
{
  static const size_t kept[] = {2, 8, 16, 40, CROWD_MOST_KEPT};
  static const size_t most[] = {256, 2048, 65536};
  bool is_late = plan->backend == CROWD_LATE;
  size_t fair; /* what the threads use on average, about */

  plan->kept = kept[clpt_chance_below(chance, is_late ? 3 : 5)];
  plan->sizes = clpt_chance_below(chance, CROWD_SIZES);
  plan->most_bytes = most[clpt_chance_below(chance, is_late ? 2 : 3)];
  plan->leading_bits = draw_number(chance, 0, 6);
  fair = plan->threads * plan->kept * plan->most_bytes / 4 + 2 * plan->most_bytes;
  if (one_in(chance, 3))
    plan->limit = fair / plan->pools;
  if (one_in(chance, 4))
    plan->hold = 1 + clpt_chance_below(chance, fair);
  if (one_in(chance, 3) && plan->backend != CROWD_HOST)
    plan->capacity = fair;
  if (one_in(chance, 4) && !is_late)
    plan->faults = draw_number(chance, 3, 60);
}

/* Few are needed where a checker looks at each. */
static unsigned steps_of(const crowd_plan *plan)
{
  unsigned steps = plan->backend == CROWD_LATE ? LATE_STEPS : STEPS;

  return (CLPT_SANITIZED ? steps / 2 : clpt_iterations(steps)) / (unsigned)plan->phases + 20;
}

crowd_plan crowd_plan_draw(unsigned seed)
{
  clpt_chance chance = clpt_chance_seed(seed);
  crowd_plan plan = {.seed = seed,
                     .backend = seed % CROWD_BACKENDS,
                     .is_on_arena = seed / CROWD_BACKENDS % 2,
                     .phases = draw_number(&chance, 1, 3),
                     .pools = draw_number(&chance, 1, CROWD_MOST_POOLS),
                     .threads = draw_number(&chance, 2, CROWD_MOST_THREADS)};

  if (one_in(&chance, 12))
    plan.threads = 1; /* whose figures are all exact */
  plan.steps = steps_of(&plan);
  draw_memory(&chance, &plan);
  plan.reuse_flags = draw_number(&chance, 0, CLPT_REUSE_EITHER);
  plan.uses_try = one_in(&chance, 2);
  plan.uses_zero = one_in(&chance, 3);
  plan.hands_over = plan.threads > 1 && one_in(&chance, 2);
  plan.relays = one_in(&chance, 2);
  plan.cancels = plan.relays && one_in(&chance, 2);
  plan.yields = one_in(&chance, 2);
  plan.has_hooks = one_in(&chance, 3);
  plan.calls = draw_calls(&chance, &plan);
  if (plan.backend != CROWD_LATE)
    return plan;
  plan.streams = draw_number(&chance, 1, CROWD_MOST_STREAMS);
  plan.freeing = draw_number(&chance, 0, CLPT_LATE_FREEINGS - 1);
  plan.has_home = one_in(&chance, 2);
  return plan;
}

bool crowd_plan_has(const crowd_plan *plan, crowd_call call)
{
  return plan->calls >> call & 1;
}

void crowd_plan_print(const crowd_plan *plan, char *text, size_t room)
{
  int length = 0;

#define X(name)                                                                                    \
  if (plan->name != 0)                                                                             \
    length += snprintf(text + length, room - (size_t)length, #name " %lu ", plan->name);
  CROWD_PLAN(X)
#undef X
#define X(name)                                                                                    \
  if (crowd_plan_has(plan, CROWD_##name))                                                          \
    length += snprintf(text + length, room - (size_t)length, " " #name);
  CROWD_CALLS(X)
#undef X
}
