/* SPDX-License-Identifier: MIT */
/* What the fuzz targets of the formats of traces share. */
#ifndef CLPT_FUZZ_READING_H
#define CLPT_FUZZ_READING_H

#include "trace/reader.h"

#include <stddef.h>
#include <stdint.h>

/** A descriptor of a file that has these bytes, at its begin. */
int fuzz_file(const uint8_t *input, size_t length);

/** Tries a file: whatever it says, it is read or refused, twice alike; and what was read is
 * replayed, with and without a pool, or refused as impossible. */
void fuzz_reading(const uint8_t *input, size_t length, clpi_trace_format format);

#endif
