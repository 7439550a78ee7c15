/* SPDX-License-Identifier: MIT */
/* What hooks are shown: which pairs, in which order, with which arguments (cupy.cuda.MemoryHook).
 */
#include "support/ladder.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

enum { DEVICE_ID = 7 };

static clpt_recorder seen;

/* A rig with `seen` registered for the thread. */
static void start(clpt_rig *rig)
{
  clpt_device_init(&rig->device);
  rig->device.ops.device_id = DEVICE_ID;
  clpt_rig_start_with(rig, NULL);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
}

static void end(clpt_rig *rig)
{
  clpt_ok(clp_hook_pop(&seen.hook));
  clpt_rig_end(rig);
}

/* --- Mallocs --- */

START_TEST(a_miss_is_a_malloc_with_an_alloc_inside)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_recorder_is(&seen, "m<100:103 a<103 a>103 m>100:103");
  for (size_t i = 0; i < 4; i++) {
    bool is_post_malloc = i == 3;
    ck_assert_ptr_eq(seen.events[i].pool, rig.pool);
    ck_assert_int_eq(seen.events[i].device_id, DEVICE_ID);
    ck_assert_ptr_null(seen.events[i].stream);
    ck_assert_uint_eq(seen.events[i].memory, i < 2 ? 0 : clp_buffer_memory(buffer));
    ck_assert_int_eq(seen.events[i].buffer_id != 0, is_post_malloc);
  }
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

START_TEST(zero_bytes_are_a_malloc_without_memory_but_with_an_id)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *empty = clpt_allocate(rig.pool, 0);
  clp_buffer *other = clpt_allocate(rig.pool, 0);
  clpt_recorder_is(&seen, "m<0:0 m>0:0 m<0:0 m>0:0");
  ck_assert_uint_eq(seen.events[1].memory, 0);
  ck_assert_uint_ne(seen.events[1].buffer_id, 0);
  ck_assert_uint_ne(seen.events[1].buffer_id, seen.events[3].buffer_id);
  clpt_recorder_clear(&seen);
  clpt_ok(clp_buffer_release(empty));
  clpt_ok(clp_buffer_release(other));
  clpt_recorder_is(&seen, "f<0:0 f>0:0 f<0:0 f>0:0");
  end(&rig);
}
END_TEST

START_TEST(a_device_that_fails_ends_both_pairs_with_nothing)
{
  clpt_rig rig;
  clp_buffer *none;

  start(&rig);
  rig.device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(rig.pool, 100, &none));
  clpt_recorder_is(&seen, "m<100:103 a<103 a>103! m>100:103!");
  ck_assert_uint_eq(seen.events[3].memory, 0);
  end(&rig);
}
END_TEST

START_TEST(each_try_after_running_out_is_an_alloc_more_in_the_same_malloc)
{
  clpt_rig rig;
  clp_buffer *none;

  start(&rig);
  rig.device.capacity = 1000; /* three tries: at first, after the drain, after the return */
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &none));
  clpt_recorder_is(&seen, "m<1000:1023 a<1023 a>1023! a<1023 a>1023! a<1023 a>1023! m>1000:1023!");
  end(&rig);
}
END_TEST

START_TEST(what_is_freed_for_a_malloc_is_shown_between_the_tries)
{
  clpt_rig rig;

  start(&rig);
  rig.device.capacity = 1100;
  clpt_hold(rig.pool, 500, 1);
  clpt_recorder_clear(&seen);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  clpt_recorder_is(&seen, "m<1000:1023 a<1023 a>1023! d<511 d>511 a<1023 a>1023 m>1000:1023");
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

START_TEST(a_block_that_comes_back_in_time_needs_no_further_alloc)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  helper.says_yes = 1;
  helper.releases[0] = clpt_allocate(rig.pool, 1010);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  clpt_recorder_is(&seen, "m<1000:1023 a<1023 a>1023! a<1023 a>1023! a<1023 a>1023! "
                          "f<1010:1023 f>1010:1023 m>1000:1023");
  ck_assert_uint_eq(seen.events[seen.count - 1].memory, clp_buffer_memory(buffer));
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

/* --- Frees --- */

START_TEST(a_release_is_a_free_of_what_malloc_gave)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  uint64_t id = seen.events[3].buffer_id;
  clpt_recorder_clear(&seen);
  for (int round = 0; round < 2; round++) { /* under the lock, then warm */
    clp_memory memory = clp_buffer_memory(buffer);
    clpt_recorder_clear(&seen);
    clpt_ok(clp_buffer_release(buffer));
    clpt_recorder_is(&seen, "f<100:103 f>100:103");
    for (size_t i = 0; i < 2; i++) {
      ck_assert_ptr_eq(seen.events[i].pool, rig.pool);
      ck_assert_int_eq(seen.events[i].device_id, DEVICE_ID);
      ck_assert_uint_eq(seen.events[i].memory, memory);
      ck_assert_uint_eq(seen.events[i].buffer_id, id);
    }
    buffer = clpt_allocate(rig.pool, 100);
    id = seen.events[seen.count - 1].buffer_id;
  }
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

static void *release_with_hook(void *buffer)
{
  static clpt_recorder own;

  clpt_recorder_init(&own, "own");
  if (clp_hook_push(&own.hook) != CLP_SUCCESS || clp_buffer_release(buffer) != CLP_SUCCESS ||
      clp_hook_pop(&own.hook) != CLP_SUCCESS)
    return "a call failed";
  return own.log;
}

START_TEST(a_free_is_shown_to_the_thread_that_releases)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_recorder_clear(&seen);
  ck_assert_str_eq(clpt_aside(release_with_hook, buffer), "f<100:103 f>100:103");
  clpt_recorder_is(&seen, "");
  end(&rig);
}
END_TEST

