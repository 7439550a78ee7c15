/* SPDX-License-Identifier: MIT */
/* Running one Check suite as a program. */
#include "suite.h"

#include "instrumented.h"

#include <unistd.h>

#if CLPT_SANITIZED
/* What a sanitizer starts with: host memory that is not there shall be NULL, as without it. */
#define DEFAULT_OPTIONS "allocator_may_return_null=1"
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
  return DEFAULT_OPTIONS;
}

/* Children of threads may start threads, too. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
  return DEFAULT_OPTIONS ":die_after_fork=0";
}
#endif

enum { HANG_SECONDS = 300, SANITIZER_FACTOR = 8, VALGRIND_FACTOR = 50, MOST_SUITES = 16 };

TCase *clpt_case(Suite *suite, const char *name)
{
  TCase *tests = tcase_create(name);
  tcase_set_timeout(tests, HANG_SECONDS);
  suite_add_tcase(suite, tests);
  return tests;
}

/* The suites of a program's other files. */
static struct {
  const char *name;
  void (*fill)(Suite *suite);
} others[MOST_SUITES];
static size_t other_count;

void clpt_add_suite(const char *name, void (*fill)(Suite *suite))
{
  if (other_count == MOST_SUITES)
    abort();
  others[other_count].name = name;
  others[other_count++].fill = fill;
}

/* A program that tests nothing is no success. */
static int run(Suite *suite, enum fork_status forks)
{
  SRunner *runner = srunner_create(suite);
  for (size_t i = 0; i < other_count; i++) {
    Suite *other = suite_create(others[i].name);
    others[i].fill(other);
    srunner_add_suite(runner, other);
  }
  srunner_set_fork_status(runner, forks);
  srunner_run_all(runner, CK_ENV);
  bool ok = srunner_ntests_run(runner) > 0 && srunner_ntests_failed(runner) == 0;
  srunner_free(runner);
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int clpt_run(Suite *suite)
{
  return run(suite, CK_FORK_GETENV);
}

int clpt_run_apart(Suite *suite)
{
  return run(suite, CK_FORK);
}

void clpt_leave(int status)
{
#ifdef CLPT_COVERAGE
  extern void __gcov_dump(void);
  __gcov_dump();
#endif
  _exit(status);
}

bool clpt_is_on_valgrind(void)
{
  return RUNNING_ON_VALGRIND;
}

unsigned clpt_iterations(unsigned wanted)
{
  unsigned factor = clpt_is_on_valgrind() ? VALGRIND_FACTOR : CLPT_SANITIZED ? SANITIZER_FACTOR : 1;
  return wanted / factor > 0 ? wanted / factor : 1;
}
