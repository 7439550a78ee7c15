/* SPDX-License-Identifier: MIT */
/* Batches that are long enough for the clock, and their median. */
#include "timing.h"

#include <stdlib.h>
#include <time.h>

enum { FEWEST_BATCHES = 2, USUAL_BATCHES = 16, MOST_TIMES = 1 << 20 };

uint64_t clpi_now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void clpi_samples_add(clpi_samples *samples, double nanoseconds)
{
  samples->values[samples->count++] = nanoseconds;
}

static int compare(const void *one, const void *other)
{
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

double clpi_samples_median(clpi_samples *samples)
{
  qsort(samples->values, samples->count, sizeof(samples->values[0]), compare);
  size_t middle = samples->count / 2;
  if (samples->count % 2)
    return samples->values[middle];
  return (samples->values[middle - 1] + samples->values[middle]) / 2;
}

bool clpi_samples_suffice(const clpi_samples *samples, uint64_t begin, double nanoseconds)
{
  if (samples->count < FEWEST_BATCHES)
    return false;
  return samples->count == CLPI_SAMPLES || (double)(clpi_now() - begin) >= nanoseconds;
}

/* What one batch takes, altogether. */
static int time_batch(clpi_timed *run, void *self, size_t times, double *nanoseconds)
{
  uint64_t begin = clpi_now();
  int code = run(self, times);
  *nanoseconds = (double)(clpi_now() - begin);
  return code;
}

int clpi_time(clpi_timed *run, void *self, double budget, double *median)
{
  clpi_samples samples = {0};
  double took = 0.0;
  size_t times = 1;
  uint64_t begin = clpi_now();
  int code = time_batch(run, self, times, &took); /* a first time, with all that comes with it */
  while (!code && took < budget / USUAL_BATCHES && times < MOST_TIMES) {
    times *= 2;
    code = time_batch(run, self, times, &took);
  }
  while (!code && !clpi_samples_suffice(&samples, begin, budget)) {
    code = time_batch(run, self, times, &took);
    clpi_samples_add(&samples, took / (double)times);
  }
  if (!code)
    *median = clpi_samples_median(&samples);
  return code;
}
