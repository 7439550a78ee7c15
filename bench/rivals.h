/* SPDX-License-Identifier: MIT */
/* The mallocs that pools are compared with: the C library's, and those that happen to be here. */
#ifndef BENCH_RIVALS_H
#define BENCH_RIVALS_H

#include "source.h"

enum { BENCH_MAX_RIVALS = 3 };

/** Finds the C library's (always the first), jemalloc's and mimalloc's. Returns how many are here.
 * Once, at the start of the program: it may begin anew, with `argv`, in an environment that lets
 * jemalloc be loaded. */
size_t bench_find_rivals(char **argv, bench_source rivals[BENCH_MAX_RIVALS]);

#endif
