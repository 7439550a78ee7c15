/* SPDX-License-Identifier: MIT */
/* A crew: threads that start a piece of work together, and the time that they take. */
#include "crew.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct member {
  bench_crew *crew;
  unsigned number;
  pthread_t thread;
  sem_t wake;
  bool ok;           /* result of the last job */
  double ns, cpu_ns; /* likewise */
} member;

struct bench_crew {
  const bench_job *job; /* NULL: it is over. Posted by `wake` */
  atomic_uint ready, done;
  atomic_bool go;
  unsigned size;
  cpu_set_t callers; /* the processors that the caller had before; none: as it has now */
  member members[];  /* the first is the caller */
};

static double clock_ns(clockid_t clock)
{
  struct timespec now;
  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void do_share(member *self)
{
  const bench_job *job = self->crew->job;
  double start = clock_ns(CLOCK_MONOTONIC), cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  self->ok = job->run(job->self, self->number, job->times);
  self->ns = clock_ns(CLOCK_MONOTONIC) - start;
  self->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
}

/* Gives each thread a processor of its own, in turn those that the caller may use. A turn is over
 * before the kernel would see that two of them share one beside another that is idle. Where that
 * cannot be, threads run where they run. */
static void place(bench_crew *crew)
{
  cpu_set_t all;
  if (crew->size < 2 || sched_getaffinity(0, sizeof all, &all) != 0)
    return;
  crew->callers = all;
  for (unsigned placed = 0, cpu = 0; placed < crew->size; cpu = (cpu + 1) % CPU_SETSIZE) {
    cpu_set_t one;
    if (!CPU_ISSET(cpu, &all))
      continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)pthread_setaffinity_np(crew->members[placed++].thread, sizeof one, &one);
  }
}

static void *work(void *argument)
{
  member *self = argument;
  bench_crew *crew = self->crew;
  for (;;) {
    while (sem_wait(&self->wake) != 0)
      ; /* a signal */
    if (crew->job == NULL)
      return NULL;
    atomic_fetch_add(&crew->ready, 1);
    for (unsigned spins = 0; !atomic_load(&crew->go);)
      bench_spin(&spins);
    do_share(self);
    atomic_fetch_add(&crew->done, 1);
  }
}

static void wait_for(atomic_uint *counter, unsigned value)
{
  for (unsigned spins = 0; atomic_load(counter) != value;)
    bench_spin(&spins);
}

static bool start_member(bench_crew *crew)
{
  member *self = &crew->members[crew->size];
  *self = (member){.crew = crew, .number = crew->size};
  if (sem_init(&self->wake, 0, 0) != 0)
    return false;
  if (pthread_create(&self->thread, NULL, work, self) != 0) {
    (void)sem_destroy(&self->wake);
    return false;
  }
  crew->size++;
  return true;
}

bench_crew *bench_crew_create(unsigned size)
{
  bench_crew *crew = calloc(1, sizeof *crew + size * sizeof *crew->members);
  if (crew != NULL) {
    crew->size = 1;
    crew->members[0] = (member){.crew = crew, .thread = pthread_self()};
    while (crew->size < size && start_member(crew))
      ;
    place(crew);
    if (crew->size == size)
      return crew;
  }
  bench_failed("no %u threads at once here", size);
  bench_crew_end(crew);
  return NULL;
}

bool bench_crew_work(bench_crew *crew, const bench_job *job, bench_took *took)
{
  crew->job = job;
  atomic_store(&crew->ready, 0);
  atomic_store(&crew->done, 0);
  atomic_store(&crew->go, false);
  for (unsigned i = 1; i < job->threads; i++)
    (void)sem_post(&crew->members[i].wake);
  wait_for(&crew->ready, job->threads - 1);

  atomic_store(&crew->go, true);
  do_share(&crew->members[0]);
  wait_for(&crew->done, job->threads - 1);

  bool ok = true;
  double shares_a_ns = 0;
  *took = (bench_took){0};
  for (unsigned i = 0; i < job->threads; i++) {
    shares_a_ns += 1 / crew->members[i].ns;
    took->cpu_ns += crew->members[i].cpu_ns;
    ok = ok && crew->members[i].ok;
  }
  took->ns = job->threads / shares_a_ns;
  return ok;
}

void bench_crew_end(bench_crew *crew)
{
  if (crew == NULL)
    return;
  crew->job = NULL;
  if (CPU_COUNT(&crew->callers) > 0)
    (void)pthread_setaffinity_np(pthread_self(), sizeof crew->callers, &crew->callers);
  for (unsigned i = 1; i < crew->size; i++)
    (void)sem_post(&crew->members[i].wake);
  for (unsigned i = 1; i < crew->size; i++) {
    (void)pthread_join(crew->members[i].thread, NULL);
    (void)sem_destroy(&crew->members[i].wake);
  }
  free(crew);
}
