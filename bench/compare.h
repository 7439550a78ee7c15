/* SPDX-License-Identifier: MIT */
/* Contests between sources of blocks, from the list of them to the printed result. */
#ifndef BENCH_COMPARE_H
#define BENCH_COMPARE_H

#include "report.h"

/** Has the sources that the pattern suits compete, on as many threads as the pattern takes, or on
 * 1, 2, 4, ... times as many, up to what the options allow; and reports. False if one of them
 * failed, which has said why. */
bool bench_compare(const bench_options *options, const bench_title *title, bench_source *sources,
                   size_t count);

/** A contest that a device has. */
typedef struct bench_event {
  unsigned contest; /**< its number, as in bench_options.contest_names */
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

#endif
