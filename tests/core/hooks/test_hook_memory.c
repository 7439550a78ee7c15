/* SPDX-License-Identifier: MIT */
/* Hooks without host memory: registering fails and leaves nothing, mallocs are shown to have
 * failed, and what hooks cost at all. */
#include "core/hooks/hook.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"

static clpt_recorder seen;
static clpt_rig rig;

static clp_status push(void)
{
  return clp_hook_push(&seen.hook);
}

static clp_status add(void)
{
  return clp_pool_add_hook(rig.pool, &seen.hook);
}

static clp_status pop(void)
{
  return clp_hook_pop(&seen.hook);
}

static clp_status remove_from_pool(void)
{
  return clp_pool_remove_hook(rig.pool, &seen.hook);
}

static const struct way {
  clp_status (*begin)(void);
  clp_status (*end)(void);
} ways[] = {{push, pop}, {add, remove_from_pool}};

START_TEST(registering_fails_without_a_trace_and_ending_never_does)
{
  clpt_rig_start(&rig);
  clpt_recorder_init(&seen, "seen");
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status failed = ways[_i].begin();
  (void)clpt_host_stop();
  ck_assert_int_eq(failed, CLP_OUT_OF_HOST_MEMORY);
  ck_assert(!clpi_is_watched());
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  clp_status begun = ways[_i].begin();
  (void)clpt_host_stop();
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status ended = ways[_i].end();
  (void)clpt_host_stop();
  ck_assert_int_eq(begun, CLP_SUCCESS);
  ck_assert_int_eq(ended, CLP_SUCCESS);
  ck_assert(!clpt_host_failed()); /* it did not even ask */
  ck_assert_int_eq(clpt_host_live(), 0);
  clpt_recorder_is(&seen, "");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_malloc_without_host_memory_is_shown_to_have_failed)
{
  clp_buffer *none;

  clpt_rig_start(&rig);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(ways[_i].begin());
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status status = clp_pool_allocate(rig.pool, 100, &none);
  (void)clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(none);
  clpt_recorder_is(&seen, "m<100:103 m>100:103!");
  clpt_ok(ways[_i].end());
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(showing_takes_no_host_memory)
{
  clp_buffer *buffer;

  clpt_rig_start(&rig);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(ways[_i].begin());
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_clear(&seen);
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  bool ok = clp_pool_allocate(rig.pool, 100, &buffer) == CLP_SUCCESS &&
            clp_buffer_release(buffer) == CLP_SUCCESS &&
            clp_pool_free_held(rig.pool) == CLP_SUCCESS;
  unsigned long calls = clpt_host_stop();
  ck_assert(ok);
  ck_assert_uint_eq(calls, 0);
  clpt_recorder_is(&seen, "m<100:103 m>100:103 f<100:103 f>100:103 d<103 d>103");
  clpt_ok(ways[_i].end());
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(hooks_that_write_need_host_memory)
{
  clp_hook *hook = &seen.hook;

  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clp_status status = clp_debug_print_hook_create(stdout, &hook);
  (void)clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(hook);
}
END_TEST

CLPT_MAIN("hook memory", clpt_run)
{
  TCase *tests = clpt_case(suite, "memory");

  tcase_add_loop_test(tests, registering_fails_without_a_trace_and_ending_never_does, 0, 2);
  tcase_add_loop_test(tests, a_malloc_without_host_memory_is_shown_to_have_failed, 0, 2);
  tcase_add_loop_test(tests, showing_takes_no_host_memory, 0, 2);
  tcase_add_test(tests, hooks_that_write_need_host_memory);
}
