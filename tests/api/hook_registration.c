/* SPDX-License-Identifier: MIT */
/* Registering hooks for threads and pools: how long they run, whose are called, what is refused. */
#include "core/hooks/hook.h"
#include "support/failmalloc.h"
#include "support/ladder.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static clpt_recorder first, second, third;
static clpt_rig rig;

static void start(void)
{
  clpt_rig_start(&rig);
  clpt_recorder_init(&first, "first");
  clpt_recorder_init(&second, "second");
  clpt_recorder_init(&third, "third");
  second.log_of = third.log_of = &first;
}

static void end(void)
{
  clpt_rig_end(&rig);
  ck_assert(!clpi_is_watched());
}

/* --- Arguments --- */

static clp_status push(const clp_hook *hook)
{
  return clp_hook_push(hook);
}

static clp_status add(const clp_hook *hook)
{
  return clp_pool_add_hook(rig.pool, hook);
}

static clp_status pop(const clp_hook *hook)
{
  return clp_hook_pop(hook);
}

static clp_status remove_from_pool(const clp_hook *hook)
{
  return clp_pool_remove_hook(rig.pool, hook);
}

/* Both ways: for the thread and for the pool. */
static const struct way {
  clp_status (*begin)(const clp_hook *hook);
  clp_status (*end)(const clp_hook *hook);
} ways[] = {{push, pop}, {add, remove_from_pool}};
enum { WAYS = 2 };

START_TEST(an_older_callers_hook_has_the_callbacks_that_it_knows)
{
  start();
  first.hook.struct_size = offsetof(clp_hook, alloc_preprocess);
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_is(&first, "m<100:103 m>100:103");
  clpt_ok(ways[_i].end(&first.hook));
  end();
}
END_TEST

START_TEST(any_callback_may_be_missing)
{
  clp_hook none = CLP_HOOK_INIT;

  start();
  none.name = "none";
  first.hook.malloc_preprocess = NULL;
  first.hook.alloc_postprocess = NULL;
  first.hook.free_preprocess = NULL;
  clpt_ok(ways[_i].begin(&none));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_recorder_is(&first, "a<103 m>100:103 f>100:103 d<103 d>103");
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].end(&none));
  end();
}
END_TEST

START_TEST(a_name_is_registered_once_for_each)
{
  char name[] = "first"; /* another text that reads the same */

  start();
  second.hook.name = name;
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&second.hook));
  clpt_message_has("\"first\"");
  clpt_ok(ways[1 - _i].begin(&second.hook)); /* the thread's names are not the pool's */
  clpt_ok(ways[1 - _i].end(&second.hook));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&second.hook));
  clpt_ok(ways[_i].end(&second.hook));
  end();
}
END_TEST

START_TEST(only_what_is_registered_can_be_ended)
{
  start();
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&second.hook));
  clpt_fails(CLP_NOT_FOUND, ways[1 - _i].end(&first.hook));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&first.hook));
  end();
}
END_TEST

/* --- Order --- */

/* Hooks that count, for when there are many. */
typedef struct counter {
  clp_hook hook;
  char name[16];
  unsigned *next; /* of all counters: who is to be called next */
  unsigned number, calls, wrong;
} counter;

/* --- Not now --- */

/* Every call that would change hooks is refused. */
static void try_to_change(clpt_recorder *self, const clp_hook_event *event)
{
  unsigned *refused = self->also_data;

  (void)event;
  for (int i = 0; i < WAYS; i++) {
    *refused += ways[i].begin(&third.hook) == CLP_BUSY;
    *refused += ways[i].end(&self->hook) == CLP_BUSY;
  }
}

START_TEST(callbacks_must_not_change_hooks)
{
  unsigned refused = 0;

  start();
  first.also = try_to_change;
  first.also_data = &refused;
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(first.count, 8); /* each callback */
  ck_assert_uint_eq(refused, 4 * 8);
  clpt_ok(ways[_i].end(&first.hook));
  end();
}
END_TEST

static bool change_when_out_of_memory(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes;
  first.also_data = user_data;
  try_to_change(&first, NULL);
  return false;
}

START_TEST(on_out_of_memory_must_not_change_hooks)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  unsigned refused = 0;
  clp_buffer *none;

  options.on_out_of_memory = change_when_out_of_memory;
  options.user_data = &refused;
  clpt_device_init(&rig.device);
  rig.device.capacity = 1;
  clpt_rig_start_with(&rig, &options);
  clpt_recorder_init(&first, "first");
  clpt_recorder_init(&third, "third");
  for (int i = 0; i < 2; i++) { /* without and with a hook */
    if (i == 1)
      clpt_ok(push(&first.hook));
    refused = 0;
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 100, &none));
    ck_assert_uint_eq(refused, 4);
  }
  clpt_ok(pop(&first.hook));
  clpt_ok(push(&first.hook)); /* afterwards all is as before */
  clpt_ok(pop(&first.hook));
  end();
}
END_TEST

