/* SPDX-License-Identifier: MIT */
/* clpool record: runs a program under the layer that records. */
#include "arguments.h"
#include "layers.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help_text[] =
    "Usage: clpool record -o FILE PROGRAM [ARGUMENT]...\n"
    "Runs an OpenCL program as it is, and records the buffers, images and shared virtual memory\n"
    "that it allocates: a trace for clpool tune, report and replay. It ends as the program does.\n"
    "\n"
    "Options:\n"
    "  -o, --output=FILE  where the trace goes; made or emptied. With %p, each process that uses\n"
    "                     OpenCL has a file of its own, with its id there\n"
    "  --help             print this help\n"
    "\n"
    "Examples:\n"
    "  clpool record -o run.csv ./program --size 512\n"
    "  clpool tune run.csv\n"
    "  clpool record -o run.%p.csv ./script\n";

enum { OPTION_HELP = 256 };

typedef struct recording {
  const char *output;
  char **program; /* with its arguments */
  char path[PATH_MAX];
  int file; /* open until the program has ended, so that the reader of a pipe sees one end; -1: each
             * process has its own */
} recording;

/* --- arguments --- */

/* Options end at the program: what follows is its own. */
static int read_arguments(int argc, char **argv, recording *run, bool *is_help)
{
  static const struct option options[] = {
      {"output", required_argument, NULL, 'o'}, {"help", no_argument, NULL, OPTION_HELP}, {0}};
  int option;
  while ((option = clpi_next_option(argc, argv, "+:ho:", options)) != -1) {
    switch (option) {
    case 'o':
      run->output = optarg;
      break;
    case 'h':
    case OPTION_HELP:
      *is_help = true;
      return CLPI_EXIT_SUCCESS;
    default:
      return CLPI_EXIT_MISUSE;
    }
  }
  if (!run->output)
    return clpi_misuse("-o is missing, the file for the trace (see clpool record --help)");
  if (optind == argc)
    return clpi_misuse("the program is missing (see clpool record --help)");
  run->program = argv + optind;
  return CLPI_EXIT_SUCCESS;
}

/* --- the file --- */

static int cannot_record(const recording *run, const char *reason)
{
  return clpi_misuse("cannot record to %s: %s", run->output, reason);
}

/* The file's name is left as it is: only the layer's %p are ids, so that a link's target may have
 * one. The layer would take one in the folder's name for an id, too. */
static int name_path(recording *run)
{
  char folder[PATH_MAX];
  const char *name = strrchr(run->output, '/');
  name = name ? name + 1 : run->output;
  const size_t length = (size_t)(name - run->output);
  snprintf(run->path, sizeof(run->path), "%.*s.", (int)length, run->output);
  if (!realpath(run->path, folder))
    return cannot_record(run, strerror(errno));
  if (strstr(folder, "%p"))
    return cannot_record(run, "its folder has %p in its name");
  if (snprintf(run->path, sizeof(run->path), "%s/%s", folder, name) >= (int)sizeof(run->path))
    return cannot_record(run, strerror(ENAMETOOLONG));
  return CLPI_EXIT_SUCCESS;
}

/* Made or emptied, unless another process records to it; the layer does the writing. */
static int open_output(recording *run)
{
  run->file = open(run->output, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (run->file < 0)
    return cannot_record(run, strerror(errno));
  if (flock(run->file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    return cannot_record(run, "another process does so now");
  struct stat found;
  bool is_known = fstat(run->file, &found) == 0;
  if (!is_known || (S_ISREG(found.st_mode) && ftruncate(run->file, 0)))
    return cannot_record(run, strerror(errno));
  (void)flock(run->file, LOCK_UN);
  return CLPI_EXIT_SUCCESS;
}

/* A file for each process: only the folder can be looked at. */
static int check_folder(recording *run)
{
  const char *end = strrchr(run->path, '/');
  char folder[PATH_MAX];
  snprintf(folder, sizeof(folder), "%.*s/", (int)(end - run->path), run->path);
  return access(folder, W_OK | X_OK) ? cannot_record(run, strerror(errno)) : CLPI_EXIT_SUCCESS;
}

/* What glob() finds for the name with %p. */
static void find_outputs(const recording *run, glob_t *found)
{
  char pattern[3 * PATH_MAX];
  char *to = pattern;
  for (const char *from = run->path; *from; from++) {
    if (from[0] == '%' && from[1] == 'p') {
      to = stpcpy(to, "[0-9]*");
      from++;
      continue;
    }
    if (strchr("*?[\\", *from))
      *to++ = '\\';
    *to++ = *from;
  }
  *to = '\0';
  if (glob(pattern, 0, NULL, found))
    *found = (glob_t){0};
}

/* Whether there is something behind the header. */
static bool has_rows(const char *path)
{
  char text[256];
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : pread(file, text, sizeof(text), 0);
  const char *end = length > 0 ? memchr(text, '\n', (size_t)length) : NULL;
  if (file >= 0)
    close(file);
  return end && end + 1 < text + length;
}

/* How many of the files that the name fits have rows. */
static size_t count_recordings(const recording *run)
{
  size_t count = 0;
  glob_t found;
  find_outputs(run, &found);
  for (size_t i = 0; i < found.gl_pathc; i++)
    count += has_rows(found.gl_pathv[i]);
  globfree(&found);
  return count;
}

static bool is_pipe(int file)
{
  struct stat found;
  return file >= 0 && fstat(file, &found) == 0 && !S_ISREG(found.st_mode);
}

/* --- the layer --- */

static int set_layer(const recording *run)
{
  int code = clpi_layers_set("libclpool-record.so");
  return code ? code : clpi_layers_set_variable("CLPOOL_LAYER_TRACE", run->path);
}

/* --- the command --- */

static int record(recording *run)
{
  int code = name_path(run);
  if (!code)
    code = set_layer(run);
  if (!code)
    code = strstr(run->output, "%p") ? check_folder(run) : open_output(run);
  if (code)
    return code;
  const size_t before = count_recordings(run);
  bool is_used;
  clpi_child_end end;
  code = clpi_layers_run(run->program, "nothing is recorded", &is_used, &end);
  if (code)
    return code;
  if (is_used && !is_pipe(run->file) && count_recordings(run) == before)
    clpi_complain("%s has allocated nothing by OpenCL: %s has no rows", run->program[0],
                  run->output);
  return clpi_child_end_likewise(&end);
}

static int run(int argc, char **argv)
{
  recording run = {.file = -1};
  bool is_help = false;
  int code = read_arguments(argc, argv, &run, &is_help);
  if (is_help)
    fputs(help_text, stdout);
  if (!code && !is_help)
    code = CLPI_HAS_LAYER ? record(&run)
                          : clpi_misuse("this clpool is built without the layer that records");
  if (run.file >= 0)
    close(run.file);
  return code;
}

const clpi_command clpi_record_command = {
    .name = "record",
    .summary = "record what an OpenCL program allocates, which knows nothing of clpool",
    .help = help_text,
    .run = run,
};
