/* SPDX-License-Identifier: MIT */
/* Writes a trace to a file, through a buffer: rows of RMM's log format, with columns of our own. It
 * has no lock. */
#ifndef CLPOOL_HOOKS_TRACE_FILE_H
#define CLPOOL_HOOKS_TRACE_FILE_H

#include "hooks/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CLPI_TRACE_BUFFER_BYTES = 64 * 1024 };

/* Columns beyond RMM's, in the order of the file. Those of a kind include a context and flags. */
enum { CLPI_TRACE_KIND = 1, CLPI_TRACE_POOL = 2, CLPI_TRACE_STACK = 4 };

typedef struct clpi_trace_file {
  FILE *file;
  bool is_own;           /* only this struct writes to it, and stdio does not buffer it */
  unsigned columns;      /* CLPI_TRACE_... */
  int failure;           /* errno of the first failure, after which nothing is written; 0: none */
  uint64_t written;      /* bytes in the file */
  clpi_call_tree frames; /* the frames defined in the file; without nodes until the first stack */
  size_t filled;
  char buffer[CLPI_TRACE_BUFFER_BYTES];
} clpi_trace_file;

typedef struct clpi_trace_row {
  const char *action; /* "allocate", "allocate failure" or "free" */
  uintptr_t memory;
  uint64_t bytes;
  uintptr_t stream; /* 0: unknown, or the default one */
  /* Written if the file has the column: */
  uint64_t context;
  const char *kind; /* "buffer", "image" or "svm" */
  uint64_t flags;
  const char *pool;         /* its name, NULL for none; up to 64 bytes */
  const clpi_frames *stack; /* NULL for none */
} clpi_trace_row;

/* Initializes `*self` and buffers the header. */
void clpi_trace_file_begin(clpi_trace_file *self, FILE *file, bool is_own, unsigned columns);

/* Frees the struct's memory. It does not close the file. */
void clpi_trace_file_end(clpi_trace_file *self);

/* Adds a column if the trace has only its header so far, and the header can be written again. */
void clpi_trace_file_add_column(clpi_trace_file *self, unsigned column);

/* Adds a row with the calling thread and the time, after the new frames of its stack. */
void clpi_trace_file_put(clpi_trace_file *self, const clpi_trace_row *row);

/* Writes the buffer. Readers leave out a row that a full disk cut short. */
void clpi_trace_file_flush(clpi_trace_file *self);

/* Ends the trace here, because what follows could not be replayed. Earlier rows are kept. */
void clpi_trace_file_stop(clpi_trace_file *self, int code);

/* Stores the errno of a failure, if it is the first. */
void clpi_trace_file_fail(clpi_trace_file *self, int code);

/* Returns the errno of the stdio call that just failed, or EIO if it set none. Set errno to 0
 * before that call. */
int clpi_trace_file_code(void);

#endif
