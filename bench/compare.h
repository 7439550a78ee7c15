/* SPDX-License-Identifier: MIT */
/* A contest between sources of blocks, from the list of them to the printed result. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "report.h"

/** Has the sources that the pattern suits compete, on as many threads as the pattern takes, or on
 * 1, 2, 4, ... and as many as the options allow; and reports. False if one of them failed, which
 * has said why. */
bool bench_compare(const bench_options *options, const bench_title *title, bench_source *sources,
                   size_t count);

#endif
