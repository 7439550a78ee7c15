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
enum { CLPI_LINE_MAX = 1024 };

/* A file that is being read. */
typedef struct clpi_lines clpi_lines;

/* One line, without its line end ("\n" or "\r\n"; the last line may lack it). */
typedef struct clpi_line {
  const char *text; /* may hold any byte, 0 too; borrowed until the next call */
  size_t length;
  uint64_t number; /* from 1 */
  bool cut;        /* longer than CLPI_LINE_MAX: `text` is how it begins */
} clpi_line;

/* Opens the file at `path`, "-" for standard input.
 * CLP_IO_ERROR: it cannot be opened, or is a directory. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_lines_open(const char *path, clpi_lines **out);

/* The lines of `input`, which belongs to the object on success. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_lines_of(clpi_input *input, clpi_lines **out);

void clpi_lines_close(clpi_lines *lines);

/* Gives the next line, or sets `*found` to false at the end of the file. After a failure, or a line
 * that was cut, only rewind and close make sense. Fails as clpi_input_read does. */
clp_status clpi_lines_next(clpi_lines *lines, clpi_line *line, bool *found);

/* Goes back to the first line. CLP_IO_ERROR where the input cannot be read twice. */
clp_status clpi_lines_rewind(clpi_lines *lines);

/* What messages call the file. */
const char *clpi_lines_name(const clpi_lines *lines);

#endif
