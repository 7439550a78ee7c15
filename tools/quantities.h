/* SPDX-License-Identifier: MIT */
/* Numbers read from arguments; sizes, counts and times written for people. */
#ifndef CLPOOL_TOOLS_QUANTITIES_H
#define CLPOOL_TOOLS_QUANTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
