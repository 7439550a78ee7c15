/* SPDX-License-Identifier: MIT */
/* What a contest came to, as a table or as JSON. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "contest.h"
#include "options.h"
#include "source.h"

/** What a contest is about. */
typedef struct bench_title {
  const char *contest; /**< its name */
  const char *device;  /**< where the memory is, or what tells a contest's tables apart */
  const bench_pattern *pattern;
  size_t bytes; /**< of a block, where the pattern has one size */
  bool scales;  /**< each on 1, 2, 4, ... threads that do the same at once */
} bench_title;

/** Prints the results: a table, or with --json an object a line and contender. */
void bench_report(const bench_title *title, const bench_contender *contenders, size_t count,
                  const bench_options *options);

#endif
