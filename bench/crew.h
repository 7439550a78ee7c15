/* SPDX-License-Identifier: MIT */
/* A crew: threads that start a piece of work together, and the time until the last is done. */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <err.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Says what went wrong, as printf does, behind the program's name. Returns false. */
__attribute__((format(printf, 1, 2))) static inline bool bench_failed(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vwarnx(format, arguments);
  va_end(arguments);
  return false;
}

/** One step of waiting for a thread that will be quick; `*spins` starts as 0. Now and then the
 * processor goes to others, since the awaited thread may need it. */
static inline void bench_spin(unsigned *spins)
{
  if (++*spins % 128 == 0)
    (void)sched_yield();
#if defined __x86_64__ || defined __i386__
  else
    __builtin_ia32_pause();
#elif defined __aarch64__
  else
    __asm__ volatile("yield");
#endif
}

/** Does something `times` times, one after the other, as thread `thread` (0, 1, ...) of those at
 * it; false if that failed, which it has said. */
typedef bool bench_run(void *self, unsigned thread, size_t times);

/** Work for some of the crew: each of `threads` threads does `run` `times` times. */
typedef struct bench_job {
  bench_run *run;
  void *self;
  unsigned threads;
  size_t times;
} bench_job;

/** Nanoseconds: what a thread took for its share, from which the threads' rates of work sum up
 * (their harmonic mean); and processor time, all threads together. */
typedef struct bench_took {
  double ns, cpu_ns;
} bench_took;

typedef struct bench_crew bench_crew;

/** A crew of `size` threads, the caller among them as thread 0; the others sleep while they have no
 * work. NULL if there cannot be so many, which it has said. */
bench_crew *bench_crew_create(unsigned size);

/** Has the job done, by at most all of the crew. The threads wait for each other before the clock
 * starts. False if one of them failed. */
bool bench_crew_work(bench_crew *crew, const bench_job *job, bench_took *took);

/** Ends the threads. NULL is a no-op. */
void bench_crew_end(bench_crew *crew);

#endif
