/* SPDX-License-Identifier: MIT */
/* The cases of tests/gpu on the fake driver. Then the program runs itself with each defect that the
 * fake can have: one of the cases must find it. */
#include "gpu/gpu.h"
#include "support/cuda_device.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFECT "CLPT_CUDA_DEFECT" /* the environment variable with its number */

static char **arguments_of_main;

/* One case calls CUDA inside of a host function, to see what the library makes of it. */
static void end_program(const char *what)
{
  if (strstr(what, "inside of a host function"))
    return;
  (void)fprintf(stderr, "fakecuda: %s\n", what);
  abort();
}

static void reset(void)
{
  fakecuda_reset();
  fakecuda_on_violation(end_program);
}

static void run_with_defect(const char *number)
{
  int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  setenv(DEFECT, number, 1);
  unsetenv("CK_RUN_CASE");
  execv(arguments_of_main[0], arguments_of_main);
  _exit(EXIT_SUCCESS);
}

START_TEST(a_defect_of_the_driver_is_found)
{
  char number[16];
  int status = 0;

  alarm(0); /* the other program has one */
  (void)snprintf(number, sizeof(number), "%d", _i);
  pid_t process = fork();
  if (process == 0)
    run_with_defect(number);
  ck_assert_int_eq(waitpid(process, &status, 0), process);
  ck_assert_msg(!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS,
                "no case finds defect %d of fakecuda.h", _i);
}
END_TEST

static void add_defects(Suite *suite)
{
  TCase *tests = clpt_case(suite, "defects");
  tcase_add_loop_test(tests, a_defect_of_the_driver_is_found, FAKECUDA_NO_DEFECT + 1,
                      FAKECUDA_DEFECTS);
}

int main(int argument_count, char **arguments)
{
  const char *defect = getenv(DEFECT);

  arguments_of_main = arguments;
  clpt_cuda_use_fake();
  if (defect)
    fakecuda_set_defect((fakecuda_defect)atoi(defect));
  return clpt_gpu_main(argument_count, arguments, getenv("CLPOOL_CUDA_LIBRARY"),
                       defect ? NULL : add_defects, reset);
}
