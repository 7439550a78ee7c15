/* SPDX-License-Identifier: MIT */
/* Hooks that come and go while other threads are inside the pool. */
#include "core/hooks/hook.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>
#include <semaphore.h>

/* --- One step at a time --- */

/* A callback that is entered and left when the test says so. */
typedef struct gate {
  clp_hook hook;
  sem_t is_in, may_leave;
  atomic_uint pre, post;
} gate;

static void enter_gate(const clp_hook_event *event, void *user_data)
{
  gate *self = user_data;

  (void)event;
  atomic_fetch_add(&self->pre, 1);
  (void)sem_post(&self->is_in);
  (void)sem_wait(&self->may_leave);
}

static void leave_gate(const clp_hook_event *event, void *user_data)
{
  gate *self = user_data;

  (void)event;
  atomic_fetch_add(&self->post, 1);
}

static void gate_init(gate *self)
{
  self->hook = (clp_hook){.struct_size = sizeof(clp_hook),
                          .name = "gate",
                          .user_data = self,
                          .malloc_preprocess = enter_gate,
                          .malloc_postprocess = leave_gate};
  (void)sem_init(&self->is_in, 0, 0);
  (void)sem_init(&self->may_leave, 0, 0);
  atomic_init(&self->pre, 0);
  atomic_init(&self->post, 0);
}

static void gate_end(gate *self)
{
  (void)sem_destroy(&self->is_in);
  (void)sem_destroy(&self->may_leave);
}

static void *hold_one(void *pool)
{
  clp_buffer *buffer;

  if (clp_pool_allocate(pool, 100, &buffer) != CLP_SUCCESS ||
      clp_buffer_release(buffer) != CLP_SUCCESS)
    return "a call failed";
  return NULL;
}

static void join(pthread_t thread)
{
  void *wrong;

  ck_assert_int_eq(pthread_join(thread, &wrong), 0);
  ck_assert_msg(wrong == NULL, "%s", (const char *)wrong);
}

START_TEST(a_hook_that_comes_during_a_pair_sees_nothing_of_it)
{
  clpt_recorder late;
  clpt_rig rig;
  pthread_t thread;
  gate here;

  clpt_rig_start(&rig);
  clpt_recorder_init(&late, "late");
  gate_init(&here);
  clpt_ok(clp_pool_add_hook(rig.pool, &here.hook));
  ck_assert_int_eq(pthread_create(&thread, NULL, hold_one, rig.pool), 0);
  (void)sem_wait(&here.is_in);
  clpt_ok(clp_pool_add_hook(rig.pool, &late.hook));
  (void)sem_post(&here.may_leave);
  join(thread);
  clpt_recorder_is(&late, "f<100:103 f>100:103");
  clpt_ok(clp_pool_remove_hook(rig.pool, &late.hook));
  clpt_ok(clp_pool_remove_hook(rig.pool, &here.hook));
  gate_end(&here);
  clpt_rig_end(&rig);
}
END_TEST

/* A thread in the gate, and another one that removes it. */
typedef struct removal {
  clpt_rig rig;
  gate gate;
  pthread_t inside, remover;
  sem_t begins;
  unsigned post_when_done;
} removal;

static void *remove_gate(void *argument)
{
  removal *self = argument;

  (void)sem_post(&self->begins);
  if (clp_pool_remove_hook(self->rig.pool, &self->gate.hook) != CLP_SUCCESS)
    return "not removed";
  self->post_when_done = atomic_load(&self->gate.post);
  return NULL;
}

static void begin_removal(removal *self)
{
  clpt_rig_start(&self->rig);
  gate_init(&self->gate);
  clpt_ok(clp_pool_add_hook(self->rig.pool, &self->gate.hook));
  ck_assert_int_eq(pthread_create(&self->inside, NULL, hold_one, self->rig.pool), 0);
  (void)sem_wait(&self->gate.is_in);
  (void)sem_init(&self->begins, 0, 0);
  ck_assert_int_eq(pthread_create(&self->remover, NULL, remove_gate, self), 0);
}

static void let_both_go(removal *self)
{
  (void)sem_post(&self->gate.may_leave);
  join(self->remover);
  join(self->inside);
  ck_assert_uint_eq(atomic_load(&self->gate.pre), 1);
}

static void end_removal(removal *self)
{
  (void)sem_destroy(&self->begins);
  gate_end(&self->gate);
  clpt_rig_end(&self->rig);
}

