/* SPDX-License-Identifier: MIT */
/* Threads for tests. */
#include "workers.h"

#include "suite.h"

#include <stdarg.h>
#include <stdio.h>

void clpt_wrong(clpt_worker *self, const char *format, ...)
{
  va_list arguments;
  if (self->wrong[0] != '\0')
    return;
  va_start(arguments, format);
  (void)vsnprintf(self->wrong, sizeof(self->wrong), format, arguments);
  va_end(arguments);
}

void clpt_note_failure(clpt_worker *self, const char *name, clp_status status)
{
  if (status != CLP_SUCCESS)
    clpt_wrong(self, "%s: %s", name, clp_last_error()->message);
}

static void *run(void *argument)
{
  clpt_worker *self = argument;
  (void)pthread_barrier_wait(self->start);
  self->work(self);
  return NULL;
}

void clpt_workers_start(clpt_workers *all, unsigned count, const clpt_work *work, unsigned kinds,
                        unsigned rounds, void *shared)
{
  memset(all, 0, sizeof(*all));
  ck_assert_uint_le(count, CLPT_MOST_WORKERS);
  all->count = count;
  ck_assert_int_eq(pthread_barrier_init(&all->start, NULL, count), 0);
  for (unsigned i = 0; i < count; i++) {
    clpt_worker *worker = &all->workers[i];
    *worker = (clpt_worker){.shared = shared,
                            .number = i,
                            .rounds = rounds,
                            .chance = clpt_chance_seed(i + 1),
                            .work = work[i % kinds],
                            .start = &all->start};
    ck_assert_int_eq(pthread_create(&worker->thread, NULL, run, worker), 0);
  }
}

void clpt_workers_join(clpt_workers *all)
{
  for (unsigned i = 0; i < all->count; i++)
    ck_assert_int_eq(pthread_join(all->workers[i].thread, NULL), 0);
  for (unsigned i = 0; i < all->count; i++)
    ck_assert_msg(all->workers[i].wrong[0] == '\0', "worker %u: %s", i, all->workers[i].wrong);
  pthread_barrier_destroy(&all->start);
}

void *clpt_aside(void *(*work)(void *), void *argument)
{
  pthread_t thread;
  void *result;
  ck_assert_int_eq(pthread_create(&thread, NULL, work, argument), 0);
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  return result;
}
