/* SPDX-License-Identifier: MIT */
/* The limit on managed bytes, what happens while the device is called, and the end of pools. */
#include "support/pools.h"
#include "support/suite.h"

#include <math.h>
#include <stdint.h>

/* --- the limit --- */

START_TEST(a_refusal_names_the_figures_and_changes_none)
{
  static const size_t sizes[] = {2000, SIZE_MAX, SIZE_MAX - 103, SIZE_MAX - 102, SIZE_MAX / 2 + 1};
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  clp_buffer *active = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_set_limit(rig.pool, 1111));
  clp_pool_stats before = clpt_stats(rig.pool);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, sizes[i], &buffer));
    clpt_message_has(i ? "" : "2047"); /* the bin's size */
    clpt_message_has("1111");
    clpt_message_has("103");
  }
  clp_pool_stats after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_uint_eq(after.out_of_memory_reactions, 0);
  clpt_device_trace_is(&rig.device, "A103");
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_is_of_the_devices_memory)
{
  static const struct {
    size_t bytes;
    double fraction;
    size_t limit;
  } rows[] = {{10000, 0.5, 5000},
              {10000, 1.0, 10000},
              {10000, 0.0, 0},
              {10000, -0.0, 0},
              {10000, 0.00015, 1},
              {10000, 1.0e-9, 1}, /* not 0, which is no limit */
              {SIZE_MAX, 1.0, SIZE_MAX},
              {SIZE_MAX - 1, 1.0, SIZE_MAX - 1},
              {SIZE_MAX / 2 + 2, 1.0, SIZE_MAX / 2 + 2}};
  clpt_rig rig;

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    clpt_rig_start_on(&rig, rows[i].bytes);
    clpt_ok(clp_pool_set_limit(rig.pool, 77));
    clpt_ok(clp_pool_set_limit_fraction(rig.pool, rows[i].fraction));
    ck_assert_uint_eq(clp_pool_get_limit(rig.pool), rows[i].limit);
    clpt_ok(clp_pool_set_limit_fraction(rig.pool, nextafter(1.0, 0.0)));
    ck_assert_uint_le(clp_pool_get_limit(rig.pool), rows[i].bytes);
    ck_assert_uint_ge(clp_pool_get_limit(rig.pool), rows[i].bytes / 4 * 3);
    clpt_rig_end(&rig);
  }
}
END_TEST

/* --- while the device is called --- */

typedef enum event { NOTHING, ALLOCATE, MAKE_ROOM, END, STOP, LIMIT, FAIL, RUN_OUT } event;

/* What happens inside one of the device's calls, once. */
typedef struct meeting {
  clpt_call at;
  event what;
  clp_pool *pool;
  clp_buffer *buffer; /* of that pool */
  clp_status status;
} meeting;

static void meet(clpt_device *device, clpt_call call, size_t bytes)
{
  meeting *it = device->on_call_data;
  event what = call == it->at ? it->what : NOTHING;

  (void)bytes;
  it->what = what ? NOTHING : it->what;
  if (what == MAKE_ROOM || what == LIMIT)
    clpt_ok(clp_pool_set_limit(it->pool, what == LIMIT));
  if (what == ALLOCATE || what == MAKE_ROOM)
    it->status = clp_pool_allocate(it->pool, 103, &it->buffer);
  else if (what == END)
    clp_pool_release(it->pool);
  else if (what == STOP)
    clpt_ok(clp_pool_stop_holding(it->pool));
  else if (what == FAIL)
    (void)clp_set_last_error(CLP_BACKEND_ERROR, 1, "recovered");
  if (what != RUN_OUT)
    return;
  clpt_ok(clp_buffer_release(it->buffer));
  device->allocate_fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
}

static void start_meeting(clpt_rig *rig, meeting *it)
{
  clpt_rig_start(rig);
  it->pool = rig->pool;
  rig->device.on_call_data = it;
  rig->device.on_call = meet;
}

