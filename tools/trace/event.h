/* SPDX-License-Identifier: MIT */
/* One row of an allocation trace: its fields, and how they are written. */
#ifndef CLPOOL_TRACE_EVENT_H
#define CLPOOL_TRACE_EVENT_H

#include <stddef.h>
#include <stdint.h>

typedef enum trace_action { TRACE_ALLOCATE, TRACE_ALLOCATE_FAILURE, TRACE_FREE } trace_action;

/* The fields, in the order of a row. */
typedef enum trace_field {
  TRACE_THREAD,
  TRACE_TIME,
  TRACE_ACTION,
  TRACE_POINTER,
  TRACE_SIZE,
  TRACE_STREAM,
  TRACE_CONTEXT, /* only where the header has it */
  TRACE_POOL,    /* likewise, in its place */
  TRACE_FIELDS
} trace_field;

typedef struct trace_event {
  uint64_t thread;
  uint64_t nanoseconds; /* time of day */
  trace_action action;
  uint64_t pointer; /* 0 where the allocation failed, and for no bytes */
  uint64_t size;    /* bytes */
  uint64_t stream;
  uint64_t context; /* what has a pool of its own; 0 without fields for that */
  const char *pool; /* its name, "" for none; NULL without that field. As long as the reader */
  uint64_t line;    /* where the row stands in its file, from 1 */
  size_t columns[TRACE_FIELDS]; /* where each field begins in it, from 1; 0: not there */
} trace_event;

/* The field's name, as the header has it. */
const char *trace_field_name(trace_field field);

/* Reads one field but TRACE_POOL, `length` bytes at `text`, into `*event`. NULL, or else what was
 * expected, in words that live for ever. */
const char *trace_field_parse(trace_field field, const char *text, size_t length,
                              trace_event *event);

#endif
