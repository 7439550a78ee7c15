/* SPDX-License-Identifier: MIT */
/* Time since a trace began: its rows have only the time of day. */
#ifndef CLPOOL_TRACE_ELAPSED_H
#define CLPOOL_TRACE_ELAPSED_H

#include <stdbool.h>
#include <stdint.h>

/* Begins as {0}. */
typedef struct trace_elapsed {
  bool has_begun;
  uint64_t time_of_day; /* nanoseconds, the latest so far */
  uint64_t nanoseconds; /* since the first */
} trace_elapsed;

/* Takes the next row's time of day; gives the nanoseconds since the first. They never go back: a
 * time up to an hour earlier than the latest (threads that were overtaken, a clock that was set)
 * counts as the latest; any other is later, if need be past midnight. */
uint64_t trace_elapsed_next(trace_elapsed *clock, uint64_t time_of_day);

#endif
