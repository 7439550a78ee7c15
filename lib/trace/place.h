/* SPDX-License-Identifier: MIT */
/* Messages about a place in a text file, such as
 *
 *   trace.csv:7:12: expected a size in bytes, a decimal number, found "-1"
 *
 * with lines and columns (bytes) from 1. */
#ifndef CLPOOL_TRACE_PLACE_H
#define CLPOOL_TRACE_PLACE_H

#include <clpool/status.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text as it is shown in a message: quoted, cut, and printable whatever it was. */
typedef struct clpi_found_text {
  char text[192];
} clpi_found_text;

/* `cut` says that there was more of it. */
clpi_found_text clpi_show_found(const char *text, size_t length, bool cut);

/* Sets the last error to "NAME:LINE:COLUMN: " and the rest; returns CLP_INVALID_ARGUMENT. */
clp_status clpi_reject_place(const char *name, uint64_t line, size_t column, const char *format,
                             ...) __attribute__((format(printf, 4, 5)));

/* The same with the rest's arguments as a list. */
clp_status clpi_vreject_place(const char *name, uint64_t line, size_t column, const char *format,
                              va_list arguments) __attribute__((format(printf, 4, 0)));

#endif
