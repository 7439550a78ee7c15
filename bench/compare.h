/* SPDX-License-Identifier: MIT */
/* Contests between sources of blocks, from the list of them to the printed result. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

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

/** Has the sources compete, on as many threads as the pattern takes, or on 1, 2, 4, ... times as
 * many, up to what the options allow; reports, and releases the sources' pools. False if one of
 * them failed, or has no pool that should have one, which was said. */
bool bench_compare(const bench_options *options, const bench_title *title, bench_source *sources,
                   size_t count);

/** A contest that a device has. */
typedef struct bench_event {
  const char *contest; /**< its name, as --contest takes it */
  const bench_pattern *pattern;
  bool each_size; /**< held for each size that the user wants, not for the first alone */
  bool scales;    /**< as bench_title.scales */
  /** Holds it, with `device` as passed to bench_hold; false if that failed, which it has said. */
  bool (*hold)(void *device, const bench_options *options, const bench_title *title);
} bench_event;

/** Holds those of the events that the user wants, on a device of that name. False: one failed, and
 * said why. */
bool bench_hold(const bench_event *events, size_t count, const bench_options *options,
                const char *name, void *device);

/** Prints the results of a contest: a table, or with --json an object a line and contender. */
void bench_report(const bench_title *title, const bench_contender *contenders, size_t count,
                  const bench_options *options);

#endif