/* --- Warm calls --- */

static clpt_recorder registered;
static clpt_rig memory_rig;

static clp_status push_it(void)
{
  return clp_hook_push(&registered.hook);
}

static clp_status add_it(void)
{
  return clp_pool_add_hook(memory_rig.pool, &registered.hook);
}

static clp_status pop_it(void)
{
  return clp_hook_pop(&registered.hook);
}

static clp_status remove_it(void)
{
  return clp_pool_remove_hook(memory_rig.pool, &registered.hook);
}

static const struct memory_way {
  clp_status (*begin)(void);
  clp_status (*end)(void);
} memory_ways[] = {{push_it, pop_it}, {add_it, remove_it}};

START_TEST(registering_fails_without_a_trace_and_ending_never_does)
{
  clpt_rig_start(&memory_rig);
  clpt_recorder_init(&registered, "registered");
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status failed = memory_ways[_i].begin();
  (void)clpt_host_stop();
  ck_assert_int_eq(failed, CLP_OUT_OF_HOST_MEMORY);
  ck_assert(!clpi_is_watched());
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  clp_status begun = memory_ways[_i].begin();
  (void)clpt_host_stop();
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status ended = memory_ways[_i].end();
  (void)clpt_host_stop();
  ck_assert_int_eq(begun, CLP_SUCCESS);
  ck_assert_int_eq(ended, CLP_SUCCESS);
  ck_assert(!clpt_host_failed()); /* it did not even ask */
  ck_assert_int_eq(clpt_host_live(), 0);
  clpt_recorder_is(&registered, "");
  clpt_rig_end(&memory_rig);
}
END_TEST

START_TEST(hooks_that_write_need_host_memory)
{
  clp_hook *hook = &registered.hook;

  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clp_status status = clp_debug_print_hook_create(stdout, &hook);
  (void)clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(hook);
}
END_TEST

static clpt_recorder own, pools;
static clpt_rig shared_rig;

static void start_two(void)
{
  clpt_rig_start(&shared_rig);
  clpt_recorder_init(&own, "own");
  clpt_recorder_init(&pools, "pools");
  pools.log_of = &own;
}

static void end_two(void)
{
  clpt_rig_end(&shared_rig);
  ck_assert(!clpi_is_watched());
}

START_TEST(a_threads_hook_is_for_all_pools_a_pools_for_one)
{
  start_two();
  clp_pool *other = clpt_pool(shared_rig.allocator);
  clpt_ok(clp_hook_push(&own.hook));
  clpt_ok(clp_pool_add_hook(shared_rig.pool, &pools.hook));
  clpt_hold(other, 0, 1);
  clpt_recorder_is(&own, "m<0:0 m>0:0 f<0:0 f>0:0");
  ck_assert_ptr_eq(own.events[0].pool, other);
  clpt_ok(clp_hook_pop(&own.hook));
  clpt_ok(clp_pool_remove_hook(shared_rig.pool, &pools.hook));
  clp_pool_release(other);
  end_two();
}
END_TEST

static void *hold_and_pop(void *unused)
{
  clp_buffer *buffer;

  (void)unused;
  if (clp_pool_allocate(shared_rig.pool, 0, &buffer) != CLP_SUCCESS ||
      clp_buffer_release(buffer) != CLP_SUCCESS)
    return "no buffer";
  return clp_hook_pop(&own.hook) == CLP_NOT_FOUND ? NULL : "popped another thread's hook";
}

START_TEST(other_threads_neither_see_nor_pop_a_threads_hook)
{
  start_two();
  clpt_ok(clp_hook_push(&own.hook));
  clpt_ok(clp_pool_add_hook(shared_rig.pool, &pools.hook));
  ck_assert_ptr_null(clpt_aside(hold_and_pop, NULL));
  clpt_recorder_is(&own, "pools:m<0:0 pools:m>0:0 pools:f<0:0 pools:f>0:0");
  clpt_ok(clp_hook_pop(&own.hook));
  clpt_ok(clp_pool_remove_hook(shared_rig.pool, &pools.hook));
  end_two();
}
END_TEST

static void *push_and_end(void *unused)
{
  (void)unused;
  return clp_hook_push(&own.hook) || clp_hook_push(&pools.hook) ? "a push failed" : NULL;
}

