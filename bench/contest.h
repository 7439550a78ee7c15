/* SPDX-License-Identifier: MIT */
/* A contest: ways of doing the same thing, timed against each other in one run. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include "crew.h"

enum { BENCH_MAX_ROUNDS = 101 };

/** One way of doing the thing. */
typedef struct bench_contender {
  const char *name;
  bench_run *run;
  void *self;
  unsigned threads; /**< that do it at once, each as often as the others */
  size_t batch;     /**< `run` is asked for multiples of this */
  bool is_basis;    /**< others are compared with it */

  size_t times;                        /**< result: how often that was in a turn */
  bench_took rounds[BENCH_MAX_ROUNDS]; /**< result: for one time on one thread, of each round */
  bench_took median;                   /**< result: likewise, the median over the rounds */
  size_t peak_blocks; /**< result, of who knows it: the most blocks there ever were; 0: not known */
} bench_contender;

/** How long a contest goes on. */
typedef struct bench_effort {
  unsigned rounds;  /**< in each, every contender has its turn; 1 to BENCH_MAX_ROUNDS */
  double ns_a_turn; /**< how often a turn does the thing follows from this */
} bench_effort;

/** Times all contenders, in turns, so that what else the machine does meets them alike. False if
 * one of them failed, which has said why. */
bool bench_contest(bench_contender *contenders, size_t count, const bench_effort *effort);

/** The median over the rounds of what `contender` took as a ratio to `basis`. */
double bench_ratio(const bench_contender *contender, const bench_contender *basis, unsigned rounds);

#endif
