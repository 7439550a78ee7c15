/* SPDX-License-Identifier: MIT */
/* A file without a name, which gets one at the end: whatever ends the program, nothing is left.
 * Where the file system has no such files, it has a temporary name beside the wanted one. */
#include "output_file.h"

#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_write(const char *path, int code)
{
  return clpi_complain("cannot write to %s: %s", path, strerror(code));
}

/* Finds the whole path of what `path` leads to, be it there or not. False: errno tells why. Links
 * that lead in circles are ELOOP, so the recursion ends. */
static bool resolve(const char *path, char found[PATH_MAX])
{
  char link[PATH_MAX], next[2 * PATH_MAX];
  if (realpath(path, found))
    return true;
  if (errno != ENOENT)
    return false;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const ssize_t length = readlink(path, link, sizeof(link));
  snprintf(next, sizeof(next), "%.*s%.*s", length > 0 && link[0] == '/' ? 0 : (int)(name - path),
           path, length > 0 ? (int)length : 1, length > 0 ? link : ".");
  if (length > 0)
    return resolve(next, found);
  errno = ENOENT;
  if (!*name || !realpath(next, found))
    return false;
  errno = ENAMETOOLONG;
  const size_t room = PATH_MAX - strlen(found);
  return snprintf(found + strlen(found), room, "/%s", name) < (int)room;
}

bool clpi_output_file_is_same(const char *one, const char *other)
{
  char first[PATH_MAX], second[PATH_MAX];
  return resolve(one, first) && resolve(other, second) && strcmp(first, second) == 0;
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
  const int length = (int)(strrchr(file->target, '/') - file->target);
  snprintf(from, sizeof(from), "/proc/self/fd/%d", unnamed);
  do {
    snprintf(file->temporary, sizeof(file->temporary), "%.*s/.clpool-%ld-%u", length, file->target,
             (long)getpid(), number++);
    made = unnamed < 0 ? open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                       : linkat(AT_FDCWD, from, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW);
  } while (made < 0 && errno == EEXIST);
  return made;
}

/* Opens a file that can replace the target. Returns its descriptor; -1: errno tells why. */
static int open_beside(clpi_output_file *file)
{
  char *slash = strrchr(file->target, '/');
  int descriptor = -1;
  *slash = '\0';
  if (access("/proc/self/fd", X_OK) == 0) /* which alone can name a file later */
    descriptor = open(*file->target ? file->target : "/", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  *slash = '/';
  return descriptor < 0 ? take_name(file, -1) : descriptor;
}

/* Opens what the path leads to. A file that replaces another has its rights. */
static bool open_path(clpi_output_file *file)
{
  struct stat found;
  bool exists = stat(file->path, &found) == 0;
  if (!exists && errno != ENOENT)
    return false;
  if (exists && !S_ISREG(found.st_mode)) {
    file->stream = fopen(file->path, "we");
    return file->stream;
  }
  if (!resolve(file->path, file->target) || (exists && access(file->path, W_OK)))
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
  clpi_output_file *file = *out = calloc(1, sizeof(*file));
  if (!file)
    return cannot_write(path, ENOMEM);
  file->path = path;
  if (strcmp(path, "-") == 0)
    file->stream = stdout;
  else if (!open_path(file)) {
    int code = errno;
    clpi_output_file_discard(file);
    *out = NULL;
    return cannot_write(path, code);
  }
  return CLPI_EXIT_SUCCESS;
}

int clpi_output_file_finish(clpi_output_file **out)
{
  int code = 0, closed = 0;
  clpi_output_file *file = *out;
  *out = NULL;
  if (!file)
    return CLPI_EXIT_SUCCESS;
  (void)fflush(file->stream); /* what fails is told when it is closed */
  if (file->target[0] && !file->temporary[0] && take_name(file, fileno(file->stream)) < 0)
    code = errno;
  if (file->stream != stdout)
    closed = clpi_close(file->stream);
  file->stream = NULL;
  code = closed ? closed : code;
  if (!code && file->target[0] && rename(file->temporary, file->target) < 0)
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
    unlink(file->temporary); /* not there if it was renamed */
  free(file);
}
