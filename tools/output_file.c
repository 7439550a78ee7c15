/* SPDX-License-Identifier: MIT */
/* A temporary file beside the wanted one, renamed at the end. */
#include "output_file.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct clpi_output_file {
  FILE *stream;
  char *path;      /* as it was named, for complaints */
  char *target;    /* what it leads to; NULL for what is written directly */
  char *temporary; /* likewise */
};

/* What a signal that ends the program removes first: one name for each output. */
enum { MOST_FILES = 2 };
static char *volatile unfinished[MOST_FILES];
static const int ending_signals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE,
                                     SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ};

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

/* --- Where a path leads to --- */

/* The path that a symbolic link leads to, one step. NULL: it is no link. */
static char *follow_link(const char *path)
{
  char said[PATH_MAX], *target;
  ssize_t length = readlink(path, said, sizeof(said) - 1);
  if (length < 0)
    return NULL;
  said[length] = '\0';
  const char *slash = strrchr(path, '/');
  int folder_length = slash && said[0] != '/' ? (int)(slash + 1 - path) : 0;
  return asprintf(&target, "%.*s%s", folder_length, path, said) < 0 ? NULL : target;
}

/* The whole path of a file that is not there, in a folder that is. NULL: errno tells why. */
static char *resolve_missing(const char *path)
{
  const char *slash = strrchr(path, '/');
  const char *name = slash ? slash + 1 : path;
  char *folder_path = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
  char *folder = folder_path ? realpath(folder_path, NULL) : NULL;
  char *whole = NULL;
  if (folder && !*name)
    errno = ENOENT;
  else if (folder && asprintf(&whole, "%s/%s", folder, name) < 0)
    whole = NULL;
  free(folder_path);
  free(folder);
  return whole;
}

/* The whole path of the file that `path` leads to, or that would be made. NULL: errno tells why. */
static char *resolve(const char *path)
{
  enum { MOST_LINKS = 40 }; /* as Linux has it */
  char *found = realpath(path, NULL);
  if (found || errno != ENOENT)
    return found;
  char *at = strdup(path), *next;
  for (int i = 0; at && i < MOST_LINKS && (next = follow_link(at)); i++) {
    free(at);
    at = next;
  }
  found = at ? resolve_missing(at) : NULL;
  free(at);
  return found;
}

bool clpi_output_file_is_same(const char *one, const char *other)
{
  char *first = resolve(one), *second = resolve(other);
  bool is_same = first && second && strcmp(first, second) == 0;
  free(first);
  free(second);
  return is_same;
}

/* A device such as /dev/null takes what several write; a terminal would show all of it. */
bool clpi_output_file_is_stdout(const char *path)
{
  struct stat named, output;
  if (strcmp(path, "-") == 0)
    return true;
  return stat(path, &named) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
         named.st_dev == output.st_dev && named.st_ino == output.st_ino &&
         (!S_ISCHR(named.st_mode) || isatty(STDOUT_FILENO));
}

/* --- Writing --- */

/* A new file has the rights that the process gives new files; one that is replaced, its own. */
static mode_t rights_for(const struct stat *replaced)
{
  if (replaced)
    return replaced->st_mode & 0777;
  mode_t masked = umask(0);
  umask(masked);
  return 0666 & ~masked;
}

/* As mkostemp. A signal waits until it would remove the file. */
static int make_unfinished(char *path)
{
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int descriptor = mkostemp(path, O_CLOEXEC), code = errno;
  if (descriptor >= 0) {
    catch_signals();
    replace_unfinished(NULL, path);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = code;
  return descriptor;
}

/* Makes the temporary file beside `file->target`, under a name that is short enough everywhere, and
 * opens it. Returns errno, or 0. */
static int open_temporary(clpi_output_file *file, const struct stat *replaced)
{
  if (replaced && access(file->target, W_OK))
    return errno;
  int folder_length = (int)(strrchr(file->target, '/') - file->target);
  if (asprintf(&file->temporary, "%.*s/.clpool-XXXXXX", folder_length, file->target) < 0) {
    file->temporary = NULL;
    return ENOMEM;
  }
  int descriptor = make_unfinished(file->temporary);
  if (descriptor < 0) {
    int code = errno;
    free(file->temporary);
    file->temporary = NULL;
    return code;
  }
  file->stream = fchmod(descriptor, rights_for(replaced)) ? NULL : fdopen(descriptor, "w");
  if (file->stream)
    return 0;
  int code = errno;
  close(descriptor);
  return code;
}

/* Opens what `path` leads to, through links. Returns errno, or 0. */
static int open_path(clpi_output_file *file, const char *path)
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
  file->target = resolve(path);
  return file->target ? open_temporary(file, exists ? &found : NULL) : errno;
}

static void end(clpi_output_file *file)
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

int clpi_output_file_create(const char *path, clpi_output_file **out)
{
  *out = NULL;
  bool is_stdout = strcmp(path, "-") == 0;
  clpi_output_file *file = calloc(1, sizeof(*file));
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

FILE *clpi_output_file_stream(clpi_output_file *file)
{
  return file->stream;
}

/* Closes the stream; standard output is left to the end of the program. Returns errno, or 0. */
static int close_stream(clpi_output_file *file)
{
  return file->stream == stdout ? 0 : clpi_close(file->stream);
}

int clpi_output_file_finish(clpi_output_file *file)
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

void clpi_output_file_discard(clpi_output_file *file)
{
  if (!file)
    return;
  (void)close_stream(file);
  end(file);
}
