/* SPDX-License-Identifier: MIT */
/* Random programs on random pools: whatever a program does, all is as the model says. */
#include "model/trial.h"
#include "support/suite.h"

enum { PROGRAMS = 4000, PARTS = 4 };

START_TEST(every_program_holds)
{
  unsigned count = clpt_iterations(PROGRAMS) / PARTS + 1;
  model_tally tally = model_try(1 + 1000000 * (unsigned)_i, count, model_simply);
  printf("%lu programs, %lu calls, %lu reads on streams; held blocks: %lu served, %lu freed\n",
         tally.programs, tally.calls, tally.reads, tally.served, tally.followed);
}
END_TEST

CLPT_MAIN("model: random programs", clpt_run)
{
  TCase *tests = clpt_case(suite, "programs");
  tcase_add_loop_test(tests, every_program_holds, 0, PARTS);
}