START_TEST(a_removal_waits_for_the_pairs_that_see_the_hook)
{
  enum { TURNS = 1000 };
  removal self = {.post_when_done = 0};

  begin_removal(&self);
  (void)sem_wait(&self.begins);
  for (int i = 0; i < TURNS; i++) /* the remover comes to where it waits */
    (void)sched_yield();
  let_both_go(&self);
  ck_assert_uint_eq(self.post_when_done, 1);
  end_removal(&self);
}
END_TEST

START_TEST(while_a_removal_waits_new_calls_do_not_see_the_hook)
{
  removal self = {.post_when_done = 0};
  clpt_recorder other;

  clpt_recorder_init(&other, "gate"); /* its name is free as soon as the removal begins */
  begin_removal(&self);
  while (clp_pool_add_hook(self.rig.pool, &other.hook) != CLP_SUCCESS)
    (void)sched_yield();
  clpt_hold(self.rig.pool, 0, 1);
  clpt_recorder_is(&other, "m<0:0 m>0:0 f<0:0 f>0:0");
  ck_assert_uint_eq(atomic_load(&self.gate.pre), 1);
  clpt_fails(CLP_NOT_FOUND, clp_pool_remove_hook(self.rig.pool, &self.gate.hook));
  let_both_go(&self);
  clpt_ok(clp_pool_remove_hook(self.rig.pool, &other.hook));
  end_removal(&self);
}
END_TEST

/* --- All at once --- */

enum { HOOKS = 6, CALLERS = 4 };

/* A hook that is shared by all threads, and what each of them saw of it. */
typedef struct shared_hook {
  clp_hook hook;
  atomic_bool is_gone; /* no callback may run */
  atomic_uint wrong;
} shared_hook;

typedef struct crowd {
  clp_pool *pool;
  shared_hook hooks[HOOKS];
} crowd;

/* The hooks whose pair the thread is in, by number, as bits; nothing nests here. */
static _Thread_local unsigned inside;

static void come(const clp_hook_event *event, void *user_data)
{
  shared_hook *self = user_data;
  unsigned bit = 1u << (self->hook.name[0] - '0');

  (void)event;
  if (atomic_load(&self->is_gone) || (inside & bit) != 0)
    atomic_fetch_add(&self->wrong, 1);
  inside |= bit;
}

static void go(const clp_hook_event *event, void *user_data)
{
  shared_hook *self = user_data;
  unsigned bit = 1u << (self->hook.name[0] - '0');

  (void)event;
  if (atomic_load(&self->is_gone) || (inside & bit) == 0)
    atomic_fetch_add(&self->wrong, 1);
  inside &= ~bit;
}

static void crowd_init(crowd *all, clp_pool *pool)
{
  static const char *const names[HOOKS] = {"0", "1", "2", "3", "4", "5"};

  all->pool = pool;
  for (int i = 0; i < HOOKS; i++) {
    all->hooks[i].hook = (clp_hook){.struct_size = sizeof(clp_hook),
                                    .name = names[i],
                                    .user_data = &all->hooks[i],
                                    .malloc_preprocess = come,
                                    .malloc_postprocess = go,
                                    .free_preprocess = come,
                                    .free_postprocess = go};
    atomic_init(&all->hooks[i].is_gone, true);
    atomic_init(&all->hooks[i].wrong, 0);
  }
}

static void call(clpt_worker *self)
{
  crowd *all = self->shared;

  for (unsigned i = 0; i < self->rounds; i++) {
    clp_buffer *buffer = NULL;
    if (clp_pool_allocate(all->pool, clpt_chance_below(&self->chance, 2000), &buffer) !=
            CLP_SUCCESS ||
        clp_buffer_release(buffer) != CLP_SUCCESS)
      clpt_wrong(self, "a call failed: %s", clp_last_error()->message);
    if (clpt_chance_below(&self->chance, 64) == 0)
      (void)clp_pool_free_held(all->pool);
    if (inside != 0)
      clpt_wrong(self, "a pair has no end");
  }
}

/* Each has hooks of its own, which it brings and takes away. */
static void come_and_go(clpt_worker *self)
{
  crowd *all = self->shared;
  unsigned own = self->number - CALLERS;

  for (unsigned i = 0; i < self->rounds / 4; i++) {
    shared_hook *hook = &all->hooks[3 * own + clpt_chance_below(&self->chance, 3)];
    atomic_store(&hook->is_gone, false);
    if (clp_pool_add_hook(all->pool, &hook->hook) != CLP_SUCCESS)
      clpt_wrong(self, "not added");
    if (clpt_chance_below(&self->chance, 2) == 0)
      (void)sched_yield();
    if (clp_pool_remove_hook(all->pool, &hook->hook) != CLP_SUCCESS)
      clpt_wrong(self, "not removed");
    atomic_store(&hook->is_gone, true);
  }
}

