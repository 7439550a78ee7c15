/* SPDX-License-Identifier: MIT */
/* Each call of the device and each allocation of host memory fails once in a program: the calls of
 * the library fail as their headers say or do without, all figures stay right, and in the end all
 * memory is back, that of the host too. */
#include "model/trial.h"
#include "support/failmalloc.h"
#include "support/suite.h"

enum { PROGRAMS = 150, CALLS = 40 };

/* A short program in which nothing else fails. */
static void draw_short(model_program *program, unsigned seed)
{
  size_t kept = 0;
  model_draw(program, seed);
  for (size_t i = 0; i < program->count && kept < CALLS; i++)
    if (program->calls[i].verb != MODEL_fail && program->calls[i].verb != MODEL_heal)
      program->calls[kept++] = program->calls[i];
  program->count = kept;
}

/* One on a device whose calls can fail. */
static void draw_short_on_fake(model_program *program, unsigned seed)
{
  draw_short(program, seed);
  if (program->config.device == MODEL_HOST || program->config.device == MODEL_SIMULATED)
    program->config.device = MODEL_PLAIN;
}

/* Host memory counts and fails inside the library, not in what the device or a callback does. A
 * failure that stays ends with the call of the library that met it. */
static bool host_has_failed;

static void count_in_library(bool is_inside)
{
  clpt_host_count(false);
  if (!is_inside && clpt_host_failed()) {
    host_has_failed = true;
    clpt_host_start(CLPT_HOST_COUNTS, 0);
  }
  clpt_host_count(is_inside);
}

static void do_not_count(bool is_outside)
{
  clpt_host_count(!is_outside);
}

static unsigned long device_calls(bool is_memory)
{
  unsigned long sum = 0;
  for (size_t call = 0; call < CLPT_LATE_CALLS; call++)
    if (model_failing_calls(is_memory) & 1u << call)
      sum += model_last_run()->device.calls[call];
  return sum;
}

/* Counts what the library allocates, and fails the allocation that the settings name. */
static unsigned long run_counted(model_program *program)
{
  clpt_host_failure failure = CLPT_HOST_COUNTS;
  if (program->config.nth_host)
    failure = program->config.nth_stays ? CLPT_HOST_STAYS_OUT : CLPT_HOST_FAILS_ONCE;
  (void)clp_set_last_error(CLP_BUSY, 0,
                           "from before"); /* its text is the thread's, until that ends */
  clpt_host_start(failure, program->config.nth_host - 1);
  clpt_host_count(false);
  model_in_library = count_in_library;
  model_outside = do_not_count;
  host_has_failed = false;
  model_run_once(program);
  model_in_library = NULL;
  model_outside = NULL;
  return clpt_host_stop();
}

static void run_and_compare(model_program *program, long live_before)
{
  (void)run_counted(program);
  model_count_fault(host_has_failed);
  if (clpt_host_live() > live_before && !model_last_run()->losses)
    model_fail(model_last_run(), "the host", 0, "memory of the host did not come back");
}

/* The first run allocates memory that the library keeps for the thread; later runs must add none.
 * Each call fails with an error; those for memory for want of it, once and from then on. */
static void fail_each_device_call(model_program *program)
{
  enum { ERROR, LACK, LASTING_LACK, WAYS };
  (void)run_counted(program);
  unsigned long calls[] = {device_calls(false), device_calls(true), device_calls(true)};
  long live = clpt_host_live();
  for (unsigned way = ERROR; way < WAYS; way++)
    for (unsigned long nth = 1; nth <= calls[way]; nth++) {
      program->config.nth_device = nth;
      program->config.nth_is_memory = way != ERROR;
      program->config.nth_stays = way == LASTING_LACK;
      run_and_compare(program, live);
    }
}

static void fail_each_host_call(model_program *program)
{
  unsigned long calls = run_counted(program);
  long live = clpt_host_live();
  for (unsigned long nth = 0; nth < 2 * calls; nth++) {
    program->config.nth_host = 1 + nth / 2;
    program->config.nth_stays = nth % 2;
    run_and_compare(program, live);
  }
}

static void fail_one_call(model_program *program)
{
  model_program first = *program;
  first.config.nth_host = first.config.nth_device = 0;
  (void)run_counted(&first);
  run_and_compare(program, clpt_host_live());
}

/* Not all failures come: the device does not fail where a pool ends, whose blocks would be lost. */
static void try_all(const model_trial *trial)
{
  model_tally tally = model_try(1, clpt_iterations(PROGRAMS) + 1, trial);
  printf("%lu programs, run %lu times, with %lu failures\n", tally.programs, tally.runs,
         tally.faults);
  if (!model_has_choice())
    ck_assert_uint_ge(tally.faults, (tally.runs - tally.programs) / 3);
}

START_TEST(each_call_of_the_device_fails)
{
  try_all(&(model_trial){draw_short_on_fake, fail_each_device_call, fail_one_call});
}
END_TEST

START_TEST(each_allocation_of_host_memory_fails)
{
  try_all(&(model_trial){draw_short, fail_each_host_call, fail_one_call});
}
END_TEST

CLPT_MAIN("model: the n-th failure", clpt_run)
{
  TCase *device = clpt_case(suite, "device"), *host = clpt_case(suite, "host");
  tcase_add_test(device, each_call_of_the_device_fails);
  tcase_add_test(host, each_allocation_of_host_memory_fails);
}
