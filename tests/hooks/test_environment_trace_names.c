/* SPDX-License-Identifier: MIT */
/* CLPOOL_TRACE: names of files, and those that are refused. */
#include "support/cuda_device.h"
#include "support/traced_process.h"

#include <clpool/cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

START_TEST(process_ids_and_percent_signs)
{
  char name[64];
  pid_t id = traced_run("%%%p%%p-%p.csv", traced_use_one_pool);
  snprintf(name, sizeof(name), "%%%ld%%p-%ld.csv", (long)id, (long)id);
  traced_assert_trace(name, 3, 3);
  ck_assert_uint_eq(traced_files_in_folder(), 1);
}
END_TEST

static void use_relative_name(void)
{
  traced_require(chdir(traced_folder) == 0);
  setenv(TRACED_VARIABLE, "relative", 1);
  traced_use_one_pool();
}

START_TEST(relative_names)
{
  traced_run("unused", use_relative_name);
  ck_assert(traced_exists("relative"));
  ck_assert(!traced_exists("unused"));
}
END_TEST

static const struct refused {
  const char *value;
  clp_status status;
  const char *message;
} refused[] = {
    {"", CLP_INVALID_ARGUMENT,
     TRACED_VARIABLE " is \"\"; expected the name of a file, found an empty text"},
    {"a%", CLP_INVALID_ARGUMENT,
     TRACED_VARIABLE
     " is \"a%\"; expected the name of a file, found a percent sign that is not in %p, for "
     "the process id, or %%, for itself"},
    {"%x.csv", CLP_INVALID_ARGUMENT,
     TRACED_VARIABLE " is \"%x.csv\"; expected the name of a file, found a percent sign"},
    {"%P", CLP_INVALID_ARGUMENT,
     TRACED_VARIABLE " is \"%P\"; expected the name of a file, found a percent sign"},
    {"/no/such/folder/trace.csv", CLP_IO_ERROR,
     TRACED_VARIABLE ": /no/such/folder/trace.csv: No such file or directory"},
    {"/", CLP_IO_ERROR, TRACED_VARIABLE ": /: Is a directory"},
};
static const struct refused *expected;

/* Again and again, until the value is a good one. */
static void be_refused(void)
{
  clp_pool *none = (clp_pool *)1;
  traced_require(clp_simulated_allocator_create(0, &traced_allocator) == CLP_SUCCESS);
  setenv(TRACED_VARIABLE, expected->value, 1);
  for (int i = 0; i < 2; i++) {
    traced_require(clp_pool_create(traced_allocator, NULL, &none) == expected->status);
    traced_require(!none);
    traced_require(strstr(clp_last_error()->message, expected->message));
    traced_require((clp_last_error()->native_code != 0) == (expected->status == CLP_IO_ERROR));
    clp_cuda_async_pool *async;
    traced_require(clp_cuda_async_pool_create(NULL, &async) == expected->status && !async);
  }
  clp_allocator_release(traced_allocator);
  setenv(TRACED_VARIABLE, traced_path_of("good.csv"), 1);
  traced_use_one_pool();
}

START_TEST(names_that_are_refused)
{
  expected = &refused[_i];
  traced_run("unused", be_refused);
  traced_assert_trace("good.csv", 3, 3);
}
END_TEST

static void use_a_long_name(void)
{
  static char name[2 * PATH_MAX];
  memset(name, 'n', sizeof(name) - 1);
  traced_require(clp_simulated_allocator_create(0, &traced_allocator) == CLP_SUCCESS);
  setenv(TRACED_VARIABLE, name, 1);
  memcpy(name + sizeof(name) - sizeof("end"), "end", sizeof("end"));
  for (int i = 0; i < 2; i++) {
    setenv(TRACED_VARIABLE, name, 1);
    traced_require(clp_pool_create(traced_allocator, NULL, &traced_pool) == CLP_INVALID_ARGUMENT);
    traced_require(strncmp(clp_last_error()->message, TRACED_VARIABLE " is \"...nnn", 20) == 0);
    traced_require(
        strstr(clp_last_error()->message, i ? "nnnend%\"; expected the name of a file, found a "
                                              "percent sign that is not in %p, for the process "
                                              "id, or %%, for itself"
                                            : "nnnend\"; expected the name of a file, found a "
                                              "longer one than there can be"));
    memcpy(name, name + sizeof(name) - 600, 600);
    strcpy(name + 599, "%");
  }
  clp_allocator_release(traced_allocator);
}

START_TEST(long_names_are_refused)
{
  traced_run("unused", use_a_long_name);
}
END_TEST

/* --- pipes --- */

static void be_refused_a_pipe(void)
{
  clp_pool *none;
  traced_require(mkfifo(traced_path_of("pipe"), 0600) == 0);
  traced_require(clp_simulated_allocator_create(0, &traced_allocator) == CLP_SUCCESS);
  traced_require(clp_pool_create(traced_allocator, NULL, &none) == CLP_IO_ERROR && !none);
  traced_require(clp_last_error()->native_code == ENXIO);
  traced_require(strstr(clp_last_error()->message, "/pipe: a pipe that no process reads"));
  clp_allocator_release(traced_allocator);
}

START_TEST(a_pipe_without_a_reader_is_not_waited_for)
{
  traced_run("pipe", be_refused_a_pipe);
}
END_TEST

/* More than a pipe takes at once, so that writing waits for the reader. */
static void write_into_a_pipe(void)
{
  enum { ROWS = 5000 };
  traced_make_pool();
  for (int i = 0; i < ROWS / 2; i++) {
    traced_allocate(1, 100);
    traced_release(1);
  }
  traced_end_pool();
}

START_TEST(a_pipe_with_a_reader_gets_all)
{
  char text[4096];
  size_t lines = 0;
  ck_assert_int_eq(mkfifo(traced_path_of("pipe"), 0600), 0);
  int end = open(traced_path_of("pipe"), O_RDONLY | O_NONBLOCK);
  ck_assert_int_ge(end, 0);
  setenv(TRACED_VARIABLE, traced_path_of("pipe"), 1);
  pid_t id = traced_spawn(write_into_a_pipe);
  unsetenv(TRACED_VARIABLE);
  for (ssize_t got = -1; got != 0 || lines == 0;) {
    got = read(end, text, sizeof(text));
    for (ssize_t i = 0; i < got; i++)
      lines += text[i] == '\n';
  }
  ck_assert(traced_succeeds(id));
  ck_assert_uint_eq(lines, 1 + 5000);
  close(end);
}
END_TEST

CLPT_MAIN("trace environment: names", clpt_run_apart)
{
  clpt_cuda_use_fake();
  TCase *tests = traced_case(suite, "names");
  tcase_add_test(tests, process_ids_and_percent_signs);
  tcase_add_test(tests, relative_names);
  tcase_add_loop_test(tests, names_that_are_refused, 0, sizeof(refused) / sizeof(refused[0]));
  tcase_add_test(tests, long_names_are_refused);
  tcase_add_test(tests, a_pipe_without_a_reader_is_not_waited_for);
  tcase_add_test(tests, a_pipe_with_a_reader_gets_all);
}
