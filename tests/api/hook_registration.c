/* SPDX-License-Identifier: MIT */
/* Registering hooks for threads and pools: how long they run, whose are called, what is refused. */
#include "core/hooks/hook.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static clpt_recorder first, second;
static clpt_rig rig;
static unsigned refused, asked;

static clp_status push(const clp_hook *hook)
{
  return clp_hook_push(hook);
}

static clp_status pop(const clp_hook *hook)
{
  return clp_hook_pop(hook);
}

static clp_status add(const clp_hook *hook)
{
  return clp_pool_add_hook(rig.pool, hook);
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

/* Each of the four calls that would change hooks is refused. */
static void try_to_change(clpt_recorder *self, const clp_hook_event *event)
{
  (void)self, (void)event;
  for (int i = 0; i < WAYS; i++) {
    refused += ways[i].begin(&second.hook) == CLP_BUSY;
    refused += ways[i].end(&first.hook) == CLP_BUSY;
  }
}

static bool change_when_out_of_memory(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes, (void)user_data;
  try_to_change(NULL, NULL);
  asked++;
  return false;
}

static void setup(void)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.on_out_of_memory = change_when_out_of_memory;
  clpt_device_init(&rig.device);
  clpt_rig_start_with(&rig, &options);
  clpt_recorder_init(&first, "first");
  clpt_recorder_init(&second, "second");
  second.log_of = &first;
  refused = asked = 0;
}

static void teardown(void)
{
  clpt_rig_end(&rig);
  ck_assert(!clpi_is_watched());
}

START_TEST(callbacks_may_be_missing)
{
  clp_hook none = CLP_HOOK_INIT;
  none.name = "none";
  first.hook.malloc_preprocess = first.hook.alloc_postprocess = first.hook.free_preprocess = NULL;
  second.hook.struct_size = offsetof(clp_hook, alloc_preprocess); /* an older caller's */
  clpt_ok(ways[_i].begin(&none));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_ok(ways[_i].begin(&second.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_recorder_is(&first, "second:m<100:103 a<103 m>100:103 second:m>100:103 f>100:103 "
                           "d<103 d>103");
  clpt_ok(ways[_i].end(&none));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].end(&second.hook));
}
END_TEST

START_TEST(a_name_is_registered_once_for_each)
{
  char name[] = "first"; /* another text that reads the same */
  second.hook.name = name;
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&second.hook));
  clpt_message_has("\"first\"");
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&second.hook));
  clpt_fails(CLP_NOT_FOUND, ways[1 - _i].end(&first.hook));
  clpt_ok(ways[1 - _i].begin(&second.hook)); /* the thread's names are not the pool's */
  clpt_ok(ways[1 - _i].end(&second.hook));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&second.hook));
  clpt_ok(ways[_i].end(&second.hook));
}
END_TEST

START_TEST(hooks_do_not_change_in_callbacks)
{
  clp_buffer *none;
  first.also = try_to_change;
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(first.count, 8); /* each callback */
  rig.device.capacity = 1;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 100, &none));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 100, &none));
  ck_assert_uint_eq(asked, 2); /* with the hook and without */
  ck_assert_uint_eq(refused, 4 * (first.count + asked));
}
END_TEST

START_TEST(registering_needs_host_memory_and_ending_none)
{
  clp_hook *hook = &first.hook;
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status failed = ways[_i].begin(hook);
  (void)clpt_host_stop();
  ck_assert_int_eq(failed, CLP_OUT_OF_HOST_MEMORY);
  ck_assert(!clpi_is_watched());
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  clp_status begun = ways[_i].begin(hook);
  (void)clpt_host_stop();
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status ended = ways[_i].end(hook);
  (void)clpt_host_stop();
  ck_assert(!begun && !ended);
  ck_assert(!clpt_host_failed()); /* it did not even ask */
  ck_assert_int_eq(clpt_host_live(), 0);
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  failed = clp_debug_print_hook_create(stdout, &hook);
  (void)clpt_host_stop();
  ck_assert_int_eq(failed, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(hook);
}
END_TEST

/* --- how long hooks last --- */

static void *push_and_end(void *unused)
{
  (void)unused;
  if (clp_hook_pop(&first.hook) != CLP_NOT_FOUND)
    return "popped another thread's hook";
  return clp_hook_push(&first.hook) || clp_hook_push(&second.hook) ? "a push failed" : NULL;
}

START_TEST(a_threads_hooks_end_with_it)
{
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL)); /* the thread used no pool */
  ck_assert(!clpi_is_watched());
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_is(&first, "");
  clpt_ok(clp_hook_push(&first.hook)); /* the name is free */
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL));
  ck_assert(clpi_is_watched());
  clpt_ok(clp_hook_pop(&first.hook));
}
END_TEST

/* That is, when its last buffer is released. */
START_TEST(a_pools_hooks_end_with_it)
{
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &first.hook));
  clp_buffer *buffer = clpt_allocate(other, 0);
  clp_pool_release(other);
  clpt_ok(clp_pool_add_hook(clp_buffer_pool(buffer), &second.hook));
  clpt_ok(clp_pool_remove_hook(clp_buffer_pool(buffer), &first.hook));
  clpt_recorder_clear(&first);
  clpt_ok(clp_buffer_release(buffer));
  clpt_recorder_is(&first, "second:f<0:0 second:f>0:0");
  ck_assert(!clpi_is_watched());
}
END_TEST

START_TEST(a_child_of_fork_has_its_threads_hooks)
{
  int status;
  clpt_ok(clp_hook_push(&first.hook));
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    clp_allocator *its_own;
    clp_pool *pool;
    clp_buffer *buffer;
    bool ok = clp_pool_allocate(rig.pool, 0, &buffer) == CLP_NOT_SUPPORTED &&
              !clp_host_allocator_create(0, &its_own) && !clp_pool_create(its_own, NULL, &pool) &&
              !clp_pool_allocate(pool, 0, &buffer) && !clp_buffer_release(buffer) &&
              !strcmp(first.log, "m<0:0 m>0:0 f<0:0 f>0:0") && !clp_hook_pop(&first.hook) &&
              !clpi_is_watched() && !clp_hook_push(&first.hook) && !clp_hook_pop(&first.hook);
    _exit(!ok);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  clpt_ok(clp_hook_pop(&first.hook));
}
END_TEST

CLPT_SUITE("hook registration")
{
  TCase *tests = clpt_case(suite, "registration");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, callbacks_may_be_missing, 0, WAYS);
  tcase_add_loop_test(tests, a_name_is_registered_once_for_each, 0, WAYS);
  tcase_add_loop_test(tests, hooks_do_not_change_in_callbacks, 0, WAYS);
  tcase_add_loop_test(tests, registering_needs_host_memory_and_ending_none, 0, WAYS);
  tcase_add_test(tests, a_threads_hooks_end_with_it);
  tcase_add_test(tests, a_pools_hooks_end_with_it);
  tcase_add_test(tests, a_child_of_fork_has_its_threads_hooks);
}
