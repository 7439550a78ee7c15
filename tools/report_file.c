/* SPDX-License-Identifier: MIT */
/* A temporary file beside the wanted one, renamed at the end. */
#include "report_file.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct clpi_report_file {
  FILE *stream;
  char *path;      /* as it was named, for complaints */
  char *target;    /* what it leads to; NULL for what is written directly */
  char *temporary; /* likewise */
};

/* What a signal that ends the program removes first: one name for each output. */
enum { MOST_FILES = 2 };
static char *volatile unfinished[MOST_FILES];
static const int ending_signals[] = {SIGHUP, SIGINT, SIGPIPE, SIGTERM};

static void remove_unfinished(int signal_number)
{
  for (int i = 0; i < MOST_FILES; i++)
    if (unfinished[i])
      unlink(unfinished[i]);
  raise(signal_number); /* by default again: SA_RESETHAND */
}

/* A signal that is ignored, as nohup does, stays so. */
static void catch_signals(void)
{
  struct sigaction removal = {.sa_handler = remove_unfinished, .sa_flags = (int)SA_RESETHAND},
                   before;
  for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
    if (sigaction(ending_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(ending_signals[i], &removal, NULL);
}

static void replace_unfinished(char *old, char *new)
{
  for (int i = 0; i < MOST_FILES; i++) {
    if (unfinished[i] == old) {
      unfinished[i] = new;
      return;
    }
  }
}

static int cannot_write(const char *path, int code)
{
  clpi_complain("cannot write to %s: %s", path, strerror(code ? code : EIO));
  return CLPI_EXIT_FAILED;
}

/* A new file has the rights that the process gives new files; one that is replaced, its own. */
static mode_t rights_for(const struct stat *replaced)
{
  if (replaced)
    return replaced->st_mode & 0777;
  mode_t masked = umask(0);
  umask(masked);
  return 0666 & ~masked;
}

/* Makes the temporary file beside `file->target` and opens it. Returns errno, or 0. */
static int open_temporary(clpi_report_file *file, const struct stat *replaced)
{
  if (replaced && access(file->target, W_OK))
    return errno;
  if (asprintf(&file->temporary, "%s.XXXXXX", file->target) < 0) {
    file->temporary = NULL;
    return ENOMEM;
  }
  int descriptor = mkostemp(file->temporary, O_CLOEXEC);
  if (descriptor < 0) {
    int code = errno;
    free(file->temporary);
    file->temporary = NULL;
    return code;
  }
  catch_signals();
  replace_unfinished(NULL, file->temporary);
  file->stream = fchmod(descriptor, rights_for(replaced)) ? NULL : fdopen(descriptor, "w");
  if (file->stream)
    return 0;
  int code = errno;
  close(descriptor);
  return code;
}

/* Opens what `path` leads to, through links. Returns errno, or 0. */
static int open_path(clpi_report_file *file, const char *path)
{
  struct stat found;
  bool exists = stat(path, &found) == 0;
  if (!exists && errno != ENOENT)
    return errno;
  if (exists && S_ISDIR(found.st_mode))
    return EISDIR;
  if (exists && !S_ISREG(found.st_mode)) {
    file->stream = fopen(path, "we");
    return file->stream ? 0 : errno;
  }
  file->target = exists ? realpath(path, NULL) : strdup(path);
  return file->target ? open_temporary(file, exists ? &found : NULL) : errno;
}

static void end(clpi_report_file *file)
{
  if (file->temporary) {
    unlink(file->temporary);
    replace_unfinished(file->temporary, NULL);
  }
  free(file->temporary);
  free(file->target);
  free(file->path);
  free(file);
}

int clpi_report_file_create(const char *path, clpi_report_file **out)
{
  *out = NULL;
  bool is_stdout = strcmp(path, "-") == 0;
  clpi_report_file *file = calloc(1, sizeof(*file));
  if (!file)
    return cannot_write(path, ENOMEM);
  file->path = strdup(path);
  int code = file->path ? 0 : ENOMEM;
  if (is_stdout)
    file->stream = stdout;
  else if (!code)
    code = open_path(file, path);
  if (code) {
    end(file);
    return cannot_write(path, code);
  }
  *out = file;
  return CLPI_EXIT_SUCCESS;
}

FILE *clpi_report_file_stream(clpi_report_file *file)
{
  return file->stream;
}

/* Closes the stream; standard output is left to the end of the program. Returns errno, or 0. */
static int close_stream(clpi_report_file *file)
{
  if (file->stream == stdout)
    return 0;
  bool had_failed = ferror(file->stream);
  errno = 0;
  bool is_closed = fclose(file->stream) == 0;
  return is_closed && !had_failed ? 0 : errno ? errno : EIO;
}

int clpi_report_file_finish(clpi_report_file *file)
{
  int code = close_stream(file);
  if (!code && file->temporary && rename(file->temporary, file->target))
    code = errno;
  int exit_code = code ? cannot_write(file->path, code) : CLPI_EXIT_SUCCESS;
  if (!code && file->temporary) {
    replace_unfinished(file->temporary, NULL);
    free(file->temporary);
    file->temporary = NULL;
  }
  end(file);
  return exit_code;
}

void clpi_report_file_discard(clpi_report_file *file)
{
  if (!file)
    return;
  (void)close_stream(file);
  end(file);
}
