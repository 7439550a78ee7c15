/* SPDX-License-Identifier: MIT */
/* Traces as the trace hook writes them, into files that exist in memory alone. */
#ifndef CLPT_TRACE_LOG_H
#define CLPT_TRACE_LOG_H

#include "trace/replay.h"

#include <clpool/trace.h>

typedef struct clpt_trace_log {
  int descriptor;
  char path[64];
  clp_hook *hook; /**< to be registered by the test */
} clpt_trace_log;

/** Opens a file and makes a hook that writes to it; ends the hook, which must succeed. */
void clpt_trace_log_start(clpt_trace_log *log);
void clpt_trace_log_close(clpt_trace_log *log);

/** The text of the file, for free(). The file is gone then. */
char *clpt_trace_log_text(clpt_trace_log *log);

/** Replays the file on a pool with the default options, on a simulated device. It is gone then. */
trace_replay_result clpt_trace_log_replay(clpt_trace_log *log);

/** A row's fields from the action on, until the next call. */
const char *clpt_row(const char *action, clp_memory memory, size_t size, const char *stream);

/** Asserts that `text` begins with a row of this thread, at whatever time, with these fields;
 * returns what follows. */
const char *clpt_after_row(const char *text, const char *fields);

#endif
