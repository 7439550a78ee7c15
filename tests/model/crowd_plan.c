/* SPDX-License-Identifier: MIT */
/* What a program of the crowd is made of. */
#include "crowd_plan.h"

#include "support/instrumented.h"
#include "support/late_device.h"
#include "support/late_rig.h"
#include "support/suite.h"

#include <stdio.h>

enum { STEPS = 4000, LATE_STEPS = 800, CALL_CHANCE = 3 };

static bool draw_bool(clpt_chance *chance)
{
  return clpt_chance_below(chance, 2) == 0;
}

static bool draw_one_in(clpt_chance *chance, unsigned bound)
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
  unsigned calls = 1u << CROWD_READ_STATS;

  for (unsigned call = 0; call < CROWD_CALLS; call++)
    if (draw_one_in(chance, CALL_CHANCE))
      calls |= 1u << call;
  if (!draw_one_in(chance, 4))
    calls &= ~(1u << CROWD_STOP_HOLDING);
  if (plan->backend != CROWD_LATE)
    calls &= ~(1u << CROWD_MARK_STREAM | 1u << CROWD_FORGET_STREAM);
  /* A stream is forgotten in all pools that know it, which takes references to them. And a device
   * that does not take a block back at a pool's end keeps it for ever. */
  if (calls >> CROWD_FORGET_STREAM & 1 || plan->faults > 0)
    calls &= ~(1u << CROWD_OWN_POOL | 1u << CROWD_GIVE_UP);
  if (plan->pools == 1)
    calls &= ~(1u << CROWD_GIVE_UP);
  return calls;
}

static void draw_memory(clpt_chance *chance, crowd_plan *plan)
{
  static const size_t kept[] = {2, 8, 16, 40, CROWD_MOST_KEPT};
  static const size_t most[] = {256, 2048, 65536};
  size_t fair; /* what the threads use on average, about */

  plan->kept = kept[clpt_chance_below(chance, plan->backend == CROWD_LATE ? 3 : 5)];
  plan->sizes = (crowd_sizes)clpt_chance_below(chance, CROWD_SIZES);
  plan->most_bytes = most[clpt_chance_below(chance, plan->backend == CROWD_LATE ? 2 : 3)];
  plan->leading_bits = draw_number(chance, 0, 6);
  fair = plan->threads * plan->kept * plan->most_bytes / 4 + 2 * plan->most_bytes;
  if (draw_one_in(chance, 3))
    plan->limit = fair / plan->pools;
  if (draw_one_in(chance, 3))
    plan->capacity = fair;
  if (plan->backend != CROWD_LATE && draw_one_in(chance, 4))
    plan->faults = draw_number(chance, 3, 60);
}

static void draw_streams(clpt_chance *chance, crowd_plan *plan)
{
  plan->streams = draw_number(chance, 1, CROWD_MOST_STREAMS);
  plan->freeing = draw_number(chance, 0, CLPT_LATE_FREEINGS - 1);
  plan->has_home = draw_bool(chance);
}

/* Of one thread in a phase. Few of them are needed where a checker looks at each. */
static unsigned steps_of(const crowd_plan *plan)
{
  unsigned steps = plan->backend == CROWD_LATE ? LATE_STEPS : STEPS;

  return (CLPT_SANITIZED ? steps / 2 : clpt_iterations(steps)) / plan->phases + 20;
}

crowd_plan crowd_plan_draw(unsigned seed)
{
  clpt_chance chance = clpt_chance_seed(seed);
  crowd_plan plan = {.seed = seed,
                     .backend = (crowd_backend)(seed % CROWD_BACKENDS),
                     .is_on_arena = seed / CROWD_BACKENDS % 2 == 1,
                     .phases = draw_number(&chance, 1, 3),
                     .pools = draw_number(&chance, 1, CROWD_MOST_POOLS),
                     .threads = draw_number(&chance, 2, CROWD_MOST_THREADS)};

  if (draw_one_in(&chance, 12))
    plan.threads = 1; /* whose figures are all exact */
  plan.steps = steps_of(&plan);
  draw_memory(&chance, &plan);
  plan.reuse_flags = draw_number(&chance, 0, CLPT_REUSE_EITHER);
  plan.uses_try = draw_bool(&chance);
  plan.uses_zero = draw_one_in(&chance, 3);
  plan.hands_over = plan.threads > 1 && draw_bool(&chance);
  plan.relays = draw_bool(&chance);
  plan.cancels = draw_bool(&chance);
  plan.yields = draw_bool(&chance);
  plan.checks_ranges = draw_bool(&chance);
  plan.frees_room = draw_bool(&chance);
  plan.has_pool_hooks = draw_one_in(&chance, 3);
  plan.has_thread_hooks = draw_one_in(&chance, 3);
  plan.calls = draw_calls(&chance, &plan);
  if (plan.backend == CROWD_LATE)
    draw_streams(&chance, &plan);
  return plan;
}

bool crowd_plan_has(const crowd_plan *plan, crowd_call call)
{
  return plan->calls >> call & 1;
}

void crowd_plan_print(const crowd_plan *plan, char *text, size_t room)
{
  static const char *const backends[] = {"host", "simulated", "late device"};
  static const char *const sizes[] = {"one size", "few sizes", "bin edges", "any size"};
  static const char *const calls[] = {
      "get_stats",   "get_bin_stats", "free_held",    "trim_to",      "set_limit",
      "reset_peaks", "stop_holding",  "own pool",     "give up pool", "add_hook",
      "fork",        "mark_stream",   "forget_stream"};
  int length;

  length = snprintf(text, room,
                    "%u threads, %u pools on %s%s, %u x %u steps, %zu blocks of %s up to %zu"
                    " bytes, %u leading bits, reuse %u, limit %zu, capacity %zu, faults one in %u;",
                    plan->threads, plan->pools, plan->is_on_arena ? "an arena over " : "",
                    backends[plan->backend], plan->phases, plan->steps, plan->kept,
                    sizes[plan->sizes], plan->most_bytes, plan->leading_bits, plan->reuse_flags,
                    plan->limit, plan->capacity, plan->faults);
  length += snprintf(text + length, room - (size_t)length, "%s%s%s%s%s%s%s%s%s%s;",
                     plan->uses_try ? " try" : "", plan->uses_zero ? " zero" : "",
                     plan->hands_over ? " hand-over" : "", plan->relays ? " relay" : "",
                     plan->relays && plan->cancels ? " cancel" : "", plan->yields ? " yield" : "",
                     plan->checks_ranges ? " ranges" : "", plan->frees_room ? " callback" : "",
                     plan->has_pool_hooks ? " pool hooks" : "",
                     plan->has_thread_hooks ? " thread hooks" : "");
  if (plan->streams > 0)
    length += snprintf(text + length, room - (size_t)length, " %u streams%s, freeing %u;",
                       plan->streams, plan->has_home ? " and home" : "", plan->freeing);
  for (unsigned call = 0; call < CROWD_CALLS; call++)
    if (crowd_plan_has(plan, (crowd_call)call))
      length += snprintf(text + length, room - (size_t)length, " %s", calls[call]);
}
