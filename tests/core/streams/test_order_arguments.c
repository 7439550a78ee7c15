/* SPDX-License-Identifier: MIT */
/* Stream order: what is refused, and that a refusal changes nothing. */
#include "support/late_rig.h"
#include "support/suite.h"

/* The buffer is still the caller's, and is released as if nothing had been asked. */
static void assert_still_active(clpt_late_rig *rig, clp_buffer *buffer)
{
  ck_assert_uint_eq(clpt_stats(rig->pool).active_blocks, 1);
  ck_assert_uint_eq(clpt_stats(rig->pool).held_blocks, 0);
  clpt_ok(clp_buffer_release_on(buffer, rig->s));
  ck_assert_uint_eq(clpt_stats(rig->pool).active_blocks, 0);
  clpt_late_clear(&rig->device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(rig, rig->s), rig->s));
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_STREAM_WAIT], 0);
}

START_TEST(null_is_refused)
{
  clpt_late_rig rig;
  clp_buffer *buffer, *none = (clp_buffer *)&rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate_on(NULL, 100, rig.s, &none));
  ck_assert_ptr_null(none);
  none = (clp_buffer *)&rig;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate_on(rig.pool, 100, NULL, &none));
  ck_assert_ptr_null(none);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate_on(rig.pool, 100, rig.s, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_record_use(NULL, rig.s));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_bind(NULL, rig.s));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_unbind(NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_mark_stream(NULL, rig.s));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_mark_stream(rig.pool, NULL));
  clpt_ok(clp_buffer_release_on(NULL, rig.s));
  ck_assert_uint_eq(clpt_stats(rig.pool).allocations, 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_ALLOCATE], 0);

  buffer = clpt_late_take(&rig, rig.s);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_release_on(buffer, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_record_use(buffer, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_bind(buffer, NULL));
  assert_still_active(&rig, buffer);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_stream_of_another_device_is_refused)
{
  bool warm = _i == 1;
  clpt_late_rig rig, other;
  clp_buffer *buffer, *none = (clp_buffer *)&rig;
  clp_pool_stats before, after;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_late_rig_start(&other, CLPT_REUSE_EITHER);
  clpt_late_hold(&other, other.s); /* known there, not here */
  if (warm)
    clpt_late_hold(&rig, rig.s);
  before = clpt_stats(rig.pool);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, other.s, &none));
  ck_assert_ptr_null(none);
  after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_release_on(buffer, other.s));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_record_use(buffer, other.s));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_bind(buffer, other.s));
  assert_still_active(&rig, buffer);
  clpt_late_rig_end(&other);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_refused_binding_leaves_the_old_one)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_with_home(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_bind(buffer, &rig));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_bind(buffer, NULL));
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(more_than_the_largest_block_is_refused_on_streams_too)
{
  clpt_late_rig rig;
  clp_buffer *none = (clp_buffer *)&rig;

  clpt_late_init(&rig.device);
  rig.device.ops.max_block_bytes = 1000;
  rig.home = NULL;
  clpt_late_rig_start_on(&rig, NULL);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate_on(rig.pool, 1001, rig.s, &none));
  ck_assert_ptr_null(none);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.s), rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_second_release_is_told_and_changes_nothing)
{
  clpt_late_rig rig;
  clp_buffer *buffer;
  clp_pool_stats before, after;

  if (_i & 1)
    clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  else
    clpt_late_rig_start_with_home(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take(&rig, rig.s);
  if (_i & 2)
    clpt_ok(clp_buffer_bind(buffer, rig.s));
  clpt_late_finish(&rig.device, rig.s);
  clpt_ok(_i & 4 ? clp_buffer_release_on(buffer, rig.s) : clp_buffer_release(buffer));
  before = clpt_stats(rig.pool);
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release_on(buffer, rig.s));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release_on(buffer, rig.t));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_record_use(buffer, rig.t));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_bind(buffer, rig.t));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_unbind(buffer));
  after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

/* As above, where the pool holds no more and the memory is gone at once. */
START_TEST(a_second_release_to_a_pool_that_holds_no_more_is_told)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_pool_stop_holding(rig.pool));
  buffer = clpt_late_take(&rig, rig.s);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release_on(buffer, rig.s));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_record_use(buffer, rig.t));
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(zero_bytes_on_a_stream_touch_no_device)
{
  clpt_late_rig rig;
  clp_buffer *buffer = NULL;

  clpt_late_rig_start(&rig, (unsigned)_i);
  for (int round = 0; round < 3; round++) {
    clpt_ok(clp_pool_allocate_on(rig.pool, 0, rig.s, &buffer));
    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq(clp_buffer_memory(buffer), 0);
    ck_assert_uint_eq(clp_buffer_capacity(buffer), 0);
    clpt_ok(clp_buffer_record_use(buffer, rig.t));
    clpt_ok(clp_buffer_bind(buffer, rig.s));
    clpt_ok(clp_buffer_bind(buffer, rig.u));
    if (round == 1)
      clpt_ok(clp_buffer_unbind(buffer));
    ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 1);
    clpt_ok(round == 2 ? clp_buffer_release(buffer) : clp_buffer_release_on(buffer, rig.s));
    clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release_on(buffer, rig.s));
  }
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_ALLOCATE], 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, 3);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- an allocator that cannot order streams --- */

START_TEST(without_stream_order_nothing_of_it_is_supported)
{
  int stream = 0;
  clpt_rig rig;
  clp_buffer *buffer, *none = (clp_buffer *)&rig;
  clp_pool_stats before, after;

  clpt_rig_start(&rig);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate_on(rig.pool, 100, &stream, &none));
  ck_assert_ptr_null(none);
  buffer = clpt_allocate(rig.pool, 100);
  before = clpt_stats(rig.pool);
  clpt_fails(CLP_NOT_SUPPORTED, clp_buffer_release_on(buffer, &stream));
  clpt_fails(CLP_NOT_SUPPORTED, clp_buffer_record_use(buffer, &stream));
  clpt_fails(CLP_NOT_SUPPORTED, clp_buffer_bind(buffer, &stream));
  after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  clpt_ok(clp_buffer_release(buffer)); /* still the caller's */
  clpt_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: arguments");
  TCase *tests = clpt_case(suite, "refused");

  tcase_add_test(tests, null_is_refused);
  tcase_add_loop_test(tests, a_stream_of_another_device_is_refused, 0, 2);
  tcase_add_test(tests, a_refused_binding_leaves_the_old_one);
  tcase_add_test(tests, more_than_the_largest_block_is_refused_on_streams_too);
  tcase_add_loop_test(tests, a_second_release_is_told_and_changes_nothing, 0, 8);
  tcase_add_test(tests, a_second_release_to_a_pool_that_holds_no_more_is_told);
  tcase_add_loop_test(tests, zero_bytes_on_a_stream_touch_no_device, 0, CLPT_REUSE_CHOICES);
  tcase_add_test(tests, without_stream_order_nothing_of_it_is_supported);
  return clpt_run(suite);
}
