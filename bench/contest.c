/* SPDX-License-Identifier: MIT */
/* Timing contenders in turns, and the medians of what they took. */
#include "contest.h"

#include <stdlib.h>

/* `times` times on each thread; `took` is for one time on one thread. Processors that slept are
 * slow for about a millisecond, so where more than the caller's is needed, all is done once before.
 */
static bool turn(bench_crew *crew, const bench_contender *contender, size_t times, bench_took *took)
{
  bench_job job = {contender->run, contender->self, contender->threads, times};
  for (unsigned works = contender->threads > 1 ? 2 : 1; works > 0; works--)
    if (!bench_crew_work(crew, &job, took))
      return false;
  took->ns /= (double)times;
  took->cpu_ns /= (double)times * contender->threads;
  return true;
}

/* The most batches that fit, and one at least. */
static size_t times_in(double ns_a_turn, double ns, size_t batch)
{
  size_t batches = (size_t)(ns_a_turn / ns) / batch;
  return (batches > 0 ? batches : 1) * batch;
}

/* Finds out how many times fit in a turn: from what a turn of about that length took, at its best,
 * since some are disturbed; and for as long as several turns, since what has to warm up may be slow
 * at first. */
static bool calibrate(bench_crew *crew, bench_contender *contender, double ns_a_turn)
{
  double spent = 0, best = 0;
  size_t fit = contender->batch;
  do {
    contender->times = fit;
    for (int tries = 0; tries < 3; tries++) {
      bench_took took;
      if (!turn(crew, contender, fit, &took))
        return false;
      best = tries == 0 || took.ns < best ? took.ns : best;
      spent += took.ns * (double)fit;
    }
    fit = times_in(ns_a_turn, best, contender->batch);
    if (fit > 8 * contender->times)
      fit = 8 * contender->times;
  } while (spent < 8 * ns_a_turn || fit > 2 * contender->times);
  contender->times = fit;
  return true;
}

static bool take_turns(bench_crew *crew, bench_contender *contenders, size_t count,
                       const bench_effort *effort)
{
  for (size_t i = 0; i < count; i++)
    if (!calibrate(crew, &contenders[i], effort->ns_a_turn))
      return false;
  for (unsigned round = 0; round < effort->rounds; round++)
    for (size_t i = 0; i < count; i++)
      if (!turn(crew, &contenders[i], contenders[i].times, &contenders[i].rounds[round]))
        return false;
  return true;
}

static int ascending(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* Sorts the values. */
static double median(double *values, unsigned count)
{
  qsort(values, count, sizeof *values, ascending);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static void find_medians(bench_contender *contender, unsigned rounds)
{
  double ns[BENCH_MAX_ROUNDS], cpu_ns[BENCH_MAX_ROUNDS];
  for (unsigned round = 0; round < rounds; round++) {
    ns[round] = contender->rounds[round].ns;
    cpu_ns[round] = contender->rounds[round].cpu_ns;
  }
  contender->median = (bench_took){median(ns, rounds), median(cpu_ns, rounds)};
}

bool bench_contest(bench_contender *contenders, size_t count, const bench_effort *effort)
{
  unsigned most = 1;
  for (size_t i = 0; i < count; i++)
    most = contenders[i].threads > most ? contenders[i].threads : most;
  bench_crew *crew = bench_crew_create(most);
  bool ok = crew != NULL && take_turns(crew, contenders, count, effort);
  bench_crew_end(crew);
  for (size_t i = 0; ok && i < count; i++)
    find_medians(&contenders[i], effort->rounds);
  return ok;
}

double bench_ratio(const bench_contender *contender, const bench_contender *basis, unsigned rounds)
{
  double ratios[BENCH_MAX_ROUNDS];
  for (unsigned round = 0; round < rounds; round++)
    ratios[round] = contender->rounds[round].ns / basis->rounds[round].ns;
  return median(ratios, rounds);
}
