/* SPDX-License-Identifier: MIT */
/* One row of an allocation trace: its fields, and reading them. */
#ifndef CLPOOL_TRACE_EVENT_H
#define CLPOOL_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum trace_action { TRACE_ALLOCATE, TRACE_ALLOCATE_FAILURE, TRACE_FREE } trace_action;

/* The kind of memory of a row. Each kind has its own pools, because memory of one kind cannot serve
 * another. */
typedef enum trace_kind {
  TRACE_NO_KIND, /* the trace does not say */
  TRACE_BUFFER,
  TRACE_IMAGE,
  TRACE_SVM,
  TRACE_OTHER_KIND, /* one that this reader does not know */
  TRACE_KINDS
} trace_kind;

/* Returns the name of a kind in traces; "" for none. */
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
  uint64_t pointer; /* 0 if the allocation failed, and for 0 bytes */
  uint64_t size;    /* bytes */
  uint64_t stream;
  uint64_t context; /* identifies its pools: by a context, a name, or both */
  const char *pool; /* its name, "" for none; NULL: no such column. Lives as long as the reader */
  uint64_t flags;   /* of the call that made the memory */
  uint64_t stack;   /* number of the innermost frame; 0: unknown */
  uint64_t line;    /* the line of the row in its file, from 1 */
  size_t columns[TRACE_FIELDS + 1]; /* the column in which each field begins, from 1; 0: none */
} trace_event;

/* Returns the field of a column. TRACE_FIELDS: unknown. */
trace_field trace_field_find(const char *name);

/* Reads a field into `*event`; a pool's name borrows the text. Returns NULL, or what was expected,
 * in words that are always valid. TRACE_FIELDS accepts any text. */
const char *trace_field_parse(trace_field field, const char *text, trace_event *event);

/* Returns the place of a text in a list; `count`: it is not there. */
unsigned trace_find_name(const char *text, const char *const names[], unsigned count);

/* Reads `length` bytes as a number of this base, at most 16. False: it is none, or does not fit. */
bool trace_read_number(const char *text, size_t length, unsigned base, uint64_t *number);

#endif
