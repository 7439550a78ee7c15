/* SPDX-License-Identifier: MIT */
/* Saying what went wrong. */
#ifndef BENCH_FAILED_H
#define BENCH_FAILED_H

#include <stdbool.h>

/** Tells stderr, as printf does, with the program's name before it and a line feed behind. Returns
 * false. */
bool bench_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
