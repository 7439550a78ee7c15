/* SPDX-License-Identifier: MIT */
/* Reads an allocation trace, row by row: CSV with a header that names the columns, as RMM's log:
 *
 *   Thread,Time,Action,Pointer,Size,Stream
 *
 * Columns may be in any order. Action, Pointer and Size must be there; others may be missing, or
 * may be unknown to this reader, which skips them. Lines that begin with # are no rows. The last
 * line is left out if it has no end: the program was killed as it wrote it.
 *
 * A file may be gzipped, and is never held in memory. Messages about what it says read
 *
 *   FILE:LINE:COLUMN: expected <what>, found <what>
 *
 * with lines and columns (bytes) from 1; a column is where the field in question begins. */
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
  trace_field columns[TRACE_MOST_COLUMNS]; /* TRACE_FIELDS: unknown, to be skipped */
  size_t column_count;                     /* 0: the header was not read yet */
  void *names;                             /* of pools, kept once */
  bool is_lenient;         /* the caller's to set: frees of what is not live, of a log that began
                            * late, are left out */
  uint64_t left_out;       /* such rows so far: counted by who knows what is live */
  uint64_t first_left_out; /* the line of the first */
  uint64_t broken_line;    /* the last line, which has no end; 0: none such was read */
  /* The caller's to set: takes the frames that the trace defines, and rows of others are refused.
   * NULL: frames are skipped. */
  trace_stacks *stacks;
} trace_reader;

/* Reads from `descriptor`, which is closed with the reader, and at once if that cannot be made;
 * `name` is for messages. Of descriptor -1, opens the trace of that name, "-" for standard input.
 * Nothing is read yet. CLP_IO_ERROR: it cannot be opened, or is a directory.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_open(int descriptor, const char *name, trace_reader **out);

/* NULL is a no-op. */
void trace_close(trace_reader *reader);

/* Gives the next row, or sets `*found` to false at the end of the trace. After a failure only
 * close makes sense.
 * CLP_INVALID_ARGUMENT: the file is no trace, or malformed.
 * CLP_IO_ERROR: it cannot be read on, or its compressed text is damaged or ends too early.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_next(trace_reader *reader, trace_event *event, bool *found);

/* Keeps a text once, in a tree that begins as NULL and ends with tdestroy(tree, free): where two
 * texts are the same, so are the pointers. NULL: no host memory. */
const char *trace_keep_text(void **tree, const char *text);

#endif
