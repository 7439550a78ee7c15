/* SPDX-License-Identifier: MIT */
/* Time goes on through midnight, and does not go back. A leap second is the next day's first. */
#include "trace/elapsed.h"

static const uint64_t hour = UINT64_C(3600) * 1000000000;
static const uint64_t day = UINT64_C(24) * 3600 * 1000000000;

uint64_t trace_elapsed_next(trace_elapsed *clock, uint64_t time_of_day)
{
  if (!clock->has_begun) {
    clock->has_begun = true;
    clock->time_of_day = time_of_day % day;
  }
  uint64_t later = (time_of_day + day - clock->time_of_day) % day;
  if (later < day - hour) {
    clock->nanoseconds += later;
    clock->time_of_day = time_of_day % day;
  }
  return clock->nanoseconds;
}
