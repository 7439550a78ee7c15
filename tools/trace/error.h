/* SPDX-License-Identifier: MIT */
/* Reporting failures: one call sets the thread's last error and returns the status to return.
 * Messages about a place in a text file have the form
 *
 *   trace.csv:7:12: expected a size in bytes, a decimal number, found "-1"
 *
 * with lines and columns (bytes) from 1. */
#ifndef CLPOOL_TRACE_ERROR_H
#define CLPOOL_TRACE_ERROR_H

#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_MESSAGE_BYTES = 512 }; /* messages are cut, as by clp_set_last_error */

/* Sets the calling thread's last error and returns `status`. Never allocates. */
clp_status trace_error(clp_status status, int native_code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Text as a message shows it: quoted, cut, and printable. */
typedef struct trace_found_text {
  char text[192];
} trace_found_text;

/* Returns text for a message. `cut`: there was more of it. */
trace_found_text trace_show_found(const char *text, size_t length, bool cut);

/* Sets the last error to "NAME:LINE:COLUMN: " and the message, and returns CLP_INVALID_ARGUMENT. */
clp_status trace_error_at(const char *name, uint64_t line, size_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Makes an array larger, to at least `wanted` elements of `size` bytes: the new ones are zeros.
 * Returns where it is then; NULL: no host memory for so many `what`, and it is as it was. */
void *trace_grow(void *array, size_t *capacity, size_t wanted, size_t size, const char *what);

#endif
