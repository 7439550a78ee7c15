/* SPDX-License-Identifier: MIT */
/* Sizes as people write them (clpool/bytes.h). */
#ifndef CLPOOL_CORE_BASE_BYTES_H
#define CLPOOL_CORE_BASE_BYTES_H

#include <clpool/bytes.h>
#include <stdbool.h>

/* A part of `whole`, 0 to 1, rounded down. What is more than 0 is at least one byte, for 0 would
 * mean no limit. */
size_t clpi_part_of_bytes(size_t whole, double part);

/* Reads a part, 0 to 1, such as "0.016"; false, and `*part` as it was, if it is none. */
bool clpi_part_parse(const char *text, double *part);

#endif
