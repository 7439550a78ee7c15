/* SPDX-License-Identifier: MIT */
/* Hooks and threads: hooks that come and go while others are inside the pool, callbacks that want
 * memory at once, and such that end their thread. */
#include "core/hooks/hook.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>
#include <semaphore.h>

static clpt_rig rig;
static clpt_recorder seen;

static void setup(void)
{
  clpt_rig_start(&rig);
  clpt_recorder_init(&seen, "gate");
}

static void teardown(void)
{
  ck_assert(!clpi_is_watched());
  clpt_rig_end(&rig);
}

/* --- one step at a time --- */

/* A callback that is entered and left when the test says so. */
static sem_t is_in, may_leave;
static atomic_uint entered, left;

static void enter_gate(const clp_hook_event *event, void *unused)
{
  (void)event, (void)unused;
  atomic_fetch_add(&entered, 1);
  (void)sem_post(&is_in);
  (void)sem_wait(&may_leave);
}

static void leave_gate(const clp_hook_event *event, void *unused)
{
  (void)event, (void)unused;
  atomic_fetch_add(&left, 1);
}

static const clp_hook gate = {.struct_size = sizeof(clp_hook),
                              .name = "gate",
                              .malloc_preprocess = enter_gate,
                              .malloc_postprocess = leave_gate};

static void *hold_one(void *unused)
{
  clp_buffer *buffer;
  (void)unused;
  return clp_pool_allocate(rig.pool, 100, &buffer) || clp_buffer_release(buffer) ? "failed" : NULL;
}

static void *remove_gate(void *unused)
{
  (void)unused;
  if (clp_pool_remove_hook(rig.pool, &gate))
    return "not removed";
  return atomic_load(&left) == 1 ? NULL : "removed too early";
}

static void join(pthread_t thread)
{
  void *wrong;
  ck_assert_int_eq(pthread_join(thread, &wrong), 0);
  ck_assert_msg(wrong == NULL, "%s", (const char *)wrong);
}

/* Its name is free as soon as the removal begins, and new calls do not see it. */
START_TEST(a_removal_waits_for_the_pairs_that_see_the_hook)
{
  enum { TURNS = 1000 };
  pthread_t inside, remover;
  (void)sem_init(&is_in, 0, 0);
  (void)sem_init(&may_leave, 0, 0);
  clpt_ok(clp_pool_add_hook(rig.pool, &gate));
  ck_assert_int_eq(pthread_create(&inside, NULL, hold_one, NULL), 0);
  (void)sem_wait(&is_in);
  ck_assert_int_eq(pthread_create(&remover, NULL, remove_gate, NULL), 0);
  while (clp_pool_add_hook(rig.pool, &seen.hook))
    (void)sched_yield();
  for (int i = 0; i < TURNS; i++) /* the remover comes to where it waits */
    (void)sched_yield();
  clpt_hold(rig.pool, 0, 1);
  clpt_recorder_is(&seen, "m<0:0 m>0:0 f<0:0 f>0:0");
  clpt_fails(CLP_NOT_FOUND, clp_pool_remove_hook(rig.pool, &gate));
  (void)sem_post(&may_leave);
  join(remover);
  join(inside);
  ck_assert_uint_eq(atomic_load(&entered), 1);
  clpt_ok(clp_pool_remove_hook(rig.pool, &seen.hook));
}
END_TEST

typedef struct meeting {
  pthread_barrier_t both_are_in;
  atomic_uint refused;
} meeting;

static void want_when_both_are_in(const clp_hook_event *event, void *user_data)
{
  meeting *here = user_data;
  clp_buffer *none;
  (void)pthread_barrier_wait(&here->both_are_in);
  here->refused += clp_pool_allocate(event->pool, 1000, &none) == CLP_LIMIT_EXCEEDED;
  (void)pthread_barrier_wait(&here->both_are_in);
}

static void *trim(void *unused)
{
  (void)unused;
  return clp_pool_trim_to(rig.pool, 511) ? "no trim" : NULL;
}

START_TEST(callbacks_of_two_threads_do_not_wait_for_each_others_blocks)
{
  meeting here = {.refused = 0};
  clp_hook hook = {.struct_size = sizeof(hook),
                   .name = "meeting",
                   .user_data = &here,
                   .device_free_preprocess = want_when_both_are_in};
  pthread_t threads[2];
  clpt_hold(rig.pool, 500, 2);
  clpt_ok(clp_pool_set_limit(rig.pool, 1100));
  clpt_ok(clp_pool_add_hook(rig.pool, &hook));
  ck_assert_int_eq(pthread_barrier_init(&here.both_are_in, NULL, 2), 0);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, trim, NULL), 0);
  for (int i = 0; i < 2; i++)
    join(threads[i]);
  ck_assert_uint_eq(here.refused, 2);
  pthread_barrier_destroy(&here.both_are_in);
  clpt_ok(clp_pool_remove_hook(rig.pool, &hook));
}
END_TEST

/* --- all at once --- */

enum { HOOKS = 6, CALLERS = 4 };

/* A hook that is shared by all threads, and what each of them saw of it. */
typedef struct shared_hook {
  clp_hook hook;
  atomic_bool is_gone; /* no callback may run */
  atomic_uint wrong;
} shared_hook;

static shared_hook hooks[HOOKS];

