/* SPDX-License-Identifier: MIT */
/* What the examples that measure share: the clock, medians, and numbers on the command line. */
#ifndef EXAMPLE_MEASURE_H
#define EXAMPLE_MEASURE_H

#include <stddef.h>

double now_in_microseconds(void);

/* Sorts the values. */
double median(double *values, size_t count);

/* The number that the option --name was given, 1 to `most`; else ends the example with status 2. */
size_t read_count(const char *name, const char *text, size_t most);

#endif
