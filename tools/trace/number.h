/* SPDX-License-Identifier: MIT */
/* Whole numbers of 64 bits in a text: digits, and nothing else. */
#ifndef CLPOOL_TRACE_NUMBER_H
#define CLPOOL_TRACE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { TRACE_DECIMAL = 10, TRACE_HEXADECIMAL = 16 };

typedef enum trace_number_result {
  TRACE_NUMBER_READ,
  TRACE_NO_NUMBER,
  TRACE_NUMBER_TOO_LARGE
} trace_number_result;

/* Reads the `length` bytes at `text`; `*number` means nothing unless that succeeds. */
trace_number_result trace_read_number(const char *text, size_t length, unsigned base,
                                      uint64_t *number);

#endif
