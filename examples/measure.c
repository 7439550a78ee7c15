/* SPDX-License-Identifier: MIT */
/* Clock, medians, and numbers on the command line. */
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double now_in_microseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare_doubles(const void *left, const void *right)
{
  double a = *(const double *)left;
  double b = *(const double *)right;
  return (a > b) - (a < b);
}

double median(double *values, size_t count)
{
  qsort(values, count, sizeof(*values), compare_doubles);
  return values[count / 2];
}

size_t read_count(const char *name, const char *text, size_t most)
{
  char *end;
  unsigned long long count = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && !*end && count >= 1 && count <= most)
    return (size_t)count;
  fprintf(stderr, "--%s=%s: expected a number from 1 to %zu\n", name, text, most);
  exit(2);
}
