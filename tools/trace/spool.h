/* SPDX-License-Identifier: MIT */
/* A trace's operations in an unnamed temporary file: the trace is read once, from a pipe too, and
 * replayed often, while the host's memory holds one batch. */
#ifndef CLPOOL_TRACE_SPOOL_H
#define CLPOOL_TRACE_SPOOL_H

#include "trace/batch.h"

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Begins as {0}. */
typedef struct trace_spool {
  FILE *file;
  trace_batch *batch;     /* the operations that trace_spool_next read */
  size_t slots, contexts; /* what a player must reserve for them */
  size_t owners;          /* likewise, for operations' owners */
  bool is_recorded;       /* the trace has contexts: it is from `clpool record` */
  uint64_t allocations, frees, recorded_failures;
  size_t active_bytes, peak_active_bytes; /* in use when the trace ends, and at most */
} trace_spool;

/* Reads the trace to its end. The file is in TMPDIR, else in /tmp. In any case the spool is for
 * trace_spool_end. CLP_IO_ERROR: the file cannot be made or written; otherwise as
 * trace_batch_read. */
clp_status trace_spool_read(trace_spool *spool, trace_reader *reader);
void trace_spool_end(trace_spool *spool);

/* Back to the first operation. */
void trace_spool_rewind(trace_spool *spool);

/* Reads the next operations into the batch; none are left if its count is 0. CLP_IO_ERROR. */
clp_status trace_spool_next(trace_spool *spool);

#endif
