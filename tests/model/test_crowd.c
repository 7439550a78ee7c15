/* SPDX-License-Identifier: MIT */
/* Programs of several threads, drawn by chance, which count for themselves what they have.
 *
 *     tests/model/test_crowd                      the programs of make check
 *     CLPT_PROGRAMS=1000 tests/model/test_crowd   so many of them
 *     CLPT_SEED=7 tests/model/test_crowd          program 7, 20 times: threads meet in other ways
 *     CLPT_SEED=7 CLPT_PROGRAMS=100 ...           programs 7 to 106
 */
#include "crowd.h"
#include "crowd_peaks.h"
#include "known_faults.h"
#include "support/instrumented.h"
#include "support/suite.h"

#include <stdio.h>

enum { PROGRAMS = 48, SANITIZED_PROGRAMS = 24, VALGRIND_PROGRAMS = 12, TIMES = 20 };

/* A program takes a second or two at most. A broken one may go in circles, and so may many. */
enum { HANG_SECONDS = 60 };

/* --- programs --- */

static unsigned number_of(const char *variable, unsigned otherwise)
{
  const char *text = getenv(variable);

  return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static unsigned default_programs(void)
{
  if (clpt_is_on_valgrind())
    return VALGRIND_PROGRAMS;
  return CLPT_SANITIZED ? SANITIZED_PROGRAMS : PROGRAMS;
}

/* The program's line is written first, so that it is there whatever ends the process. */
static void run_program(unsigned seed)
{
  crowd_plan plan = crowd_plan_draw(seed);
  double most_taken;
  const char *wrong;
  char text[1024];

  crowd_plan_print(&plan, text, sizeof(text));
  printf("program %u: %s\n", seed, text);
  fflush(stdout);
  wrong = crowd_run(&plan, &most_taken);
  ck_assert_msg(wrong == NULL, "%s\nprogram %u: %s\nagain: CLPT_SEED=%u tests/model/test_crowd",
                wrong, seed, text, seed);
  if (most_taken > 0)
    printf("program %u: took %.2f times the most in use\n", seed, most_taken);
}

START_TEST(blocks_and_figures_of_a_crowd_are_right)
{
  unsigned seed = number_of("CLPT_SEED", 1);

  run_program(getenv("CLPT_PROGRAMS") == NULL && getenv("CLPT_SEED") != NULL ? seed
                                                                             : seed + (unsigned)_i);
}
END_TEST

/* --- peaks --- */

static const char advice[] = "the known fault is not seen any more: set "
                             "CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT to 1 in "
                             "tests/model/known_faults.h, which has peaks checked";

static bool is_within_7_percent(const crowd_peaks *peaks)
{
  return peaks->told_active >= peaks->least_active - peaks->least_active / 100 * 7 &&
         peaks->told_active <= peaks->most_active + peaks->most_active / 100 * 7;
}

START_TEST(peak_of_threads_by_turns)
{
  crowd_peaks peaks = crowd_peaks_by_turns();

  printf("peak of two threads by turns: %zu bytes, told %zu\n", peaks.least_active,
         peaks.told_active);
  ck_assert_uint_ge(peaks.told_managed, peaks.least_capacity);
  if (CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT)
    ck_assert_msg(is_within_7_percent(&peaks), "threads had %zu bytes, the pool says %zu",
                  peaks.least_active, peaks.told_active);
  else
    ck_assert_msg(!is_within_7_percent(&peaks), "%s", advice);
}
END_TEST

static const struct {
  unsigned threads, most_blocks, rounds;
} crowds[] = {{1, 16, 4000}, {2, 16, 4000}, {4, 16, 2000}, {8, 16, 1000}, {8, 64, 300}};
enum { CROWDS = sizeof(crowds) / sizeof(crowds[0]) };

/* What is taken from the device is written, and not bounded yet. */
START_TEST(peaks_of_threads_at_once)
{
  unsigned threads = crowds[_i].threads;
  crowd_peaks peaks =
      crowd_peaks_at_once(threads, crowds[_i].most_blocks, clpt_iterations(crowds[_i].rounds));

  printf("%u threads of 1 to %u blocks: peak %zu to %zu bytes, told %zu; "
         "took %.2f times the most in use\n",
         threads, crowds[_i].most_blocks, peaks.least_active, peaks.most_active, peaks.told_active,
         (double)peaks.told_managed / (double)peaks.least_capacity);
  ck_assert_uint_ge(peaks.told_managed, peaks.least_capacity);
  if (threads == 1)
    ck_assert_uint_eq(peaks.told_active, peaks.least_active);
  if (CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT)
    ck_assert_msg(is_within_7_percent(&peaks), "threads had %zu to %zu bytes, the pool says %zu",
                  peaks.least_active, peaks.most_active, peaks.told_active);
}
END_TEST

CLPT_MAIN("crowd", clpt_run)
{
  unsigned otherwise = getenv("CLPT_SEED") != NULL ? TIMES : default_programs();
  TCase *tests = clpt_case(suite, "programs");

  tcase_set_timeout(tests, HANG_SECONDS);
  tcase_add_loop_test(tests, blocks_and_figures_of_a_crowd_are_right, 0,
                      (int)number_of("CLPT_PROGRAMS", otherwise));
  tests = clpt_case(suite, "peaks");
  tcase_add_test(tests, peak_of_threads_by_turns);
  tcase_add_loop_test(tests, peaks_of_threads_at_once, 0, CROWDS);
}
