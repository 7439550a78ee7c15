/* SPDX-License-Identifier: MIT */
/* Timing what is over too soon for a clock: many times at once, and the median of such batches, so
 * that what else the machine does now and then is not in the result. */
#ifndef CLPOOL_TOOLS_TIMING_H
#define CLPOOL_TOOLS_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nanoseconds of a clock that never goes back. */
uint64_t clpi_now(void);

/* What batches took, nanoseconds for one time each. Begins as {0}. */
enum { CLPI_SAMPLES = 101 };
typedef struct clpi_samples {
  size_t count;
  double values[CLPI_SAMPLES];
} clpi_samples;

/* There must be room. */
void clpi_samples_add(clpi_samples *samples, double nanoseconds);

/* Puts the samples, of which there is one at least, into order. */
double clpi_samples_median(clpi_samples *samples);

/* When to stop: not before a few batches, then when the time is over or the samples are full. */
bool clpi_samples_suffice(const clpi_samples *samples, uint64_t begin, double nanoseconds);

/* Does something `times` times. Returns an exit code, with a complaint if it is not 0. */
typedef int clpi_timed(void *self, size_t times);

/* Times it for about `budget` nanoseconds, more if a few batches take longer; `*median` is for one
 * time. Returns the exit code of `run`. */
int clpi_time(clpi_timed *run, void *self, double budget, double *median);

#endif
