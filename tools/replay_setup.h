/* SPDX-License-Identifier: MIT */
/* What commands that replay do around it: a progress bar, remarks, a scale that fits, outputs. */
#ifndef CLPOOL_TOOLS_REPLAY_SETUP_H
#define CLPOOL_TOOLS_REPLAY_SETUP_H

#include "output_file.h"
#include "progress.h"
#include "trace/replay.h"

/* `options` with progress shown by `bar`, which must live as long as they are used. */
trace_replay_options clpi_replay_with_bar(const trace_replay_options *options, clpi_progress *bar);

/* Sets the options' scale to what trace_replay_fit_scale finds, with a progress bar. */
clp_status clpi_replay_find_scale(trace_reader *reader, const clp_allocator *allocator,
                                  trace_replay_options *options);

/* clpi_failed for a replay on a simulated device, which has the memory that --capacity tells. */
int clpi_simulation_failed(clp_status status);

/* From now on the library's warnings and errors are complained about. */
void clpi_show_remarks(void);

/* Opens an output before the long work, if there is one: `path` is NULL where `option` was not
 * given. Returns an exit code, with a complaint if it is not 0. */
int clpi_open_output(const char *option, const char *path, const char *trace,
                     clpi_output_file **file);

#endif
