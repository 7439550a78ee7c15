/* SPDX-License-Identifier: MIT */
/* Programs of several threads, drawn by chance, which count for themselves what they have.
 *
 *     tests/model/test_crowd                      the programs of make check
 *     CLPT_PROGRAMS=1000 tests/model/test_crowd   so many of them
 *     CLPT_SEED=7 tests/model/test_crowd          program 7, 20 times: threads meet in other ways
 *     CLPT_SEED=7 CLPT_PROGRAMS=100 ...           programs 7 to 106
 */
#include "crowd.h"
#include "support/instrumented.h"
#include "support/suite.h"

#include <stdio.h>

enum { PROGRAMS = 48, SANITIZED_PROGRAMS = 24, VALGRIND_PROGRAMS = 12, TIMES = 20 };

/* A program takes a second or two at most. A broken one may go in circles, and so may many. */
enum { HANG_SECONDS = 60 };

static unsigned number_of(const char *variable, unsigned otherwise)
{
  const char *text = getenv(variable);

  return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static unsigned default_programs(void)
{
  if (getenv("CLPT_SEED") != NULL)
    return TIMES;
  return clpt_is_on_valgrind() ? VALGRIND_PROGRAMS : CLPT_SANITIZED ? SANITIZED_PROGRAMS : PROGRAMS;
}

START_TEST(blocks_and_figures_of_a_crowd_are_right)
{
  bool is_the_same = getenv("CLPT_SEED") != NULL && getenv("CLPT_PROGRAMS") == NULL;
  unsigned seed = number_of("CLPT_SEED", 1) + (is_the_same ? 0 : (unsigned)_i);
  crowd_plan plan = crowd_plan_draw(seed);
  const char *wrong;
  char text[512];

  crowd_plan_print(&plan, text, sizeof(text));
  printf("program: %s\n", text);
  fflush(stdout); /* so that it is there whatever ends the process */
  wrong = crowd_run(&plan);
  ck_assert_msg(wrong == NULL, "%s\nprogram: %s\nagain: CLPT_SEED=%u tests/model/test_crowd", wrong,
                text, seed);
}
END_TEST

CLPT_MAIN("crowd", clpt_run)
{
  TCase *tests = clpt_case(suite, "programs");

  tcase_set_timeout(tests, HANG_SECONDS);
  tcase_add_loop_test(tests, blocks_and_figures_of_a_crowd_are_right, 0,
                      (int)number_of("CLPT_PROGRAMS", default_programs()));
}