/* --- What shows nothing --- */

START_TEST(calls_that_cannot_be_show_nothing)
{
  clpt_rig rig;
  clp_buffer *buffer, *none;

  clpt_device_init(&rig.device);
  rig.device.ops.max_block_bytes = 4096;
  clpt_rig_start_with(&rig, NULL);
  clpt_recorder_init(&seen, "seen");
  buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_hook_push(&seen.hook));
  clpt_ok(clp_pool_add_hook(rig.pool, &seen.hook));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(NULL, 100, &none));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(rig.pool, 100, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(rig.pool, 4097, &none));
  ck_assert_ptr_null(none);
  clpt_ok(clp_buffer_release(NULL));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));
  none = buffer;
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate_on(rig.pool, 100, &rig, &none));
  ck_assert_ptr_null(none);
  clpt_recorder_is(&seen, "");
  buffer = clpt_allocate(rig.pool, 100);
  clpt_recorder_clear(&seen);
  clpt_fails(CLP_NOT_SUPPORTED, clp_buffer_release_on(buffer, &rig));
  clpt_recorder_is(&seen, "");
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

START_TEST(hooks_do_not_change_the_figures)
{
  clp_pool_stats stats[2];

  for (int hooked = 0; hooked < 2; hooked++) {
    clpt_rig rig;
    clp_buffer *buffer;
    start(&rig);
    if (!hooked)
      clpt_ok(clp_hook_pop(&seen.hook));
    clpt_hold(rig.pool, 100, 3);
    clpt_hold(rig.pool, 0, 3);
    clpt_ok(clp_pool_free_held(rig.pool));
    buffer = clpt_allocate(rig.pool, 5000);
    clpt_hold(rig.pool, 100, 2);
    stats[hooked] = clpt_stats(rig.pool);
    clpt_ok(clp_buffer_release(buffer));
    if (!hooked)
      clpt_ok(clp_hook_push(&seen.hook));
    end(&rig);
  }
  ck_assert_mem_eq(&stats[0], &stats[1], sizeof(stats[0]));
}
END_TEST

CLPT_MAIN("hook", clpt_run)
{
  TCase *mallocs = clpt_case(suite, "mallocs"), *frees = clpt_case(suite, "frees");
  TCase *nothing = clpt_case(suite, "nothing");

  tcase_add_test(mallocs, a_miss_is_a_malloc_with_an_alloc_inside);
  tcase_add_test(mallocs, zero_bytes_are_a_malloc_without_memory_but_with_an_id);
  tcase_add_test(mallocs, a_device_that_fails_ends_both_pairs_with_nothing);
  tcase_add_test(mallocs, each_try_after_running_out_is_an_alloc_more_in_the_same_malloc);
  tcase_add_test(mallocs, what_is_freed_for_a_malloc_is_shown_between_the_tries);
  tcase_add_test(mallocs, a_block_that_comes_back_in_time_needs_no_further_alloc);
  tcase_add_test(frees, a_release_is_a_free_of_what_malloc_gave);
  tcase_add_test(frees, a_free_is_shown_to_the_thread_that_releases);
  tcase_add_test(nothing, calls_that_cannot_be_show_nothing);
  tcase_add_test(nothing, hooks_do_not_change_the_figures);
}
