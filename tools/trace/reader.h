/* SPDX-License-Identifier: MIT */
/* Reads an allocation trace, row by row: CSV with a header that names the columns, as RMM's log:
 *
 *   Thread,Time,Action,Pointer,Size,Stream
 *
 * Columns may be in any order. Action, Pointer and Size must be there; others may be missing. The
 * reader skips columns that it does not know, and lines that begin with #. It leaves the last line
 * out if that has no end, because the program was killed as it wrote it.
 *
 * A file may be gzipped, and is never held in memory. Messages about its text have the form
 *
 *   FILE:LINE:COLUMN: expected <what>, found <what>
 *
 * with lines and columns (bytes) from 1; the column is the begin of the field. */
#ifndef CLPOOL_TRACE_READER_H
#define CLPOOL_TRACE_READER_H

#include "trace/event.h"
#include "trace/lines.h"
#include "trace/stacks.h"

#include <clpool/status.h>
#include <stdbool.h>

enum { TRACE_MOST_COLUMNS = 64 };

typedef struct trace_reader {
  trace_lines lines;
  trace_field columns[TRACE_MOST_COLUMNS]; /* TRACE_FIELDS: unknown, skipped */
  size_t column_count;                     /* 0: the header has not been read */
  void *names;                             /* of pools, kept once */
  bool is_lenient;         /* the caller may set it: frees of pointers that are not live, in a log
                            * that began late, are left out */
  uint64_t left_out;       /* such rows so far, counted by the user of the rows */
  uint64_t first_left_out; /* the line of the first */
  uint64_t broken_line;    /* the number of the last line, which has no end; 0: none */
  /* The caller may set it: gets the frames that the trace defines, and rows with other frames are
   * refused. NULL: frames are skipped. */
  trace_stacks *stacks;
} trace_reader;

/* Makes a reader from `descriptor`, and closes it with the reader, or at once on failure. `name` is
 * for messages. If descriptor is -1, opens the trace of that name, "-" for standard input. It reads
 * nothing yet. CLP_IO_ERROR: it cannot be opened, or is a directory.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_open(int descriptor, const char *name, trace_reader **out);

/* NULL is a no-op. */
void trace_close(trace_reader *reader);

/* Gives the next row, or sets `*found` to false at the end of the trace. After a failure only
 * trace_close is allowed.
 * CLP_INVALID_ARGUMENT: the file is not a trace, or malformed.
 * CLP_IO_ERROR: it cannot be read, or its compressed text is damaged or ends too early.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_next(trace_reader *reader, trace_event *event, bool *found);

/* Keeps one copy of each text, in a tree that begins as NULL and ends with tdestroy(tree, free).
 * Equal texts have equal pointers. NULL: no host memory. */
const char *trace_keep_text(void **tree, const char *text);

#endif
