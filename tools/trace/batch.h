/* SPDX-License-Identifier: MIT */
/* A batch of a trace's rows made ready to run: sizes scaled, pointers resolved to slots. What is to
 * run several times is kept in a temporary file: the trace is read once, from a pipe too, while the
 * host's memory holds one batch. */
#ifndef CLPOOL_TRACE_BATCH_H
#define CLPOOL_TRACE_BATCH_H

#include "core/base/map.h"
#include "trace/live_blocks.h"
#include "trace/reader.h"

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* So many that where replays take turns, a batch each, the time in which they fill the processor's
 * caches anew is a small part: the pool of a program has them to itself. */
enum { TRACE_BATCH_ROWS = 65536 };

typedef struct trace_operation {
  uint64_t size; /* as recorded */
  size_t bytes;  /* scaled */
  size_t slot;
  uint64_t line;        /* where it stands in its file */
  uint64_t event;       /* the number of its row, from 1 */
  uint64_t flags;       /* of an allocation, and so is what follows */
  uint32_t context;     /* the number of its context and kind */
  uint32_t owner;       /* the number of its context, whatever the kind */
  uint16_t size_column; /* where the size stands in its line */
  uint8_t kind;
  bool is_free;
} trace_operation;

typedef struct trace_batch {
  size_t count; /* operations: the rows but for recorded failures, and frees that are left out */
  size_t recorded_failures;
  bool at_end;        /* the trace has no more rows */
  trace_event newest; /* the last row that was read from the trace */
  trace_operation operations[TRACE_BATCH_ROWS];
} trace_batch;

/* Where batches come from: a trace, and what is live in it. Begins as its first three members, and
 * with the rest {0}. */
typedef struct trace_batch_source {
  trace_reader *reader; /* borrowed */
  double scale;         /* of sizes: finite and above 0 */
  bool is_kept;         /* behind its last batch, it begins again */
  bool is_recorded;     /* the trace has contexts: it is from `clpool record` */
  bool is_read;         /* it began again: the reader is at its end */
  FILE *file;           /* of what is kept, without a name, in TMPDIR, else in /tmp */
  trace_batch *batch;   /* the last that was read; NULL before the first */
  trace_live_blocks live;
  uint64_t rows, allocations, frees, recorded_failures; /* so far */
  size_t active_bytes, peak_active_bytes;               /* in use so far, and at most; scaled */
  /* Numbers of contexts, and of contexts and kinds; so many of each. */
  clpi_map owner_numbers[2], context_numbers[2];
  uint32_t owners, contexts;
} trace_batch_source;

void trace_batch_source_end(trace_batch_source *source);

/* How far the trace or what is kept of it is read, in bytes; `*total` is 0 where that is unknown.
 */
void trace_batch_source_progress(const trace_batch_source *source, uint64_t *done, uint64_t *total);

/* Reads the next rows into the batch, at most `most` and TRACE_BATCH_ROWS. What fails is what
 * trace_next, trace_live_blocks_add and _remove and trace_scale_size fail with, the latter said of
 * its place in the trace; CLP_IO_ERROR: what is kept cannot be written or read;
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_batch_read(trace_batch_source *source, size_t most);

/* Reads all batches that are left. Statuses likewise. */
clp_status trace_batch_read_all(trace_batch_source *source);

/* `bytes` times `scale`, rounded to the nearest and at least 1; 0 stays 0. False: it is more than
 * SIZE_MAX. The scale must be finite and above 0. */
bool trace_scale_size(uint64_t bytes, double scale, size_t *scaled);

#endif
