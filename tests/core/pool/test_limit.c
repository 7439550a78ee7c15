/* SPDX-License-Identifier: MIT */
/* The limit on managed bytes: set by bytes or by a part of the device, and kept. */
#include "support/pools.h"
#include "support/suite.h"

#include <math.h>
#include <stdint.h>

typedef struct nested {
  clp_pool *pool;
  clp_status status; /* of an allocation from inside a free */
  bool makes_room;   /* first, by a limit */
} nested;

static void allocate_in_free(clpt_device *device, clpt_call call, size_t bytes)
{
  nested *it = device->on_call_data;
  clp_buffer *buffer = NULL;
  if (call != CLPT_FREE || it->status)
    return;
  if (it->makes_room)
    clpt_ok(clp_pool_set_limit(it->pool, 0));
  it->status = clp_pool_allocate(it->pool, bytes, &buffer);
  clpt_ok(clp_buffer_release(buffer));
  device->on_call = NULL;
}

START_TEST(a_free_that_would_wait_for_itself_is_busy)
{
  nested it = {.makes_room = _i};
  clp_buffer *buffer = NULL;
  clpt_rig rig;

  clpt_rig_start(&rig);
  it.pool = rig.pool;
  rig.device.on_call = allocate_in_free;
  rig.device.on_call_data = &it;
  clpt_ok(clp_pool_set_limit(rig.pool, 103));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_allocate(rig.pool, 50, &buffer)); /* which frees what is held */
  ck_assert_int_eq(it.status, it.makes_room ? CLP_SUCCESS : CLP_BUSY);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_refusal_tells_the_figures_and_changes_none)
{
  clpt_rig rig;
  clp_buffer *active, *buffer = NULL;

  clpt_rig_start(&rig);
  active = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_set_limit(rig.pool, 1111));
  clp_pool_stats before = clpt_stats(rig.pool);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 2000, &buffer));
  clpt_message_has("2047"); /* rounded */
  clpt_message_has("1111"); /* limit */
  clpt_message_has("103");  /* managed */
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  clp_pool_stats after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_uint_eq(after.out_of_memory_reactions, 0);
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_limit_neither_drains_nor_takes_from_other_pools)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_hold(other, 100, 1);
  clpt_ok(clp_pool_set_limit(rig.pool, 1000));
  clpt_device_clear_trace(&rig.device);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 1023, &buffer));
  clpt_device_trace_is(&rig.device, "");
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(requests_near_the_end_of_size_t_do_not_wrap_around_a_limit)
{
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 103, SIZE_MAX - 102, SIZE_MAX / 2 + 1};
  clpt_rig rig;
  clp_buffer *active, *buffer = NULL;

  clpt_rig_start(&rig);
  active = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_set_limit(rig.pool, 10000));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, sizes[_i], &buffer));
  clpt_device_trace_is(&rig.device, "A103");
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_device_that_refuses_a_block_while_a_limit_makes_room_is_told_and_nothing_is_lost)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_set_limit(rig.pool, 1023));
  clp_pool_stats before = clpt_stats(rig.pool);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_ptr_null(buffer);
  clp_pool_stats after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  clpt_hold(rig.pool, 1000, 1);
  clpt_rig_end(&rig);
}
END_TEST

/* It is of the request's size, rounded to the alignment, and never held for another request. */
START_TEST(where_a_bins_block_would_pass_the_limit_a_smaller_one_may_do)
{
  enum { BYTES = 1500, EXACT = 1504, BIN = 1535 };
  clp_buffer *buffer = NULL;
  clpt_rig rig;

  clpt_device_init(&rig.device);
  rig.device.ops.alignment = 16;
  clpt_rig_start_with(&rig, NULL);
  clpt_ok(clp_pool_set_limit(rig.pool, EXACT - 1));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, BYTES, &buffer));
  clpt_ok(clp_pool_set_limit(rig.pool, EXACT));
  for (unsigned refused = 0; refused < 2; refused++) {
    buffer = clpt_allocate(rig.pool, BYTES);
    ck_assert_uint_eq(clp_buffer_capacity(buffer), EXACT);
    rig.device.free_fault = (clpt_fault){.count = refused, .status = CLP_BACKEND_ERROR};
    clpt_ok(clp_buffer_release(buffer));
    ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, rig.device.live_bytes);
    ck_assert_uint_eq(clpt_stats(rig.pool).held_bytes, refused * EXACT);
    ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, refused);
  }
  clpt_ok(clp_pool_set_limit(rig.pool, 0));
  buffer = clpt_allocate(rig.pool, BYTES);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), BIN);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