/* The hooks whose pair the thread is in, by number, as bits; nothing nests here. */
static _Thread_local unsigned inside;

static void pass(shared_hook *self, bool comes)
{
  unsigned bit = 1u << (self - hooks);
  self->wrong += atomic_load(&self->is_gone) || !(inside & bit) != comes;
  inside ^= bit;
}

static void come(const clp_hook_event *event, void *user_data)
{
  (void)event;
  pass(user_data, true);
}

static void go(const clp_hook_event *event, void *user_data)
{
  (void)event;
  pass(user_data, false);
}

static void call(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds; i++) {
    clp_buffer *buffer = NULL;
    size_t bytes = clpt_chance_below(&self->chance, 2000);
    clpt_note_failure(self, "allocate", clp_pool_allocate(rig.pool, bytes, &buffer));
    clpt_note_failure(self, "release", clp_buffer_release(buffer));
    if (clpt_chance_below(&self->chance, 64) == 0)
      (void)clp_pool_free_held(rig.pool);
    if (inside != 0)
      clpt_wrong(self, "a pair has no end");
  }
}

/* Each has hooks of its own, which it brings and takes away. */
static void come_and_go(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds / 4; i++) {
    shared_hook *hook = &hooks[3 * (self->number - CALLERS) + clpt_chance_below(&self->chance, 3)];
    atomic_store(&hook->is_gone, false);
    clpt_note_failure(self, "add", clp_pool_add_hook(rig.pool, &hook->hook));
    if (clpt_chance_below(&self->chance, 2) == 0)
      (void)sched_yield();
    clpt_note_failure(self, "remove", clp_pool_remove_hook(rig.pool, &hook->hook));
    atomic_store(&hook->is_gone, true);
  }
}

START_TEST(pool_hooks_come_and_go_while_others_call)
{
  static const clpt_work work[CALLERS + 2] = {call, call, call, call, come_and_go, come_and_go};
  static const char *const names[HOOKS] = {"0", "1", "2", "3", "4", "5"};
  clpt_workers workers;
  for (int i = 0; i < HOOKS; i++)
    hooks[i].hook = (clp_hook){.struct_size = sizeof(clp_hook),
                               .name = names[i],
                               .user_data = &hooks[i],
                               .malloc_preprocess = come,
                               .malloc_postprocess = go,
                               .free_preprocess = come,
                               .free_postprocess = go};
  clpt_workers_start(&workers, CALLERS + 2, work, CALLERS + 2, clpt_iterations(8000), NULL);
  clpt_workers_join(&workers);
  for (int i = 0; i < HOOKS; i++)
    ck_assert_uint_eq(atomic_load(&hooks[i].wrong), 0);
}
END_TEST

/* --- callbacks that end their thread --- */

static const char *const last_callbacks[] = {"m<", "m>", "f<", "f>", "d<", "d>"};
enum { LAST_CALLBACKS = sizeof(last_callbacks) / sizeof(last_callbacks[0]), BLOCKS = 3 };

static void end_thread_at(clpt_recorder *self, const clp_hook_event *event)
{
  (void)event;
  if (strcmp(self->last, self->also_data) == 0)
    pthread_exit("in a callback");
}

static clp_buffer *taken;

static void *take_and_free(void *unused)
{
  (void)clp_pool_allocate(rig.pool, 100, &taken);
  (void)clp_buffer_release(taken);
  (void)clp_pool_free_held(rig.pool);
  return unused;
}

static void *free_all_held(void *unused)
{
  (void)clp_free_all_held();
  return unused;
}

static void end_a_thread(const char *callback, void *(*work)(void *))
{
  seen.also = end_thread_at;
  seen.also_data = (void *)callback;
  clpt_ok(clp_pool_add_hook(rig.pool, &seen.hook));
  ck_assert_str_eq(clpt_aside(work, NULL), "in a callback");
  clpt_ok(clp_pool_remove_hook(rig.pool, &seen.hook));
}

/* The device has room for one block, so the last request waits until the thread's has come to
 * rest. */
START_TEST(a_thread_that_ends_in_a_callback_is_not_waited_for)
{
  rig.device.capacity = 103;
  end_a_thread(last_callbacks[_i], take_and_free);
  if (taken && clp_buffer_memory(taken) && clpt_stats(rig.pool).active_blocks)
    clpt_ok(clp_buffer_release(taken));
  clpt_hold(rig.pool, 100, 1);
}
END_TEST

START_TEST(what_a_thread_was_about_to_free_is_held_again)
{
  rig.device.capacity = BLOCKS * 103;
  clpt_hold(rig.pool, 100, BLOCKS);
  end_a_thread("d>", _i ? free_all_held : take_and_free);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, BLOCKS - 1);
  clpt_hold(rig.pool, 100, BLOCKS);
}
END_TEST

CLPT_SUITE("hook threads")
{
  TCase *tests = clpt_case(suite, "threads");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_removal_waits_for_the_pairs_that_see_the_hook);
  tcase_add_test(tests, callbacks_of_two_threads_do_not_wait_for_each_others_blocks);
  tcase_add_test(tests, pool_hooks_come_and_go_while_others_call);
  tcase_add_loop_test(tests, a_thread_that_ends_in_a_callback_is_not_waited_for, 0, LAST_CALLBACKS);
  tcase_add_loop_test(tests, what_a_thread_was_about_to_free_is_held_again, 0, 2);
}
