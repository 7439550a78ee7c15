/* SPDX-License-Identifier: MIT */
/* One row of an allocation trace: its fields, and how they are written. */
#ifndef CLPOOL_TRACE_EVENT_H
#define CLPOOL_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum trace_action { TRACE_ALLOCATE, TRACE_ALLOCATE_FAILURE, TRACE_FREE } trace_action;

/* What memory a row is about. Each kind has pools of its own: memory of one kind cannot serve
 * another. */
typedef enum trace_kind {
  TRACE_NO_KIND, /* the trace does not tell */
  TRACE_BUFFER,
  TRACE_IMAGE,
  TRACE_SVM,
  TRACE_OTHER_KIND, /* one that this reader does not know */
  TRACE_KINDS
} trace_kind;

/* As the trace has it; "" for none. */
const char *trace_kind_name(trace_kind kind);

/* The fields. Their names are those of the columns. */
typedef enum trace_field {
  TRACE_THREAD,
  TRACE_TIME,
  TRACE_ACTION,
  TRACE_POINTER,
  TRACE_SIZE,
  TRACE_STREAM,
  TRACE_CONTEXT,
  TRACE_POOL,
  TRACE_KIND,
  TRACE_FLAGS,
  TRACE_STACK,
  TRACE_FIELDS
} trace_field;

/* Fields without a column are 0. */
typedef struct trace_event {
  uint64_t thread;
  uint64_t nanoseconds; /* time of day */
  trace_action action;
  trace_kind kind;
  uint64_t pointer; /* 0 where the allocation failed, and for no bytes */
  uint64_t size;    /* bytes */
  uint64_t stream;
  uint64_t context; /* what has pools of its own: a context, or a name, or both together */
  const char *pool; /* its name, "" for none; NULL without that column. As long as the reader */
  uint64_t flags;   /* of the call that made the memory */
  uint64_t stack;   /* number of the innermost frame; 0: unknown */
  uint64_t line;    /* where the row stands in its file, from 1 */
  size_t columns[TRACE_FIELDS + 1]; /* where each field begins in it, from 1; 0: not there */
} trace_event;

/* The field of a column; TRACE_FIELDS: it is of none. */
trace_field trace_field_find(const char *name);

/* Reads a field into `*event`; of a pool, that borrows the text. NULL, or else what was expected,
 * in words that live for ever. TRACE_FIELDS may be anything. */
const char *trace_field_parse(trace_field field, const char *text, trace_event *event);

/* Whether the `length` bytes at `text` are a number of this base, at most 16, that fits. */
bool trace_read_number(const char *text, size_t length, unsigned base, uint64_t *number);

#endif
