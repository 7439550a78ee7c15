/* SPDX-License-Identifier: MIT */
/* The lines of a text file, plain or gzipped, one at a time and in constant memory. */
#ifndef CLPOOL_TRACE_LINES_H
#define CLPOOL_TRACE_LINES_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  TRACE_LINE_MAX = 8192,  /* the longest line, in bytes */
  TRACE_NAME_BYTES = 256, /* of a file's name in a message, which needs room for its text, too */
};

/* A file that is being read, and its latest line, without the line end ("\n" or "\r\n"). */
typedef struct trace_lines {
  struct gzFile_s *file;
  uint64_t file_bytes;         /* as stored; 0: unknown */
  char name[TRACE_NAME_BYTES]; /* for messages: its path, only the end if it is very long */
  uint64_t number;             /* of the line, from 1 */
  bool cut;     /* the line is longer than TRACE_LINE_MAX, or has a zero byte: `text` is cut */
  bool has_end; /* only the last line may lack it, if the program was killed as it wrote */
  size_t length;
  char text[TRACE_LINE_MAX + sizeof("\n")]; /* the caller may change it */
} trace_lines;

/* Begins to read from `descriptor`, and closes it with the object, or at once on failure. `name` is
 * for messages. If descriptor is -1, opens the file of that name, "-" for standard input.
 * CLP_IO_ERROR: it cannot be opened, or is a directory. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_lines_open(int descriptor, const char *name, trace_lines *lines);

void trace_lines_close(trace_lines *lines);

/* Gives the next line, or sets `*found` to false at the end of the file. After a failure, or a line
 * that was cut, only trace_lines_close is allowed.
 * CLP_IO_ERROR: the file cannot be read, or its compressed text is damaged or ends too early.
 * CLP_OUT_OF_HOST_MEMORY: from zlib. */
clp_status trace_lines_next(trace_lines *lines, bool *found);

#endif
