/* SPDX-License-Identifier: MIT */
/* How long a program would wait for its memory on a device, from what each part of that costs. */
#ifndef CLPOOL_TRACE_TUNE_ESTIMATE_H
#define CLPOOL_TRACE_TUNE_ESTIMATE_H

#include "trace/costs.h"
#include "trace/player.h"

/* Nanoseconds, all in all. */
typedef struct trace_tune_time {
  double host;        /* in the pool and the arena themselves, measured in the replay */
  double sub_buffers; /* in the driver, which makes an arena's blocks */
  double device;      /* in the driver, which gives and takes blocks or segments */
  double first_use;   /* what writing to fresh memory takes beyond writing to it again */
} trace_tune_time;

static inline double trace_tune_time_sum(const trace_tune_time *time)
{
  return time->host + time->sub_buffers + time->device + time->first_use;
}

/* An estimate as it is made, while a player plays. */
typedef struct trace_tune_estimate {
  const trace_cost_table *costs; /* borrowed */
  trace_tune_time before;        /* until the last pass began */
  uint64_t operations_before;
  double host, device, first_use; /* so far */
} trace_tune_estimate;

/* Whether an arena's blocks are made by the driver, as sub-buffers are: that has a cost. */
bool trace_tune_estimate_has_parts(const trace_cost_table *costs);

/* For trace_metering_allocator_watch: a block was taken from the device or went back. */
void trace_tune_estimate_block(size_t bytes, bool is_taken, void *estimate);

/* A pass begins, and what came before does not count. */
void trace_tune_estimate_restart(trace_tune_estimate *estimate, const trace_player *player);

/* The time since then; `*operations` is how many there were. */
trace_tune_time trace_tune_estimate_read(const trace_tune_estimate *estimate,
                                         const trace_player *player, uint64_t *operations);

#endif