START_TEST(a_free_that_would_wait_for_itself_is_busy)
{
  meeting it = {.at = CLPT_FREE, .status = CLP_NOT_FOUND};
  clp_buffer *buffer = NULL;
  clpt_rig rig;

  start_meeting(&rig, &it);
  clpt_ok(clp_pool_set_limit(rig.pool, 103));
  clpt_hold(rig.pool, 100, 1);
  it.what = _i ? MAKE_ROOM : ALLOCATE;
  clpt_ok(clp_pool_allocate(rig.pool, 50, &buffer)); /* which frees what is held */
  ck_assert_int_eq(it.status, _i ? CLP_SUCCESS : CLP_BUSY);
  clpt_ok(clp_buffer_release(it.buffer));
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

/* The second request comes while the device is asked for the first. Both fit, or a byte less
 * refuses the second. */
START_TEST(what_is_under_way_counts)
{
  meeting it = {.at = CLPT_ALLOCATE, .what = ALLOCATE, .status = CLP_NOT_FOUND};
  clpt_rig rig;

  start_meeting(&rig, &it);
  clpt_ok(clp_pool_set_limit(rig.pool, 1023 + 103 - (size_t)_i));
  clp_buffer *first = clpt_allocate(rig.pool, 1023);
  ck_assert_int_eq(it.status, _i ? CLP_LIMIT_EXCEEDED : CLP_SUCCESS);
  clpt_ok(clp_buffer_release(it.buffer));
  clpt_ok(clp_buffer_release(first));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_miss_is_served_whatever_happens_meanwhile)
{
  meeting it = {.at = CLPT_ALLOCATE};
  clp_buffer *buffer = NULL;
  clpt_rig rig;

  start_meeting(&rig, &it);
  it.buffer = _i == RUN_OUT ? clpt_allocate(rig.pool, 100) : NULL;
  it.what = (event)_i;
  clpt_ok_quietly(clp_pool_allocate(rig.pool, 100, &buffer));
  if (_i == END)
    rig.pool = NULL;
  else {
    ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 103);
    ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, _i == RUN_OUT);
  }
  clpt_ok(clp_buffer_release(buffer));
  ck_assert_uint_eq(rig.device.live_blocks, _i != END && _i != STOP);
  clpt_rig_end(&rig);
}
END_TEST

/* --- the end --- */

static void let_go(clpt_rig *rig)
{
  clp_pool_release(rig->pool);
  clp_allocator_release(rig->allocator);
}

/* That is for the log. */
START_TEST(a_failing_free_at_a_pools_end_is_not_the_last_releases_failure)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  clp_buffer *last = clpt_allocate(rig.pool, 200);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  let_go(&rig);
  rig.device.free_fault = (clpt_fault){.after = 1, .count = 1, .status = CLP_BACKEND_ERROR};
  clpt_ok_quietly(clp_buffer_release(last));
  ck_assert_uint_eq(rig.device.destroyed, 1);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
}
END_TEST

START_TEST(a_pool_retained_again_through_a_buffer_ends_once)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  let_go(&rig);
  ck_assert_ptr_eq(clp_pool_retain(clp_buffer_pool(buffer)), rig.pool);
  if (_i)
    clp_pool_release(rig.pool);
  clpt_ok(clp_buffer_release(buffer));
  if (!_i)
    clp_pool_release(rig.pool);
  clpt_device_assert_ended(&rig.device);
}
END_TEST

CLPT_SUITE("limit")
{
  TCase *tests = clpt_case(suite, "limit");
  tcase_add_test(tests, a_refusal_names_the_figures_and_changes_none);
  tcase_add_test(tests, a_fraction_is_of_the_devices_memory);
  tcase_add_loop_test(tests, a_free_that_would_wait_for_itself_is_busy, 0, 2);
  tcase_add_loop_test(tests, what_is_under_way_counts, 0, 2);
  tcase_add_loop_test(tests, a_miss_is_served_whatever_happens_meanwhile, END, RUN_OUT + 1);
  tcase_add_test(tests, a_failing_free_at_a_pools_end_is_not_the_last_releases_failure);
  tcase_add_loop_test(tests, a_pool_retained_again_through_a_buffer_ends_once, 0, 2);
}