START_TEST(a_threads_hooks_end_with_it)
{
  start_two();
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL)); /* the thread used no pool */
  ck_assert(!clpi_is_watched());
  clpt_hold(shared_rig.pool, 100, 1);
  clpt_recorder_is(&own, "");
  clpt_ok(clp_hook_push(&own.hook)); /* the name is free */
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL));
  ck_assert(clpi_is_watched());
  clpt_ok(clp_hook_pop(&own.hook));
  end_two();
}
END_TEST

START_TEST(a_pools_hooks_end_with_it)
{
  start_two();
  clp_pool *other = clpt_pool(shared_rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &own.hook));
  clpt_ok(clp_pool_add_hook(other, &pools.hook));
  clp_pool_release(other);
  ck_assert(!clpi_is_watched());
  clpt_ok(clp_hook_push(&own.hook)); /* it outlives the pool */
  clpt_hold(shared_rig.pool, 0, 1);
  clpt_recorder_is(&own, "m<0:0 m>0:0 f<0:0 f>0:0");
  clpt_ok(clp_hook_pop(&own.hook));
  end_two();
}
END_TEST

START_TEST(a_hook_outlives_a_pool_whose_buffers_outlive_it_too)
{
  start_two();
  clp_pool *other = clpt_pool(shared_rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &own.hook));
  clp_buffer *buffer = clpt_allocate(other, 0);
  clp_pool_release(other);
  clpt_recorder_clear(&own);
  clpt_ok(clp_pool_add_hook(clp_buffer_pool(buffer), &pools.hook));
  clpt_ok(clp_pool_remove_hook(clp_buffer_pool(buffer), &own.hook));
  clpt_ok(clp_buffer_release(buffer));
  clpt_recorder_is(&own, "pools:f<0:0 pools:f>0:0");
  end_two();
}
END_TEST

START_TEST(a_child_of_fork_has_its_threads_hooks)
{
  int status;

  start_two();
  clpt_ok(clp_hook_push(&own.hook));
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    clp_allocator *its_own;
    clp_pool *pool;
    clp_buffer *buffer;
    bool ok = clp_pool_allocate(shared_rig.pool, 0, &buffer) == CLP_NOT_SUPPORTED &&
              clp_host_allocator_create(0, &its_own) == CLP_SUCCESS &&
              clp_pool_create(its_own, NULL, &pool) == CLP_SUCCESS &&
              clp_pool_allocate(pool, 0, &buffer) == CLP_SUCCESS &&
              clp_buffer_release(buffer) == CLP_SUCCESS &&
              strcmp(own.log, "m<0:0 m>0:0 f<0:0 f>0:0") == 0 &&
              clp_hook_pop(&own.hook) == CLP_SUCCESS && !clpi_is_watched() &&
              clp_hook_push(&own.hook) == CLP_SUCCESS && clp_hook_pop(&own.hook) == CLP_SUCCESS;
    _exit(ok ? 0 : 1);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  clpt_ok(clp_hook_pop(&own.hook));
  end_two();
}
END_TEST

CLPT_SUITE("hook registration")
{
  TCase *arguments = clpt_case(suite, "arguments"), *not_now = clpt_case(suite, "not now");

  tcase_add_loop_test(arguments, an_older_callers_hook_has_the_callbacks_that_it_knows, 0, WAYS);
  tcase_add_loop_test(arguments, any_callback_may_be_missing, 0, WAYS);
  tcase_add_loop_test(arguments, a_name_is_registered_once_for_each, 0, WAYS);
  tcase_add_loop_test(arguments, only_what_is_registered_can_be_ended, 0, WAYS);
  tcase_add_loop_test(not_now, callbacks_must_not_change_hooks, 0, WAYS);
  tcase_add_test(not_now, on_out_of_memory_must_not_change_hooks);

  TCase *tests = clpt_case(suite, "memory");
  tcase_add_loop_test(tests, registering_fails_without_a_trace_and_ending_never_does, 0, 2);
  tcase_add_test(tests, hooks_that_write_need_host_memory);

  tests = clpt_case(suite, "owners");
  tcase_add_test(tests, a_threads_hook_is_for_all_pools_a_pools_for_one);
  tcase_add_test(tests, other_threads_neither_see_nor_pop_a_threads_hook);
  tcase_add_test(tests, a_threads_hooks_end_with_it);
  tcase_add_test(tests, a_pools_hooks_end_with_it);
  tcase_add_test(tests, a_hook_outlives_a_pool_whose_buffers_outlive_it_too);
  tcase_add_test(tests, a_child_of_fork_has_its_threads_hooks);
}
