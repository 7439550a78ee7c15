/* SPDX-License-Identifier: MIT */
/* Whose hooks are called, and until when: those of threads, of pools, of children of fork. */
#include "core/hooks/hook.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sys/wait.h>
#include <unistd.h>

static clpt_recorder first, second;
static clpt_rig rig;

static void start(void)
{
  clpt_rig_start(&rig);
  clpt_recorder_init(&first, "first");
  clpt_recorder_init(&second, "second");
  second.log_of = &first;
}

static void end(void)
{
  clpt_rig_end(&rig);
  ck_assert(!clpi_is_watched());
}

START_TEST(a_threads_hook_is_for_all_pools_a_pools_for_one)
{
  start();
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_hook_push(&first.hook));
  clpt_ok(clp_pool_add_hook(rig.pool, &second.hook));
  clpt_hold(other, 0, 1);
  clpt_recorder_is(&first, "m<0:0 m>0:0 f<0:0 f>0:0");
  ck_assert_ptr_eq(first.events[0].pool, other);
  clpt_ok(clp_hook_pop(&first.hook));
  clpt_ok(clp_pool_remove_hook(rig.pool, &second.hook));
  clp_pool_release(other);
  end();
}
END_TEST

static void *hold_and_pop(void *unused)
{
  clp_buffer *buffer;

  (void)unused;
  if (clp_pool_allocate(rig.pool, 0, &buffer) != CLP_SUCCESS ||
      clp_buffer_release(buffer) != CLP_SUCCESS)
    return "no buffer";
  return clp_hook_pop(&first.hook) == CLP_NOT_FOUND ? NULL : "popped another thread's hook";
}

START_TEST(other_threads_neither_see_nor_pop_a_threads_hook)
{
  start();
  clpt_ok(clp_hook_push(&first.hook));
  clpt_ok(clp_pool_add_hook(rig.pool, &second.hook));
  ck_assert_ptr_null(clpt_aside(hold_and_pop, NULL));
  clpt_recorder_is(&first, "second:m<0:0 second:m>0:0 second:f<0:0 second:f>0:0");
  clpt_ok(clp_hook_pop(&first.hook));
  clpt_ok(clp_pool_remove_hook(rig.pool, &second.hook));
  end();
}
END_TEST

static void *push_and_end(void *unused)
{
  (void)unused;
  return clp_hook_push(&first.hook) || clp_hook_push(&second.hook) ? "a push failed" : NULL;
}

START_TEST(a_threads_hooks_end_with_it)
{
  start();
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL)); /* the thread used no pool */
  ck_assert(!clpi_is_watched());
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_is(&first, "");
  clpt_ok(clp_hook_push(&first.hook)); /* the name is free */
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL));
  ck_assert(clpi_is_watched());
  clpt_ok(clp_hook_pop(&first.hook));
  end();
}
END_TEST

START_TEST(a_pools_hooks_end_with_it)
{
  start();
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &first.hook));
  clpt_ok(clp_pool_add_hook(other, &second.hook));
  clp_pool_release(other);
  ck_assert(!clpi_is_watched());
  clpt_ok(clp_hook_push(&first.hook)); /* it outlives the pool */
  clpt_hold(rig.pool, 0, 1);
  clpt_recorder_is(&first, "m<0:0 m>0:0 f<0:0 f>0:0");
  clpt_ok(clp_hook_pop(&first.hook));
  end();
}
END_TEST

START_TEST(a_hook_outlives_a_pool_whose_buffers_outlive_it_too)
{
  start();
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &first.hook));
  clp_buffer *buffer = clpt_allocate(other, 0);
  clp_pool_release(other);
  clpt_recorder_clear(&first);
  clpt_ok(clp_pool_add_hook(clp_buffer_pool(buffer), &second.hook));
  clpt_ok(clp_pool_remove_hook(clp_buffer_pool(buffer), &first.hook));
  clpt_ok(clp_buffer_release(buffer));
  clpt_recorder_is(&first, "second:f<0:0 second:f>0:0");
  end();
}
END_TEST

START_TEST(a_child_of_fork_has_its_threads_hooks)
{
  int status;

  start();
  clpt_ok(clp_hook_push(&first.hook));
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    clp_allocator *own;
    clp_pool *pool;
    clp_buffer *buffer;
    bool ok = clp_pool_allocate(rig.pool, 0, &buffer) == CLP_NOT_SUPPORTED &&
              clp_host_allocator_create(0, &own) == CLP_SUCCESS &&
              clp_pool_create(own, NULL, &pool) == CLP_SUCCESS &&
              clp_pool_allocate(pool, 0, &buffer) == CLP_SUCCESS &&
              clp_buffer_release(buffer) == CLP_SUCCESS &&
              strcmp(first.log, "m<0:0 m>0:0 f<0:0 f>0:0") == 0 &&
              clp_hook_pop(&first.hook) == CLP_SUCCESS && !clpi_is_watched() &&
              clp_hook_push(&first.hook) == CLP_SUCCESS && clp_hook_pop(&first.hook) == CLP_SUCCESS;
    _exit(ok ? 0 : 1);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  clpt_ok(clp_hook_pop(&first.hook));
  end();
}
END_TEST

CLPT_MAIN("hook owners", clpt_run)
{
  TCase *tests = clpt_case(suite, "owners");

  tcase_add_test(tests, a_threads_hook_is_for_all_pools_a_pools_for_one);
  tcase_add_test(tests, other_threads_neither_see_nor_pop_a_threads_hook);
  tcase_add_test(tests, a_threads_hooks_end_with_it);
  tcase_add_test(tests, a_pools_hooks_end_with_it);
  tcase_add_test(tests, a_hook_outlives_a_pool_whose_buffers_outlive_it_too);
  tcase_add_test(tests, a_child_of_fork_has_its_threads_hooks);
}
