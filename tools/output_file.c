/* SPDX-License-Identifier: MIT */
/* A file without a name, which gets one at the end: whatever ends the program, nothing is left.
 * Where the file system has no such files, it has a temporary name beside the wanted one. */
#include "output_file.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct clpi_output_file {
  FILE *stream;
  char *target;       /* what the path leads to; NULL for what is written directly */
  int directory;      /* of the target */
  char temporary[48]; /* the file's name in it until it is renamed; "": it has none */
  char path[];        /* as it was named, for complaints */
};

static int cannot_write(const char *path, int code)
{
  return clpi_complain("cannot write to %s: %s", path, strerror(code));
}

/* The whole path of what `path` leads to, be it there or not. NULL: errno tells why. Links that
 * lead in circles are ELOOP, so the recursion ends. */
static char *resolve(const char *path)
{
  char link[PATH_MAX], *found = realpath(path, NULL), *next;
  if (found || errno != ENOENT)
    return found;
  const char *slash = strrchr(path, '/');
  int length = slash ? (int)(slash + 1 - path) : 0; /* of the directory */
  ssize_t link_length = readlink(path, link, sizeof(link));
  if (link_length > 0) {
    if (asprintf(&next, "%.*s%.*s", link[0] == '/' ? 0 : length, path, (int)link_length, link) < 0)
      return NULL;
    found = resolve(next);
    free(next);
    return found;
  }
  if (!path[length] || asprintf(&next, "%.*s.", length, path) < 0) {
    errno = ENOENT;
    return NULL;
  }
  char *directory = realpath(next, NULL);
  free(next);
  if (!directory || asprintf(&found, "%s/%s", directory, path + length) < 0)
    found = NULL;
  free(directory);
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

/* Takes a name beside the target that no file has: for the file of the descriptor `unnamed`, or
 * for a new one if that is -1. Returns below 0 if it fails, or else a new file's descriptor. */
static int take_name(clpi_output_file *file, int unnamed)
{
  static unsigned number;
  char from[32];
  int made;
  snprintf(from, sizeof(from), "/proc/self/fd/%d", unnamed);
  do {
    snprintf(file->temporary, sizeof(file->temporary), ".clpool-%ld-%u", (long)getpid(), number++);
    made = unnamed < 0
               ? openat(file->directory, file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                        0666)
               : linkat(AT_FDCWD, from, file->directory, file->temporary, AT_SYMLINK_FOLLOW);
  } while (made < 0 && errno == EEXIST);
  return made;
}

/* Opens a file that can replace the target. Returns its descriptor; -1: errno tells why. */
static int open_beside(clpi_output_file *file)
{
  char *slash = strrchr(file->target, '/');
  int descriptor = -1;
  *slash = '\0';
  file->directory = open(slash > file->target ? file->target : "/", O_PATH | O_CLOEXEC);
  *slash = '/';
  if (access("/proc/self/fd", X_OK) == 0) /* which alone can name a file later */
    descriptor = openat(file->directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  return descriptor < 0 ? take_name(file, -1) : descriptor;
}

/* Opens what `path` leads to. A file that replaces another has its rights. */
static bool open_path(clpi_output_file *file, const char *path)
{
  struct stat found;
  bool exists = stat(path, &found) == 0;
  if (!exists && errno != ENOENT)
    return false;
  if (exists && !S_ISREG(found.st_mode)) {
    file->stream = fopen(path, "we");
    return file->stream;
  }
  file->target = resolve(path);
  if (!file->target || (exists && access(path, W_OK)))
    return false;
  int descriptor = open_beside(file);
  if (descriptor >= 0 && (!exists || fchmod(descriptor, found.st_mode & 0777) == 0))
    file->stream = fdopen(descriptor, "w");
  if (descriptor >= 0 && !file->stream)
    close(descriptor);
  return file->stream;
}

int clpi_output_file_create(const char *path, clpi_output_file **out)
{
  clpi_output_file *file = *out = calloc(1, sizeof(*file) + strlen(path) + 1);
  if (!file)
    return cannot_write(path, ENOMEM);
  strcpy(file->path, path);
  file->directory = -1;
  if (strcmp(path, "-") == 0)
    file->stream = stdout;
  else if (!open_path(file, path)) {
    int code = errno;
    clpi_output_file_discard(file);
    *out = NULL;
    return cannot_write(path, code);
  }
  return CLPI_EXIT_SUCCESS;
}

FILE *clpi_output_file_stream(clpi_output_file *file)
{
  return file->stream;
}

int clpi_output_file_finish(clpi_output_file *file)
{
  bool is_unnamed = file->target && !file->temporary[0];
  if (is_unnamed)
    (void)fflush(file->stream); /* a failure is also that of closing it */
  int unlinked = is_unnamed && take_name(file, fileno(file->stream)) < 0 ? errno : 0;
  int code = file->stream == stdout ? 0 : clpi_close(file->stream);
  file->stream = NULL;
  code = code ? code : unlinked;
  if (!code && file->target &&
      renameat(file->directory, file->temporary, AT_FDCWD, file->target) < 0)
    code = errno;
  int exit_code = code ? cannot_write(file->path, code) : CLPI_EXIT_SUCCESS;
  clpi_output_file_discard(file);
  return exit_code;
}

void clpi_output_file_discard(clpi_output_file *file)
{
  if (!file)
    return;
  if (file->stream && file->stream != stdout)
    fclose(file->stream);
  if (file->temporary[0])
    unlinkat(file->directory, file->temporary, 0); /* not there if it was renamed */
  if (file->directory >= 0)
    close(file->directory);
  free(file->target);
  free(file);
}
