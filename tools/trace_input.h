/* SPDX-License-Identifier: MIT */
/* What commands that read traces have in common. */
#ifndef CLPOOL_TOOLS_TRACE_INPUT_H
#define CLPOOL_TOOLS_TRACE_INPUT_H

#include "trace/reader.h"

#include <stdbool.h>

/* Opens a trace, "-" for standard input. Returns an exit code, with a complaint if it is not 0. */
int clpi_open_trace(const char *path, bool is_lenient, trace_reader **reader);

/* Tells in a line what was left out of a trace that was read. */
void clpi_tell_left_out(trace_reader *reader);

/* Complains that the trace has no allocation to `command`, such as "tune". Returns an exit code. */
int clpi_nothing_to(const char *command, const trace_reader *reader);

#endif
