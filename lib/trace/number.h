/* SPDX-License-Identifier: MIT */
/* Whole numbers of 64 bits in a text: digits, and nothing else. */
#ifndef CLPOOL_TRACE_NUMBER_H
#define CLPOOL_TRACE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { CLPI_DECIMAL = 10, CLPI_HEXADECIMAL = 16 };

typedef enum clpi_number_result {
  CLPI_NUMBER_READ,
  CLPI_NO_NUMBER,
  CLPI_NUMBER_TOO_LARGE
} clpi_number_result;

/* Reads the `length` bytes at `text`; `*number` means nothing unless that succeeds. */
clpi_number_result clpi_read_number(const char *text, size_t length, unsigned base,
                                    uint64_t *number);

#endif
