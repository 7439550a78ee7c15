/* SPDX-License-Identifier: MIT */
/* A contest: ways of doing the same thing, timed against each other in one run. */
#ifndef BENCH_CONTEST_H
#define BENCH_CONTEST_H

#include <stdbool.h>
#include <stddef.h>

/** One way of doing the thing. The first contender of a contest is what the others are compared
 * with. */
typedef struct bench_contender {
  const char *name;
  /** Does it `times` times, one after the other; false if that failed. */
  bool (*run)(void *self, size_t times);
  void *self;
  double ns;    /**< result: nanoseconds for one time, the median over the rounds */
  double ratio; /**< result: to the first contender, the median of each round's ratio */
} bench_contender;

/** How long a contest goes on. */
typedef struct bench_effort {
  unsigned rounds;  /**< in each, every contender has its turn; 1 to BENCH_MAX_ROUNDS */
  double ns_a_turn; /**< how often a turn does the thing follows from this */
} bench_effort;

enum { BENCH_MAX_ROUNDS = 101, BENCH_MAX_CONTENDERS = 16 };

/** Times all contenders, in turns, so that what else the machine does meets them alike. At most
 * BENCH_MAX_CONTENDERS. False if one of them failed, which has said why. */
bool bench_contest(bench_contender *contenders, size_t count, const bench_effort *effort);

#endif
