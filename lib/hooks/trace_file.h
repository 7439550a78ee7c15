/* SPDX-License-Identifier: MIT */
/* The file of a trace: rows of RMM's log format and columns of our own, through a buffer. Has no
 * lock. */
#ifndef CLPOOL_HOOKS_TRACE_FILE_H
#define CLPOOL_HOOKS_TRACE_FILE_H

#include "hooks/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CLPI_TRACE_BUFFER_BYTES = 64 * 1024 };

/* Columns beyond RMM's, in the order of the file; with a kind go a context and flags. */
enum { CLPI_TRACE_KIND = 1, CLPI_TRACE_POOL = 2, CLPI_TRACE_STACK = 4 };

typedef struct clpi_trace_file {
  FILE *file;
  bool is_own;           /* nobody else writes to it; unbuffered by stdio */
  unsigned columns;      /* CLPI_TRACE_KIND and so on */
  int failure;           /* errno of the first failure, after which nothing is written; 0: none */
  uint64_t written;      /* bytes in the file */
  clpi_call_tree frames; /* those defined in the file; without nodes until there is a stack */
  size_t filled;
  char buffer[CLPI_TRACE_BUFFER_BYTES];
} clpi_trace_file;

typedef struct clpi_trace_row {
  const char *action; /* "allocate", "allocate failure" or "free" */
  uintptr_t memory;
  uint64_t bytes;
  uintptr_t stream; /* 0: unknown, or the default one */
  /* Written where the file has the column: */
  uint64_t context;
  const char *kind; /* "buffer", "image" or "svm" */
  uint64_t flags;
  const char *pool;         /* its name, NULL for none; up to 64 bytes */
  const clpi_frames *stack; /* NULL for none */
} clpi_trace_row;

/* Begins with the header, which is only buffered. Nothing else of `*self` need be set. */
void clpi_trace_file_begin(clpi_trace_file *self, FILE *file, bool is_own, unsigned columns);

/* Ends what it has beside the file. */
void clpi_trace_file_end(clpi_trace_file *self);

/* Adds a column while there is but the header, unless that was written to where it cannot be
 * written again. */
void clpi_trace_file_add_column(clpi_trace_file *self, unsigned column);

/* Adds a row of the calling thread and of this moment, and before it the frames of its stack that
 * are new. */
void clpi_trace_file_put(clpi_trace_file *self, const clpi_trace_row *row);

/* Writes what is buffered. What a full disk cuts short, readers leave out. */
void clpi_trace_file_flush(clpi_trace_file *self);

/* Ends the trace here, since it could not be replayed beyond. What was recorded before is kept. */
void clpi_trace_file_stop(clpi_trace_file *self, int code);

/* Keeps the errno of a failure, if it is the first. */
void clpi_trace_file_fail(clpi_trace_file *self, int code);

/* errno of the stdio call that just failed, or EIO if it set none. The caller set errno to 0
 * before. */
int clpi_trace_file_code(void);

#endif
