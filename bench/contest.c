/* SPDX-License-Identifier: MIT */
/* Timing contenders in turns, and the medians of what they took. */
#include "contest.h"

#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds for one time, over `times` of them; negative on failure. */
static double turn(const bench_contender *contender, size_t times)
{
  double start = now_ns();
  if (!contender->run(contender->self, times))
    return -1;
  return (now_ns() - start) / (double)times;
}

/* How many times fit in a turn; 0 on failure. Doubles until the clock can be trusted, which warms
 * the contender up as well. */
static size_t times_in_turn(const bench_contender *contender, double ns_a_turn)
{
  for (size_t times = 1;; times *= 2) {
    double ns = turn(contender, times);
    if (ns < 0)
      return 0;
    if (ns * (double)times < ns_a_turn / 4)
      continue;
    size_t fitting = (size_t)(ns_a_turn / ns);
    return fitting > 0 ? fitting : 1;
  }
}

static int ascending(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(const double *values, unsigned count)
{
  double sorted[BENCH_MAX_ROUNDS];
  for (unsigned i = 0; i < count; i++)
    sorted[i] = values[i];
  qsort(sorted, count, sizeof *sorted, ascending);
  return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

bool bench_contest(bench_contender *contenders, size_t count, const bench_effort *effort)
{
  double ns[BENCH_MAX_CONTENDERS][BENCH_MAX_ROUNDS], ratio[BENCH_MAX_ROUNDS];
  size_t times[BENCH_MAX_CONTENDERS];

  for (size_t i = 0; i < count; i++) {
    times[i] = times_in_turn(&contenders[i], effort->ns_a_turn);
    if (times[i] == 0)
      return false;
  }
  for (unsigned round = 0; round < effort->rounds; round++) {
    for (size_t i = 0; i < count; i++) {
      ns[i][round] = turn(&contenders[i], times[i]);
      if (ns[i][round] < 0)
        return false;
    }
  }
  for (size_t i = 0; i < count; i++) {
    for (unsigned round = 0; round < effort->rounds; round++)
      ratio[round] = ns[i][round] / ns[0][round];
    contenders[i].ns = median(ns[i], effort->rounds);
    contenders[i].ratio = median(ratio, effort->rounds);
  }
  return true;
}
