/* SPDX-License-Identifier: MIT */
/* clpool record: runs a program under the layer that records. */
#include "layers.h"
#include "options.h"

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

typedef struct recording {
  const char *output;
  char path[PATH_MAX];
  int file; /* open until the program has ended, so that the reader of a pipe sees one end; -1: each
             * process has its own */
} recording;

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

/* --- the command --- */

static int record(recording *run, char **program)
{
  const bool has_one_file = !strstr(run->output, "%p");
  int code = name_path(run);
  if (!code)
    code = clpi_layers_set("libclpool-record.so");
  if (!code)
    code = clpi_layers_set_variable("CLPOOL_LAYER_TRACE", run->path);
  if (!code)
    code = has_one_file ? open_output(run) : check_folder(run);
  return code ? code : clpi_layers_run(program, "nothing is recorded");
}

static int run(clpi_arguments *arguments)
{
  recording run = {.output = arguments->output, .file = -1};
  if (!run.output)
    return clpi_misuse("-o is missing, the file for the trace (see clpool record --help)");
  if (strcmp(run.output, "-") == 0)
    return cannot_record(&run, "name a file, not standard output, which is the program's");
  if (!CLPI_HAS_LAYER)
    return clpi_misuse("this clpool is built without the layer that records");
  int code = record(&run, arguments->traces);
  if (run.file >= 0)
    close(run.file);
  return code;
}

const clpi_command clpi_record_command = {
    .bit = CLPI_RECORD,
    .name = "record",
    .operands = CLPI_PROGRAM,
    .summary = "record what an OpenCL program allocates that does not use clpool",
    .usage = "-o FILE [OPTION]... PROGRAM [ARGUMENT]...",
    .about = "Runs an OpenCL program as it is, and records the buffers, images and shared virtual "
             "memory\n"
             "that it allocates: a trace for clpool tune, report and replay. The exit code is the "
             "program's.\n",
    .examples = "  clpool record -o run.csv ./program --size 512\n"
                "  clpool tune run.csv\n"
                "  clpool record --stacks -o run.csv python3 program.py\n"
                "  clpool report run.csv -o report.html\n"
                "  clpool record -o run.%p.csv ./script\n",
    .run = run,
};
