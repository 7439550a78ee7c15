/* SPDX-License-Identifier: MIT */
/* Stream order: a second release is refused and changes nothing; zero bytes. */
#include "support/late_rig.h"
#include "support/suite.h"

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

int main(void)
{
  Suite *suite = suite_create("order: arguments");
  TCase *tests = clpt_case(suite, "refused");

  tcase_add_loop_test(tests, a_second_release_is_told_and_changes_nothing, 0, 8);
  tcase_add_test(tests, a_second_release_to_a_pool_that_holds_no_more_is_told);
  tcase_add_loop_test(tests, zero_bytes_on_a_stream_touch_no_device, 0, CLPT_REUSE_CHOICES);
  return clpt_run(suite);
}
