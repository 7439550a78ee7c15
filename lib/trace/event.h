/* SPDX-License-Identifier: MIT */
/* One row of an allocation trace: its fields, and how they are written. */
#ifndef CLPOOL_TRACE_EVENT_H
#define CLPOOL_TRACE_EVENT_H

#include <stddef.h>
#include <stdint.h>

typedef enum clpi_trace_action {
  CLPI_TRACE_ALLOCATE,
  CLPI_TRACE_ALLOCATE_FAILURE,
  CLPI_TRACE_FREE
} clpi_trace_action;

/* The fields, in the order of a row. */
typedef enum clpi_trace_field {
  CLPI_TRACE_THREAD,
  CLPI_TRACE_TIME,
  CLPI_TRACE_ACTION,
  CLPI_TRACE_POINTER,
  CLPI_TRACE_SIZE,
  CLPI_TRACE_STREAM,
  CLPI_TRACE_FIELDS
} clpi_trace_field;

typedef struct clpi_trace_event {
  uint64_t thread;
  uint64_t nanoseconds; /* time of day */
  clpi_trace_action action;
  uint64_t pointer; /* 0 where the allocation failed, and for no bytes */
  uint64_t size;    /* bytes */
  uint64_t stream;
  uint64_t line;                     /* where the row stands in its file, from 1 */
  size_t columns[CLPI_TRACE_FIELDS]; /* where each field begins in it, from 1 */
} clpi_trace_event;

/* The field's name, as the header has it. */
const char *clpi_trace_field_name(clpi_trace_field field);

/* Reads one field, `length` bytes at `text`, into `*event`. NULL, or else what was expected, in
 * words that live for ever. */
const char *clpi_trace_field_parse(clpi_trace_field field, const char *text, size_t length,
                                   clpi_trace_event *event);

#endif