/* No pool's limit refused, so nothing that the pool could free would help. */
START_TEST(a_limit_of_the_allocators_own_is_passed_on_at_once)
{
  clpt_rig rig;
  clp_buffer *buffer;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  clpt_device_clear_trace(&rig.device);
  rig.device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_LIMIT_EXCEEDED};
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 1000, &buffer));
  clpt_device_trace_is(&rig.device, "A1023!");
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 1);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_device_without_memory_for_a_give_back_is_reacted_to)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_ok(clp_pool_set_limit(rig.pool, 1100));
  clpt_hold(rig.pool, 1000, 1);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
  clpt_ok(clp_buffer_release(clpt_allocate(rig.pool, 200)));
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 1);
  clpt_rig_end(&rig);
}
END_TEST

typedef struct second_request {
  clp_pool *pool;
  clp_buffer *buffer;
  clp_status status;
} second_request;

static void ask_meanwhile(clpt_device *device, clpt_call call, size_t bytes)
{
  second_request *second = device->on_call_data;

  if (call == CLPT_ALLOCATE && bytes == 1023)
    second->status = clp_pool_allocate(second->pool, 103, &second->buffer);
}

/* The second request comes while the device is asked for the first; both fit, or one byte less
 * refuses the second. */
START_TEST(what_is_under_way_counts)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  second_request second = {.pool = rig.pool};
  rig.device.on_call = ask_meanwhile;
  rig.device.on_call_data = &second;
  clpt_ok(clp_pool_set_limit(rig.pool, 1023 + 103 - (size_t)_i));
  clp_buffer *first = clpt_allocate(rig.pool, 1023);
  ck_assert_int_eq(second.status, _i ? CLP_LIMIT_EXCEEDED : CLP_SUCCESS);
  clpt_ok(clp_buffer_release(second.buffer));
  clpt_ok(clp_buffer_release(first));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_is_of_the_devices_memory)
{
  static const struct {
    double fraction;
    size_t limit;
  } limits[] = {{0.5, 5000}, {0.25, 2500}, {1.0, 10000}, {0.0, 0}, {-0.0, 0}, {0.00015, 1}};
  clpt_rig rig;

  clpt_rig_start_on(&rig, 10000);
  clpt_ok(clp_pool_set_limit(rig.pool, 77));
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, limits[_i].fraction));
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), limits[_i].limit);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_too_small_for_a_byte_does_not_become_no_limit)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start_on(&rig, 10000);
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, 1.0e-9));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 100, &buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_of_the_largest_device_is_exact_enough)
{
  static const size_t devices[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 2};
  size_t bytes = devices[_i];
  clpt_rig rig;

  clpt_rig_start_on(&rig, bytes);
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, 1.0));
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), bytes);
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, nextafter(1.0, 0.0)));
  ck_assert_uint_le(clp_pool_get_limit(rig.pool), bytes);
  ck_assert_uint_ge(clp_pool_get_limit(rig.pool), bytes / 4 * 3);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_simulated_allocators_memory_is_its_capacity)
{
  clp_allocator *allocator = NULL;

  clpt_ok(clp_simulated_allocator_create(8000, &allocator));
  clp_pool *pool = clpt_pool(allocator);
  clpt_ok(clp_pool_set_limit_fraction(pool, 0.5));
  ck_assert_uint_eq(clp_pool_get_limit(pool), 4000);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("limit", clpt_run)
{
  TCase *tests = clpt_case(suite, "limit");

  tcase_add_loop_test(tests, a_free_that_would_wait_for_itself_is_busy, 0, 2);
  tcase_add_test(tests, a_refusal_tells_the_figures_and_changes_none);
  tcase_add_test(tests, a_limit_neither_drains_nor_takes_from_other_pools);
  tcase_add_loop_test(tests, requests_near_the_end_of_size_t_do_not_wrap_around_a_limit, 0, 4);
  tcase_add_test(
      tests, a_device_that_refuses_a_block_while_a_limit_makes_room_is_told_and_nothing_is_lost);
  tcase_add_test(tests, where_a_bins_block_would_pass_the_limit_a_smaller_one_may_do);
  tcase_add_test(tests, a_limit_of_the_allocators_own_is_passed_on_at_once);
  tcase_add_test(tests, a_device_without_memory_for_a_give_back_is_reacted_to);
  tcase_add_loop_test(tests, what_is_under_way_counts, 0, 2);

  tests = clpt_case(suite, "fraction");
  tcase_add_loop_test(tests, a_fraction_is_of_the_devices_memory, 0, 6);
  tcase_add_test(tests, a_fraction_too_small_for_a_byte_does_not_become_no_limit);
  tcase_add_loop_test(tests, a_fraction_of_the_largest_device_is_exact_enough, 0, 3);
  tcase_add_test(tests, the_simulated_allocators_memory_is_its_capacity);
}
