/* SPDX-License-Identifier: MIT */
/* The lines of a text file, plain or gzipped, one at a time and in constant memory. */
#ifndef CLPOOL_TRACE_LINES_H
#define CLPOOL_TRACE_LINES_H

#include "trace/input.h"

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line, in bytes; what a trace needs is well below. */
enum { TRACE_LINE_MAX = 1024 };

/* A file that is being read. */
typedef struct trace_lines trace_lines;

/* One line, without its line end ("\n" or "\r\n"; the last line may lack it). */
typedef struct trace_line {
  const char *text; /* may hold any byte, 0 too; borrowed until the next call */
  size_t length;
  uint64_t number; /* from 1 */
  bool cut;        /* longer than TRACE_LINE_MAX: `text` is how it begins */
} trace_line;

/* Opens the file at `path`, "-" for standard input.
 * CLP_IO_ERROR: it cannot be opened, or is a directory. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_lines_open(const char *path, trace_lines **out);

/* The lines of `input`, which belongs to the object on success. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_lines_of(trace_input *input, trace_lines **out);

void trace_lines_close(trace_lines *lines);

/* Gives the next line, or sets `*found` to false at the end of the file. After a failure, or a line
 * that was cut, only rewind and close make sense. Fails as trace_input_read does. */
clp_status trace_lines_next(trace_lines *lines, trace_line *line, bool *found);

/* Goes back to the first line. CLP_IO_ERROR where the input cannot be read twice. */
clp_status trace_lines_rewind(trace_lines *lines);

/* What messages call the file. */
const char *trace_lines_name(const trace_lines *lines);

#endif
