/* SPDX-License-Identifier: MIT */
/* A batch of a trace's rows, ready to run: sizes are scaled, and pointers resolved to slots. If
 * batches run several times, a temporary file keeps them. So the trace is read once, even from a
 * pipe, and the host's memory holds one batch. */
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

/* Large batches: if replays take turns, each refills the processor's caches, which a program's pool
 * has to itself. With this many rows, that takes a small part of the time. */
enum { TRACE_BATCH_ROWS = 65536 };

typedef struct trace_operation {
  uint64_t size; /* as recorded */
  size_t bytes;  /* scaled */
  size_t slot;
  uint64_t line;        /* its line in the file */
  uint64_t event;       /* the number of its row, from 1 */
  uint64_t flags;       /* this and the next two: only of an allocation */
  uint32_t context;     /* the number of its context and kind */
  uint32_t owner;       /* the number of its context, of any kind */
  uint16_t size_column; /* the column of the size in its line */
  uint8_t kind;
  bool is_free;
} trace_operation;

typedef struct trace_batch {
  size_t count; /* operations: the rows except recorded failures, and frees that are left out */
  uint64_t recorded_failures;
  bool at_end;        /* the trace has no more rows */
  trace_event newest; /* the last row that was read from the trace */
  trace_operation operations[TRACE_BATCH_ROWS];
} trace_batch;

/* The source of batches: a trace, and its live blocks. Set the first three members, and the rest to
 * {0}. */
typedef struct trace_batch_source {
  trace_reader *reader; /* borrowed */
  double scale;         /* of sizes: finite and above 0 */
  bool is_kept;         /* after its last batch, it begins again */
  bool is_recorded;     /* the trace has contexts: it is from `clpool record` */
  bool is_read;         /* it began again: the reader is at its end */
  FILE *file;           /* keeps the batches; without a name, in TMPDIR, else in /tmp */
  trace_batch *batch;   /* the last that was read; NULL before the first */
  trace_live_blocks live;
  uint64_t rows, allocations, frees, recorded_failures; /* so far */
  size_t active_bytes, peak_active_bytes;               /* in use now, and at most; scaled */
  /* Numbers of contexts, and of contexts and kinds; and how many there are. */
  clpi_map owner_numbers[2], context_numbers[2];
  uint32_t owners, contexts;
} trace_batch_source;

void trace_batch_source_end(trace_batch_source *source);

/* Gives how much of the trace, or of the kept batches, has been read, in bytes. `*total` is 0 if
 * unknown. */
void trace_batch_source_progress(const trace_batch_source *source, uint64_t *done, uint64_t *total);

/* Reads the next rows into the batch, at most `most` and TRACE_BATCH_ROWS. Statuses as of
 * trace_next, trace_live_blocks_add and _remove. CLP_INVALID_ARGUMENT: also a size that cannot be
 * scaled, with its place in the trace. CLP_IO_ERROR: also if the kept batches cannot be written or
 * read. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_batch_read(trace_batch_source *source, size_t most);

/* Reads all remaining batches. Statuses as of trace_batch_read. */
clp_status trace_batch_read_all(trace_batch_source *source);

/* Computes `bytes` times `scale`, rounded to the nearest and at least 1; 0 stays 0. False: it is
 * more than SIZE_MAX. The scale must be finite and above 0. */
bool trace_scale_size(uint64_t bytes, double scale, size_t *scaled);

#endif
