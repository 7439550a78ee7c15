/* SPDX-License-Identifier: MIT */
/* clpool record: runs a program under the layer that records. */
#include "arguments.h"
#include "layers.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
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
    "  --stacks           record where the program asks for memory, too: C's call stacks, and\n"
    "                     Python's, for clpool report; costs microseconds an allocation\n"
    "  --help             print this help\n"
    "\n"
    "Examples:\n"
    "  clpool record -o run.csv ./program --size 512\n"
    "  clpool tune run.csv\n"
    "  clpool record --stacks -o run.csv python3 program.py\n"
    "  clpool report run.csv -o report.html\n"
    "  clpool record -o run.%p.csv ./script\n";

enum { OPTION_HELP = 256, OPTION_STACKS };

typedef struct recording {
  const char *output;
  bool has_stacks;
  char **program; /* with its arguments */
  char path[PATH_MAX];
  int file; /* open until the program has ended, so that the reader of a pipe sees one end; -1: each
             * process has its own */
} recording;

/* --- arguments --- */

/* Options end at the program: what follows is its own. */
static int read_arguments(int argc, char **argv, recording *run, bool *is_help)
{
  static const struct option options[] = {{"output", required_argument, NULL, 'o'},
                                          {"stacks", no_argument, NULL, OPTION_STACKS},
                                          {"help", no_argument, NULL, OPTION_HELP},
                                          {0}};
  int option;
  while ((option = clpi_next_option(argc, argv, "+:ho:", options)) != -1) {
    switch (option) {
    case 'o':
      run->output = optarg;
      break;
    case OPTION_STACKS:
      run->has_stacks = true;
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

/* --- the layer --- */

static int set_layer(const recording *run)
{
  int code = clpi_layers_set("libclpool-record.so");
  if (!code)
    code = clpi_layers_set_variable("CLPOOL_LAYER_TRACE", run->path);
  if (!code && run->has_stacks)
    code = clpi_layers_set_variable("CLPOOL_LAYER_STACKS", "1");
  return code;
}

/* --- the command --- */

static int record(recording *run)
{
  const bool has_one_file = !strstr(run->output, "%p");
  int code = name_path(run);
  if (!code)
    code = set_layer(run);
  if (!code)
    code = has_one_file ? open_output(run) : check_folder(run);
  if (code)
    return code;
  clpi_child_end end;
  code = clpi_layers_run(run->program, "nothing is recorded", &end);
  return code ? code : clpi_child_end_likewise(&end);
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
