/* SPDX-License-Identifier: MIT */
/* What every command that replays a trace is told, and the options that tell it. */
#ifndef CLPOOL_TOOLS_TRACE_ARGUMENTS_H
#define CLPOOL_TOOLS_TRACE_ARGUMENTS_H

#include "allocators.h"
#include "trace/reader.h"
#include "trace/replay.h"

#include <stdbool.h>

typedef struct clpi_trace_arguments {
  const char *trace; /* a path, or "-" */
  clpi_allocator_choice allocator;
  const char *limit, *reserve; /* as given; NULL: it was not */
  trace_replay_options replay;
  bool fits_scale; /* --scale=auto: replay.scale is still to be found */
  bool is_lenient; /* frees of what is not live are left out */
  bool as_json;
  bool wants_help; /* then nothing else counts */
} clpi_trace_arguments;

/* A simulated device, and a replay's defaults. */
#define CLPI_TRACE_ARGUMENTS_INIT                                                                  \
  {                                                                                                \
    .allocator.kind = CLPI_ALLOCATOR_SIMULATED, .replay = TRACE_REPLAY_OPTIONS_INIT                \
  }

/* The codes of these options, for getopt_long; a command's own begin behind them. Which of them it
 * has, its list of options says. */
enum {
  CLPI_OPTION_ALLOCATOR = 256,
  CLPI_OPTION_ARENA,
  CLPI_OPTION_CAPACITY,
  CLPI_OPTION_DEVICE,
  CLPI_OPTION_HELP,
  CLPI_OPTION_JSON,
  CLPI_OPTION_LEADING_BITS,
  CLPI_OPTION_LENIENT,
  CLPI_OPTION_LIMIT,
  CLPI_OPTION_NO_POOL,
  CLPI_OPTION_PASSES,
  CLPI_OPTION_SCALE,
  CLPI_OPTION_SLACK,
  CLPI_OPTION_OWN
};

/* Takes an option, with its value in optarg. Returns an exit code, with a complaint if it is not 0;
 * about what is none of these, clpi_next_option complained. */
int clpi_read_trace_option(int option, clpi_trace_arguments *arguments);

/* Reads bytes, but not yet those that are told as a part of the device's memory. Returns an exit
 * code, with a complaint if it is not 0. */
int clpi_read_part_option(const char *option, const char *text, size_t *bytes);

/* Reads --limit and --reserve again, where they were given, once the allocator is there whose
 * device's memory they may be a part of. Returns an exit code, with a complaint if it is not 0. */
int clpi_read_parts(clpi_trace_arguments *arguments, const clp_allocator *allocator);

/* Tells in a line what was left out of a trace that was read. */
void clpi_tell_left_out(trace_reader *reader);

/* Complains that the trace has no allocation to `command`, such as "tune". Returns an exit code. */
int clpi_nothing_to(const char *command, const trace_reader *reader);

/* Opens the trace. `rereads` is the command's own option that reads it again; NULL: there was none.
 * Returns an exit code, with a complaint if it is not 0; the reader is the caller's to close in any
 * case. */
int clpi_open_trace(const clpi_trace_arguments *arguments, const char *rereads,
                    trace_reader **reader);

#endif
