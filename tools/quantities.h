/* SPDX-License-Identifier: MIT */
/* Sizes, counts and times: read from arguments, and written for people. */
#ifndef CLPOOL_TOOLS_QUANTITIES_H
#define CLPOOL_TOOLS_QUANTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum clpi_size_result {
  CLPI_SIZE_READ,
  CLPI_NO_SIZE,
  CLPI_SIZE_TOO_LARGE, /* more than a size_t counts */
  CLPI_SIZE_OF_UNKNOWN /* a part of a device's memory, which is unknown */
} clpi_size_result;

/* A size: decimal digits, with a point and more of them or not, then K, M, G, T, KiB, MiB, GiB or
 * TiB, all powers of 1024, or a percent sign, for a part of `device_bytes` (0: unknown). Rounded
 * down, but what is not 0 is at least one byte. `*bytes` is set where that succeeds. */
clpi_size_result clpi_read_size(const char *text, size_t device_bytes, size_t *bytes);

/* A decimal number of at most `most`. */
bool clpi_read_unsigned(const char *text, unsigned most, unsigned *number);

/* A finite number above 0. */
bool clpi_read_factor(const char *text, double *factor);

/* A number from 0 to 1. */
bool clpi_read_part(const char *text, double *part);

/* A quantity as it is shown, by value. */
typedef struct clpi_shown {
  char text[48];
} clpi_shown;

clpi_shown clpi_show_bytes(uint64_t bytes);    /* "512 bytes", "1.50 MiB" */
clpi_shown clpi_show_time(double nanoseconds); /* "105 ns", "1.52 us" */
clpi_shown clpi_show_count(uint64_t count);    /* "8662" */
clpi_shown clpi_show_ratio(double ratio);      /* "3.00" */

#endif
