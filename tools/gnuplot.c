/* SPDX-License-Identifier: MIT */
/* gnuplot as a child: started where PATH finds it, with a pipe to it and one from it. */
#include "gnuplot.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int cannot_start(int code)
{
  if (code == ENOENT)
    clpi_complain("cannot plot: there is no gnuplot in PATH (Debian: gnuplot-nox)");
  else
    clpi_complain("cannot start gnuplot: %s", strerror(code));
  return CLPI_EXIT_FAILED;
}

static int spawn(int input, int output, pid_t *process)
{
  char *const arguments[] = {"gnuplot", "--default-settings", "-", NULL};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  int code = posix_spawnp(process, arguments[0], &files, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  return code;
}

static void close_pipe(const int ends[2])
{
  close(ends[0]);
  close(ends[1]);
}

int clpi_gnuplot_start(clpi_gnuplot *gnuplot)
{
  int to[2], from[2], code = 0;
  if (pipe2(to, O_CLOEXEC))
    return cannot_start(errno);
  if (pipe2(from, O_CLOEXEC)) {
    code = errno;
    goto close_to;
  }
  gnuplot->picture = fdopen(from[0], "r");
  if (!gnuplot->picture) {
    code = errno;
    goto close_from;
  }
  code = spawn(to[0], from[1], &gnuplot->process);
  close(to[0]);
  close(from[1]);
  gnuplot->input = to[1];
  if (!code)
    return CLPI_EXIT_SUCCESS;
  close(to[1]);
  fclose(gnuplot->picture);
  return cannot_start(code);

close_from:
  close_pipe(from);
close_to:
  close_pipe(to);
  return cannot_start(code);
}

/* A gnuplot that ended early is told by its exit status, and must not end this program. */
static void send_script(const clpi_gnuplot *gnuplot, const char *script)
{
  struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
  size_t left = strlen(script);
  sigaction(SIGPIPE, &ignored, &before);
  while (left > 0) {
    ssize_t bytes = write(gnuplot->input, script, left);
    if (bytes < 0 && errno != EINTR)
      break;
    left -= bytes > 0 ? (size_t)bytes : 0;
    script += bytes > 0 ? bytes : 0;
  }
  sigaction(SIGPIPE, &before, NULL);
}

/* Returns whether there was any. */
static bool copy_picture(FILE *picture, FILE *output)
{
  char buffer[4096];
  size_t bytes;
  bool is_any = false;
  while ((bytes = fread(buffer, 1, sizeof(buffer), picture)) > 0) {
    is_any = true;
    fwrite(buffer, 1, bytes, output);
  }
  return is_any;
}

/* The child's status, as waitpid gives it. */
static int end(clpi_gnuplot *gnuplot)
{
  int status = 0;
  fclose(gnuplot->picture);
  while (waitpid(gnuplot->process, &status, 0) < 0 && errno == EINTR)
    continue;
  return status;
}

int clpi_gnuplot_draw(clpi_gnuplot *gnuplot, const char *script, FILE *output)
{
  send_script(gnuplot, script);
  close(gnuplot->input);
  bool is_any = copy_picture(gnuplot->picture, output);
  int status = end(gnuplot);
  if (WIFSIGNALED(status))
    clpi_complain("gnuplot could not draw: it was ended by signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status))
    clpi_complain("gnuplot could not draw: it ended with status %d", WEXITSTATUS(status));
  else if (!is_any)
    clpi_complain("gnuplot drew nothing");
  else
    return CLPI_EXIT_SUCCESS;
  return CLPI_EXIT_FAILED;
}

void clpi_gnuplot_discard(clpi_gnuplot *gnuplot)
{
  close(gnuplot->input);
  (void)end(gnuplot);
}
