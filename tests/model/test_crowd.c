/* SPDX-License-Identifier: MIT */
/* Programs of several threads, drawn by chance, which count for themselves what they have.
 *
 *     tests/model/test_crowd                      the programs of make check
 *     CLPT_PROGRAMS=1000 tests/model/test_crowd   so many of them
 *     CLPT_SEED=7 tests/model/test_crowd          program 7, 20 times: threads meet in other ways
 *     CLPT_SEED=7 CLPT_PROGRAMS=100 ...           programs 7 to 106
 *     CLPT_STRESS_SECONDS=60 CK_RUN_CASE=soak ... all kinds in one process, at flat memory
 */
#include "crowd.h"
#include "support/instrumented.h"
#include "support/late_rig.h"
#include "support/suite.h"

#include <malloc.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { PROGRAMS = 48, SANITIZED_PROGRAMS = 24, VALGRIND_PROGRAMS = 12, TIMES = 20 };
enum { STEPS = 4000, LATE_STEPS = 800, CALL_CHANCE = 3 };
enum { WARM_UPS = 8, SLACK_BYTES = 4 << 20 /* that malloc keeps between */ };

/* A program takes a second or two at most. A broken one may go in circles, and so may many. */
enum { HANG_SECONDS = 60 };

/* --- what a program is made of --- */

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
  static const size_t kept[] = {2, 8, 16, 40, CROWD_KEPT};
  static const size_t most[] = {256, 2048, 65536};
  bool is_late = plan->backend == CROWD_LATE;
  plan->kept = kept[clpt_chance_below(chance, is_late ? 3 : 5)];
  plan->sizes = (unsigned long)clpt_chance_below(chance, CROWD_SIZES);
  plan->most_bytes = most[clpt_chance_below(chance, is_late ? 2 : 3)];
  plan->leading_bits = draw_number(chance, 0, 6);
  /* what the threads use on average, about */
  size_t fair = plan->threads * plan->kept * plan->most_bytes / 4 + 2 * plan->most_bytes;
  if (one_in(chance, 3))
    plan->limit = fair / plan->pools;
  if (one_in(chance, 4))
    plan->hold = 1 + (unsigned long)clpt_chance_below(chance, fair);
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

/* The program of a seed. The backend is the seed's, in turn. */
static crowd_plan draw(unsigned seed)
{
  clpt_chance chance = clpt_chance_seed(seed);
  crowd_plan plan = {
      .seed = seed, .backend = seed % CROWD_BACKENDS, .is_on_arena = seed / CROWD_BACKENDS % 2};
  plan.phases = draw_number(&chance, 1, 3);
  plan.pools = draw_number(&chance, 1, CROWD_POOLS);
  plan.threads = draw_number(&chance, 2, CROWD_THREADS);
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
  plan.is_wave = plan.sizes == CROWD_ONE_SIZE && one_in(&chance, 2);
  plan.is_wave = plan.is_wave && plan.kept >= 16 && !plan.faults;
  if (plan.is_wave) { /* whose peak of active bytes is known */
    plan.uses_zero = plan.hands_over = plan.limit = plan.capacity = 0;
    plan.calls &= ~(1ul << CROWD_reset_peaks | 1ul << CROWD_set_limit);
  }
  if (plan.backend != CROWD_LATE)
    return plan;
  plan.streams = draw_number(&chance, 1, CROWD_STREAMS);
  plan.freeing = draw_number(&chance, 0, CLPT_LATE_FREEINGS - 1);
  plan.has_home = one_in(&chance, 2);
  return plan;
}

static void run(crowd_plan plan)
{
  printf("program %lu\n", plan.seed);
  fflush(stdout); /* so that it is there whatever ends the process */
  const char *wrong = crowd_run(&plan);
  ck_assert_msg(wrong == NULL, "%s\nagain: CLPT_SEED=%lu tests/model/test_crowd", wrong, plan.seed);
}

START_TEST(blocks_and_figures_of_a_crowd_are_right)
{
  bool is_the_same = getenv("CLPT_SEED") != NULL && getenv("CLPT_PROGRAMS") == NULL;
  run(draw(clpt_number_in("CLPT_SEED", 1) + (is_the_same ? 0 : (unsigned)_i)));
}
END_TEST

/* --- what the process takes --- */

static size_t resident_bytes(void)
{
  unsigned long pages = 0, resident = 0;
  (void)malloc_trim(0);
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%lu %lu", &pages, &resident), 2);
  (void)fclose(file);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* Each round runs a short program of each kind. */
START_TEST(a_process_takes_no_more_once_it_is_warm)
{
  time_t last = time(NULL) + (time_t)clpt_number_in("CLPT_STRESS_SECONDS", 0);
  size_t warm_bytes = 0;
  (void)mallopt(M_ARENA_MAX, 1); /* otherwise threads get some of their own now and then */
  for (unsigned round = 0; round < WARM_UPS + 2 || time(NULL) < last; round++) {
    for (unsigned seed = 1; seed <= 2 * CROWD_BACKENDS; seed++) {
      crowd_plan plan = draw(seed + round % WARM_UPS * 2 * CROWD_BACKENDS);
      plan.steps /= 8;
      run(plan);
    }
    if (round < WARM_UPS)
      warm_bytes = resident_bytes();
    else if (!CLPT_SANITIZED && !RUNNING_ON_VALGRIND)
      ck_assert_uint_lt(resident_bytes(), warm_bytes + SLACK_BYTES);
  }
}
END_TEST

CLPT_MAIN("crowd", clpt_run)
{
  TCase *tests = clpt_case(suite, "programs"), *soak = clpt_case(suite, "soak");
  int usual = getenv("CLPT_SEED")     ? TIMES
              : clpt_is_on_valgrind() ? VALGRIND_PROGRAMS
              : CLPT_SANITIZED        ? SANITIZED_PROGRAMS
                                      : PROGRAMS;
  tcase_set_timeout(tests, HANG_SECONDS);
  tcase_add_loop_test(tests, blocks_and_figures_of_a_crowd_are_right, 0,
                      (int)clpt_number_in("CLPT_PROGRAMS", (unsigned)usual));
  tcase_set_timeout(soak, HANG_SECONDS + clpt_number_in("CLPT_STRESS_SECONDS", 0));
  tcase_add_test(soak, a_process_takes_no_more_once_it_is_warm);
}