START_TEST(pool_hooks_come_and_go_while_others_call)
{
  static const clpt_work work[CALLERS + 2] = {call, call, call, call, come_and_go, come_and_go};
  clpt_workers workers;
  clpt_rig rig;
  crowd all;

  clpt_rig_start(&rig);
  crowd_init(&all, rig.pool);
  clpt_workers_start(&workers, CALLERS + 2, work, CALLERS + 2, clpt_iterations(8000), &all);
  clpt_workers_join(&workers);
  for (int i = 0; i < HOOKS; i++)
    ck_assert_uint_eq(atomic_load(&all.hooks[i].wrong), 0);
  ck_assert(!clpi_is_watched());
  clpt_rig_end(&rig);
}
END_TEST

/* --- Callbacks that end their thread --- */

static const char *const last_callbacks[] = {"m<", "m>", "f<", "f>", "d<", "d>"};
enum { LAST_CALLBACKS = sizeof(last_callbacks) / sizeof(last_callbacks[0]) };

static void end_thread_at(clpt_recorder *self, const clp_hook_event *event)
{
  (void)event;
  if (strcmp(self->last, self->also_data) == 0)
    pthread_exit("in a callback");
}

static clp_buffer *taken;

static void *take_and_free(void *pool)
{
  (void)clp_pool_allocate(pool, 100, &taken);
  (void)clp_buffer_release(taken);
  (void)clp_pool_free_held(pool);
  return NULL;
}

/* The device has room for one block, so the last request waits until the thread's has come to
 * rest. */
START_TEST(a_thread_that_ends_in_a_callback_is_not_waited_for)
{
  clpt_recorder seen;
  clpt_rig rig;

  clpt_device_init(&rig.device);
  rig.device.capacity = 103;
  clpt_rig_start_with(&rig, NULL);
  clpt_recorder_init(&seen, "seen");
  seen.also = end_thread_at;
  seen.also_data = (void *)last_callbacks[_i];
  taken = NULL;
  clpt_ok(clp_pool_add_hook(rig.pool, &seen.hook));
  ck_assert_str_eq(clpt_aside(take_and_free, rig.pool), "in a callback");
  clpt_ok(clp_pool_remove_hook(rig.pool, &seen.hook));
  if (taken && clp_buffer_memory(taken) && clpt_stats(rig.pool).active_blocks)
    clpt_ok(clp_buffer_release(taken));
  clpt_hold(rig.pool, 100, 1);
  clpt_rig_end(&rig);
}
END_TEST

static void *free_held(void *pool)
{
  (void)clp_pool_free_held(pool);
  return NULL;
}

static void *free_all_held(void *pool)
{
  (void)pool;
  (void)clp_free_all_held();
  return NULL;
}

START_TEST(what_a_thread_was_about_to_free_is_held_again)
{
  enum { BLOCKS = 3 };
  clpt_recorder seen;
  clpt_rig rig;

  clpt_device_init(&rig.device);
  rig.device.capacity = BLOCKS * 103;
  clpt_rig_start_with(&rig, NULL);
  clpt_hold(rig.pool, 100, BLOCKS);
  clpt_recorder_init(&seen, "seen");
  seen.also = end_thread_at;
  seen.also_data = (void *)"d>";
  clpt_ok(clp_pool_add_hook(rig.pool, &seen.hook));
  ck_assert_str_eq(clpt_aside(_i ? free_all_held : free_held, rig.pool), "in a callback");
  clpt_ok(clp_pool_remove_hook(rig.pool, &seen.hook));
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, BLOCKS - 1);
  clpt_hold(rig.pool, 100, BLOCKS);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_SUITE("hook threads")
{
  TCase *steps = clpt_case(suite, "steps"), *crowds = clpt_case(suite, "crowds");
  TCase *ends = clpt_case(suite, "ends");

  tcase_add_test(steps, a_hook_that_comes_during_a_pair_sees_nothing_of_it);
  tcase_add_test(steps, a_removal_waits_for_the_pairs_that_see_the_hook);
  tcase_add_test(steps, while_a_removal_waits_new_calls_do_not_see_the_hook);
  tcase_add_test(crowds, pool_hooks_come_and_go_while_others_call);
  tcase_add_loop_test(ends, a_thread_that_ends_in_a_callback_is_not_waited_for, 0, LAST_CALLBACKS);
  tcase_add_loop_test(ends, what_a_thread_was_about_to_free_is_held_again, 0, 2);
}
