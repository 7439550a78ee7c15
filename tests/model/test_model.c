/* SPDX-License-Identifier: MIT */
/* Random programs on random pools: whatever a program does, all is as the model says. And the model
 * sees it when a device gets the order of its streams wrong. */
#include "model/trial.h"
#include "support/suite.h"

enum { PROGRAMS = 4000, PARTS = 4, SEEDS_OF_A_PART = 1000000 };

START_TEST(every_program_holds)
{
  static const model_trial trial = {model_draw, model_run_once, model_run_once};
  unsigned count = clpt_iterations(PROGRAMS) / PARTS + 1;
  if (model_has_choice() && _i > 0)
    return;
  model_tally tally = model_try(1 + SEEDS_OF_A_PART * (unsigned)_i, count, &trial);
  printf("%lu programs, %lu calls, %lu reads on streams; held blocks: %lu served, %lu freed; "
         "%lu blocks of loops\n",
         tally.programs, tally.calls, tally.reads, tally.served, tally.freed, tally.repeated);
  if (model_has_choice())
    return;
  ck_assert_uint_ge(tally.calls, 50 * tally.programs);
  ck_assert_uint_ge(tally.reads, 5 * tally.programs);
  ck_assert_uint_ge(tally.freed, tally.programs / 8);
  /* Under valgrind there are few programs, of which most may reuse nothing, and have no loop. */
  unsigned long enough = tally.programs < PROGRAMS / PARTS ? 0 : tally.programs;
  ck_assert_uint_ge(tally.served, 5 * enough);
  ck_assert_uint_ge(tally.repeated, enough);
}
END_TEST

/* Of 200 programs on a device that does not do what it says, some fail. */
START_TEST(a_device_that_gets_order_wrong_is_found)
{
  enum { TRIED = 200, FOUND = 5 };
  static model_program program;
  unsigned found = 0;
  for (unsigned seed = 1; seed <= TRIED && found < FOUND; seed++) {
    model_draw(&program, seed);
    program.config.device = MODEL_LATE;
    program.config.defect = (unsigned long)_i;
    found += !model_holds(&program);
  }
  ck_assert_uint_ge(found, FOUND);
}
END_TEST

CLPT_MAIN("model: random programs", clpt_run)
{
  TCase *programs = clpt_case(suite, "programs"), *defects = clpt_case(suite, "defects");
  tcase_add_loop_test(programs, every_program_holds, 0, PARTS);
  tcase_add_loop_test(defects, a_device_that_gets_order_wrong_is_found,
                      CLPT_LATE_STREAMS_DO_NOT_WAIT, CLPT_LATE_HOST_DOES_NOT_WAIT + 1);
}
