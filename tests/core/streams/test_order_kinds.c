/* SPDX-License-Identifier: MIT */
/* Streams that are out of order, allocators that use new memory on the home stream, and a thread
 * that serves two streams. */
#include "support/late_rig.h"
#include "support/suite.h"

#include <clpool/log.h>
#include <stdio.h>

enum { REMARK_BYTES = 512 };

static bool never_in_order(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return false;
}

static void start_out_of_order(clpt_late_rig *rig, unsigned reuse_flags, bool home)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  options.reuse_flags = reuse_flags;
  clpt_late_init(&rig->device);
  rig->device.ops.stream_is_in_order = never_in_order;
  rig->home = home ? clpt_late_stream_new(&rig->device) : NULL;
  clpt_late_rig_start_on(rig, &options);
}

START_TEST(out_of_order_a_stream_waits_for_its_own_work)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  start_out_of_order(&rig, _i == 0 ? CLP_REUSE_INTERNAL_DEPENDENCIES : CLPT_REUSE_EITHER, false);
  for (unsigned round = 0; round < 3; round++) {
    clpt_late_hold(&rig, rig.s);
    clpt_late_clear(&rig.device);
    buffer = clpt_late_take_held(&rig, rig.s);
    ck_assert_uint_eq(rig.device.calls[CLPT_LATE_MARK_CREATE], 1);
    ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
    clpt_ok(clp_buffer_release_on(buffer, rig.s));
  }
  clpt_late_rig_end(&rig);
}
END_TEST

/* Whatever the thread's cache has, which blocks of in-order streams go through. */
START_TEST(calls_without_a_stream_are_of_the_home_stream_also_out_of_order)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  start_out_of_order(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES, true);
  clpt_ok(clp_buffer_release(clpt_late_take_unordered(&rig, rig.home)));
  for (unsigned round = 0; round < 8; round++) {
    clpt_late_clear(&rig.device);
    buffer =
        round & 1 ? clpt_late_take_unordered(&rig, rig.home) : clpt_late_take_held(&rig, rig.home);
    ck_assert_uint_eq(rig.device.calls[CLPT_LATE_MARK_CREATE], 1);
    ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
    clpt_ok(round & 2 ? clp_buffer_release(buffer) : clp_buffer_release_on(buffer, rig.home));
  }
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 1);
  clpt_late_rig_end(&rig);
}
END_TEST

/* A free behind its work would need a barrier there. */
START_TEST(out_of_order_a_stream_gets_no_frees)
{
  clpt_late_rig rig;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, CLPT_LATE_FREES_ON_STREAMS);
  rig.device.ops.stream_is_in_order = never_in_order;
  rig.home = NULL;
  clpt_late_rig_start_on(&rig, &options);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.s), rig.s));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_FREE_ON], 1);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1); /* the device's own stream does */
  clpt_late_rig_end(&rig);
}
END_TEST

static void start_using_home(clpt_late_rig *rig)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  clpt_late_init(&rig->device);
  rig->device.ops.allocate_uses_home = true;
  rig->home = clpt_late_stream_new(&rig->device);
  clpt_late_rig_start_on(rig, &options);
}

START_TEST(a_stream_waits_for_what_the_home_stream_does_to_new_memory)
{
  clpt_late_rig rig;
  clp_buffer *at_home, *elsewhere;

  start_using_home(&rig);
  at_home = clpt_late_take_new(&rig, rig.home);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  elsewhere = clpt_late_take_new(&rig, rig.s);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  clpt_ok(clp_buffer_release_on(elsewhere, rig.s));
  clpt_ok(clp_buffer_release_on(at_home, rig.home));
  clpt_late_rig_end(&rig);
}
END_TEST

