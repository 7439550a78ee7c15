/* SPDX-License-Identifier: MIT */
/* What a terminal sends reaches the child by itself, so we only outlive it; what is sent to us
 * alone is passed on. */
#include "child.h"

#include "program.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_FOUND = 127, NOT_RUN = 126 };

static volatile sig_atomic_t child; /* 0: none */

static void pass_on(int number)
{
  int code = errno;
  if (child > 0)
    (void)kill((pid_t)child, number);
  errno = code;
}

/* Sets an action where the signal is not ignored already, as under nohup; whether it was not. */
static bool set_action(int number, void (*action)(int))
{
  struct sigaction before;
  const struct sigaction wanted = {.sa_handler = action}; /* no restart: waitpid is interrupted */
  if (sigaction(number, NULL, &before) || before.sa_handler == SIG_IGN)
    return false;
  return sigaction(number, &wanted, NULL) == 0;
}

static int spawn(char **argv, const sigset_t *ignored, const sigset_t *mask, pid_t *process)
{
  posix_spawnattr_t attributes;
  int code = posix_spawnattr_init(&attributes);
  if (code)
    return code;
  (void)posix_spawnattr_setsigdefault(&attributes, ignored);
  (void)posix_spawnattr_setsigmask(&attributes, mask);
  (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  code = posix_spawnp(process, argv[0], NULL, &attributes, argv, environ);
  (void)posix_spawnattr_destroy(&attributes);
  return code;
}

int clpi_child_run(char **argv, int *status)
{
  static const int both_get[] = {SIGINT, SIGQUIT}, for_us[] = {SIGTERM, SIGHUP};
  sigset_t held, before, ignored;
  pid_t process = 0;
  sigemptyset(&ignored);
  sigemptyset(&held);
  for (size_t i = 0; i < 2; i++) {
    sigaddset(&held, for_us[i]);
    if (set_action(both_get[i], SIG_IGN))
      sigaddset(&ignored, both_get[i]);
  }
  sigprocmask(SIG_BLOCK, &held, &before); /* until it is known whom to pass them on to */
  for (size_t i = 0; i < 2; i++)
    (void)set_action(for_us[i], pass_on);
  int code = spawn(argv, &ignored, &before, &process);
  child = code ? 0 : process;
  sigprocmask(SIG_SETMASK, &before, NULL);
  if (code) {
    clpi_complain("cannot run %s: %s", argv[0], strerror(code));
    return code == ENOENT ? NOT_FOUND : NOT_RUN;
  }
  while (waitpid(process, status, 0) < 0 && errno == EINTR)
    ;
  child = 0;
  return CLPI_EXIT_SUCCESS;
}

int clpi_child_end_likewise(int status)
{
  const struct rlimit no_core = {0, 0};
  if (WIFEXITED(status))
    return WEXITSTATUS(status);
  int number = WTERMSIG(status);
  (void)setrlimit(RLIMIT_CORE, &no_core); /* the child's is the one of interest */
  (void)signal(number, SIG_DFL);
  (void)raise(number);
  return 128 + number;
}
