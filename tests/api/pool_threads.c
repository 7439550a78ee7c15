/* SPDX-License-Identifier: MIT */
/* Threads: pools that end under them, and what belongs to a thread or the process. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/log.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>

enum { WORKERS = 8, ROUNDS = 2000 };

/* What the threads of a test share. */
typedef struct shared {
  clp_allocator *allocator;
  clp_pool *pool;
  clp_buffer *buffers[WORKERS]; /* of those tests that give each worker one */
} shared;

/* A block that is on its way to the device when another pool needs the memory. */

typedef struct late_free {
  clp_pool *holder;
  sem_t begun;
  atomic_bool is_asked;
} late_free;

/* The free goes on some time after the device has refused the other pool's request. */
static void delay_free(clpt_device *device, clpt_call call, size_t bytes)
{
  enum { TURNS = 1000 };
  late_free *it = device->on_call_data;

  (void)bytes;
  if (call == CLPT_ALLOCATE)
    atomic_store(&it->is_asked, true);
  if (call != CLPT_FREE)
    return;
  (void)sem_post(&it->begun);
  for (int i = 0; i < TURNS || !atomic_load(&it->is_asked); i++)
    (void)sched_yield();
}

static void *free_held(void *argument)
{
  late_free *it = argument;

  return clp_pool_free_held(it->holder) == CLP_SUCCESS ? NULL : "not freed";
}

START_TEST(a_block_that_another_pool_is_giving_back_is_waited_for)
{
  late_free it = {0};
  clp_buffer *buffer = NULL;
  pthread_t thread;
  void *wrong;
  clpt_rig rig;

  clpt_rig_start(&rig);
  it.holder = clpt_pool(rig.allocator);
  clpt_hold(it.holder, 1000, 1);
  (void)sem_init(&it.begun, 0, 0);
  rig.device.capacity = 1500;
  rig.device.on_call_data = &it;
  rig.device.on_call = delay_free;
  ck_assert_int_eq(pthread_create(&thread, NULL, free_held, &it), 0);
  (void)sem_wait(&it.begun);
  clpt_ok(clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_int_eq(pthread_join(thread, &wrong), 0);
  ck_assert_msg(wrong == NULL, "%s", (const char *)wrong);
  rig.device.on_call = NULL;
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(it.holder);
  (void)sem_destroy(&it.begun);
  clpt_rig_end(&rig);
}
END_TEST

/* The end of a pool, raced for. */

static void release_own_buffer(clpt_worker *self)
{
  shared *it = self->shared;

  if (self->number == 0)
    clp_pool_release(it->pool);
  else
    clpt_note_failure(self, "release", clp_buffer_release(it->buffers[self->number - 1]));
}

START_TEST(a_pool_ends_once_whoever_comes_last)
{
  static const clpt_work work[] = {release_own_buffer};
  unsigned rounds = clpt_iterations(300);

  for (unsigned round = 0; round < rounds; round++) {
    clpt_workers workers;
    clpt_rig rig;
    shared it = {0};

    clpt_rig_start(&rig);
    clpt_hold(rig.pool, 500, 2);
    it.pool = rig.pool;
    for (size_t i = 0; i < WORKERS; i++)
      it.buffers[i] = clpt_allocate(rig.pool, i * 50);
    clp_allocator_release(rig.allocator);
    clpt_workers_start(&workers, WORKERS + 1, work, 1, 1, &it);
    clpt_workers_join(&workers);
    clpt_device_assert_ended(&rig.device);
  }
}
END_TEST

/* What belongs to a thread, or to the process. */

/* Two callbacks, each with user data of its own: they must never be mixed up. */

typedef struct listener {
  char name;
  atomic_uint remarks;
  atomic_uint mixed_up;
} listener;

static listener listeners[2] = {{.name = 'a'}, {.name = 'b'}};

static void listen_as(char name, listener *to)
{
  atomic_fetch_add(&to->remarks, 1);
  if (to->name != name)
    atomic_fetch_add(&to->mixed_up, 1);
}

static void listen_as_a(clp_log_level level, const char *message, void *user_data)
{
  (void)level, (void)message;
  listen_as('a', user_data);
}

static void listen_as_b(clp_log_level level, const char *message, void *user_data)
{
  (void)level, (void)message;
  listen_as('b', user_data);
}

static void cause_remarks(clpt_worker *self)
{
  shared *it = self->shared;
  clp_pool *pool = NULL;

  for (unsigned round = 0; round < self->rounds; round++) {
    if (self->number == 0)
      clp_set_log(round % 2 == 0 ? listen_as_a : listen_as_b, &listeners[round % 2]);
    clpt_note_failure(self, "pool_create", clp_pool_create(it->allocator, NULL, &pool));
    clp_pool_release(pool);
  }
}

START_TEST(remarks_reach_a_callback_with_its_own_user_data)
{
  static const clpt_work work[] = {cause_remarks};
  unsigned rounds = clpt_iterations(ROUNDS) + 2;
  clpt_workers workers;
  clpt_device device;
  shared it = {0};

  clpt_device_init(&device);
  device.ops.deferred = true;
  it.allocator = clpt_device_allocator(&device);
  clp_set_log(listen_as_a, &listeners[0]);
  clpt_workers_start(&workers, WORKERS, work, 1, rounds, &it);
  clpt_workers_join(&workers);
  clp_set_log(NULL, NULL);
  ck_assert_uint_eq(atomic_load(&listeners[0].remarks) + atomic_load(&listeners[1].remarks),
                    WORKERS * rounds);
  ck_assert_uint_eq(atomic_load(&listeners[0].mixed_up), 0);
  ck_assert_uint_eq(atomic_load(&listeners[1].mixed_up), 0);
  clp_allocator_release(it.allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

CLPT_SUITE("threads, pools that come and go")
{
  TCase *tests = clpt_case(suite, "pools");
  tcase_add_test(tests, a_block_that_another_pool_is_giving_back_is_waited_for);
  tcase_add_test(tests, a_pool_ends_once_whoever_comes_last);

  tests = clpt_case(suite, "the thread and the process");
  tcase_add_test(tests, remarks_reach_a_callback_with_its_own_user_data);
}