/* Calls that fail, and whether there is another way. What gives the memory back does not fail. */
START_TEST(new_memory_that_cannot_be_waited_for_is_given_back)
{
  static const struct {
    unsigned failing, times;
    clp_status how, status;
  } cases[] = {
      {1u << CLPT_LATE_STREAM_WAIT, 1, CLP_NOT_SUPPORTED, CLP_SUCCESS}, /* the host waits */
      {1u << CLPT_LATE_STREAM_WAIT | 1u << CLPT_LATE_HOST_WAIT, 2, CLP_NOT_SUPPORTED,
       CLP_NOT_SUPPORTED},
      {1u << CLPT_LATE_STREAM_WAIT, 1, CLP_BACKEND_ERROR, CLP_BACKEND_ERROR},
      {1u << CLPT_LATE_MARK_CREATE, 1, CLP_BACKEND_ERROR, CLP_BACKEND_ERROR}};
  clpt_late_rig rig;
  clp_buffer *buffer;

  start_using_home(&rig);
  clpt_late_run_all(&rig.device);
  rig.device.failing = cases[_i].failing;
  rig.device.fault = (clpt_fault){.count = cases[_i].times, .status = cases[_i].how};
  (void)clp_set_last_error(CLP_BUSY, 0, "from before");
  ck_assert_int_eq(clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.s, &buffer),
                   cases[_i].status);
  ck_assert_int_eq(clp_last_error()->status, cases[_i].status ? cases[_i].status : CLP_BUSY);
  rig.device.failing = 0;
  ck_assert_uint_eq(rig.device.live_blocks, cases[_i].status ? 0 : 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, cases[_i].status ? 0 : 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes,
                    cases[_i].status ? 0 : CLPT_LATE_BLOCK_BYTES);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* A free that does its work and says that it failed. */
static clp_status (*real_free)(void *self, clp_memory memory, size_t bytes);

static clp_status free_and_deny(void *self, clp_memory memory, size_t bytes)
{
  (void)real_free(self, memory, bytes);
  return clp_set_last_error(CLP_BACKEND_ERROR, 9, "not freed");
}

static void keep_remark(clp_log_level level, const char *message, void *user_data)
{
  (void)level;
  (void)snprintf(user_data, REMARK_BYTES, "%s", message);
}

START_TEST(new_memory_that_cannot_even_be_given_back_is_for_the_log)
{
  char remark[REMARK_BYTES] = "";
  clpt_late_rig rig;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_buffer *buffer;

  clpt_late_init(&rig.device);
  rig.device.ops.allocate_uses_home = true;
  real_free = rig.device.ops.free;
  rig.device.ops.free = free_and_deny;
  rig.home = clpt_late_stream_new(&rig.device);
  clpt_late_rig_start_on(&rig, &options);
  rig.device.failing = 1u << CLPT_LATE_MARK_CREATE;
  rig.device.fault = (clpt_fault){
      .count = 1, .status = CLP_OUT_OF_HOST_MEMORY, .native_code = 7, .message = "not marked"};
  clp_set_log(keep_remark, remark);
  clpt_fails(CLP_OUT_OF_HOST_MEMORY,
             clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.s, &buffer));
  clp_set_log(NULL, NULL);
  ck_assert_int_eq(clp_last_error()->native_code, 7);
  clpt_message_has("not marked");
  ck_assert_ptr_nonnull(strstr(remark, "1023 bytes"));
  ck_assert_ptr_nonnull(strstr(remark, "not freed"));
  clpt_late_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: kinds");
  TCase *tests = tcase_create("out of order");
  tcase_add_loop_test(tests, out_of_order_a_stream_waits_for_its_own_work, 0, 2);
  tcase_add_test(tests, calls_without_a_stream_are_of_the_home_stream_also_out_of_order);
  tcase_add_test(tests, out_of_order_a_stream_gets_no_frees);
  suite_add_tcase(suite, tests);
  tests = tcase_create("new memory");
  tcase_add_test(tests, a_stream_waits_for_what_the_home_stream_does_to_new_memory);
  tcase_add_loop_test(tests, new_memory_that_cannot_be_waited_for_is_given_back, 0, 4);
  tcase_add_test(tests, new_memory_that_cannot_even_be_given_back_is_for_the_log);
  suite_add_tcase(suite, tests);
  tests = tcase_create("two streams");
  suite_add_tcase(suite, tests);
  return clpt_run(suite);
}
