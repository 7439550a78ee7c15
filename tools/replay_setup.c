/* SPDX-License-Identifier: MIT */
/* What commands that replay do around it. */
#include "replay_setup.h"

#include "program.h"

#include <clpool/log.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void show_progress(const trace_replay_progress *progress, void *bar)
{
  clpi_progress_update(bar, progress->done_bytes, progress->total_bytes, progress->operations);
}

trace_replay_options clpi_replay_with_bar(const trace_replay_options *options, clpi_progress *bar)
{
  trace_replay_options with_bar = *options;
  with_bar.on_progress = show_progress;
  with_bar.user_data = bar;
  return with_bar;
}

clp_status clpi_replay_find_scale(trace_reader *reader, const clp_allocator *allocator,
                                  trace_replay_options *options)
{
  clpi_progress bar = clpi_progress_begin("fitting the scale");
  trace_replay_options with_bar = clpi_replay_with_bar(options, &bar);
  clp_status status = trace_replay_fit_scale(reader, allocator, &with_bar, &options->scale);
  clpi_progress_end(&bar);
  return status;
}

int clpi_simulation_failed(clp_status status)
{
  if (status != CLP_NOT_SUPPORTED)
    return clpi_failed(status);
  return clpi_misuse("%s: tell it with --capacity", clp_last_error()->message);
}

static void show_remark(clp_log_level level, const char *message, void *user_data)
{
  (void)user_data;
  if (level >= CLP_LOG_WARNING)
    clpi_complain("%s: %s", level == CLP_LOG_WARNING ? "warning" : "error", message);
}

void clpi_show_remarks(void)
{
  clp_set_log(show_remark, NULL);
}

/* A trace is not to be overwritten by what is told of it. */
static bool is_trace(const char *path, const char *trace)
{
  struct stat output, input;
  bool is_stdin = strcmp(trace, "-") == 0;
  return stat(path, &output) == 0 && S_ISREG(output.st_mode) &&
         (is_stdin ? fstat(STDIN_FILENO, &input) : stat(trace, &input)) == 0 &&
         output.st_dev == input.st_dev && output.st_ino == input.st_ino;
}

int clpi_open_output(const char *option, const char *path, const char *trace,
                     clpi_output_file **file)
{
  if (!path)
    return CLPI_EXIT_SUCCESS;
  if (is_trace(path, trace))
    return clpi_misuse("%s names the trace itself, \"%s\"", option, path);
  return clpi_output_file_create(path, file);
}
