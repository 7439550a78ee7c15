/* SPDX-License-Identifier: MIT */
/* clpool record, run and check: a program under the layer that records, pools or checks. */
#include "layers.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_write(const char *output, const char *reason)
{
  return clpi_misuse("cannot write to %s: %s", output, reason);
}

/* Gives the layer the path of the file. Its name is left as it is: only the layer's %p are ids, so
 * that a link's target may have one. The layer would take one in the folder's name for an id, too.
 * Of a file for each process, only the folder can be looked at. */
static int set_path(const char *variable, const char *output)
{
  char folder[PATH_MAX], path[PATH_MAX];
  const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
  if (strcmp(output, "-") == 0)
    return cannot_write(output, "standard output is the program's; name a file");
  snprintf(path, sizeof(path), "%.*s.", (int)(name - output), output);
  if (!realpath(path, folder))
    return cannot_write(output, strerror(errno));
  if (strstr(folder, "%p"))
    return cannot_write(output, "its directory's name contains %p");
  if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
    return cannot_write(output, strerror(ENAMETOOLONG));
  if (strstr(name, "%p") && access(folder, W_OK | X_OK))
    return cannot_write(output, strerror(errno));
  clpi_layers_set_variable(variable, path);
  return CLPI_EXIT_SUCCESS;
}

/* Makes or empties the file, unless another process records to it; the layer does the writing. */
static int open_output(const char *output, int *file)
{
  struct stat found;
  *file = open(output, O_RDWR | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (*file < 0)
    return cannot_write(output, strerror(errno));
  if (flock(*file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    return cannot_write(output, "another process is recording to it");
  if (fstat(*file, &found) || (S_ISREG(found.st_mode) && ftruncate(*file, 0)))
    return cannot_write(output, strerror(errno));
  (void)flock(*file, LOCK_UN);
  return CLPI_EXIT_SUCCESS;
}

/* `variable` is that of the output's path. */
static int run_under(const char *layer, const char *variable, const clpi_arguments *arguments,
                     const char *loss)
{
  const char *output = arguments->output;
  int file = -1; /* open until the program has ended, so that the reader of a pipe sees one end */
  int code = output ? set_path(variable, output) : CLPI_EXIT_SUCCESS;
  if (!code)
    code = clpi_layers_set(layer);
  if (!code && output && !strstr(output, "%p"))
    code = open_output(output, &file);
  if (!code)
    code = clpi_layers_run(arguments->traces, loss, (int)arguments->error_exit);
  if (file >= 0)
    close(file);
  return code;
}

static int record(clpi_arguments *arguments)
{
  if (!arguments->output)
    return clpi_misuse("name a file for the trace: -o FILE (see clpool record --help)");
  return run_under("libclpool-record.so", "CLPOOL_LAYER_TRACE", arguments, "nothing was recorded");
}

const clpi_command clpi_record_command = {
    .bit = CLPI_RECORD,
    .name = "record",
    .operands = CLPI_PROGRAM,
    .summary = "record the allocations of an OpenCL program that does not use clpool",
    .usage = "-o FILE [OPTION]... PROGRAM [ARGUMENT]...",
    .about = "Runs an unmodified OpenCL program and records its allocations in a trace for\n"
             "clpool tune, report and replay. The exit code is the program's.\n",
    .examples = "  clpool record -o run.csv ./program --size 512\n"
                "  clpool tune run.csv\n"
                "  clpool record --stacks -o run.csv python3 program.py\n"
                "  clpool report run.csv -o report.html\n"
                "  clpool record -o run.%p.csv ./script\n",
    .run = record,
};

static int run(clpi_arguments *arguments)
{
  return run_under("libclpool-layer.so", NULL, arguments, "nothing was pooled");
}

const clpi_command clpi_run_command = {
    .bit = CLPI_RUN,
    .name = "run",
    .operands = CLPI_PROGRAM,
    .summary = "run an unmodified OpenCL program with buffers from pools",
    .usage = "[OPTION]... PROGRAM [ARGUMENT]...",
    .about = "Runs an unmodified OpenCL program and takes its buffers and images from pools. The\n"
             "exit code is the program's.\n",
    .examples = "  clpool run --report ./program --size 512\n",
    .run = run,
};

/* The program may change its working directory. */
static int set_suppressions(const char *path)
{
  char whole[PATH_MAX];
  FILE *file = realpath(path, whole) ? fopen(whole, "re") : NULL;
  if (!file || (getc(file) == EOF && ferror(file))) /* a folder can be opened */
    return clpi_misuse("cannot read the suppressions, %s: %s", path, strerror(errno));
  fclose(file);
  clpi_layers_set_variable("CLPOOL_LAYER_SUPPRESSIONS", whole);
  return CLPI_EXIT_SUCCESS;
}

static int check(clpi_arguments *arguments)
{
  if (arguments->output && strstr(arguments->output, "%p"))
    return cannot_write(arguments->output, "its name contains %p");
  int code = arguments->suppressions ? set_suppressions(arguments->suppressions) : 0;
  return code ? code
              : run_under("libclpool-check.so", "CLPOOL_LAYER_JSON", arguments,
                          "nothing was checked");
}

const clpi_command clpi_check_command = {
    .bit = CLPI_CHECK,
    .name = "check",
    .operands = CLPI_PROGRAM,
    .summary = "run an unmodified OpenCL program and report its memory errors",
    .usage = "[OPTION]... PROGRAM [ARGUMENT]...",
    .about =
        "Runs an unmodified OpenCL program and reports writes past the end of buffers, uses\n"
        "after their release, reads of unwritten buffers, leaks and wrong calls. The exit code\n"
        "is the program's, or 66 if there are errors and it would be 0.\n",
    .examples = "  clpool check ./program --size 512\n"
                "  clpool check --every=1 --no-leaks python3 program.py\n",
    .run = check,
};
