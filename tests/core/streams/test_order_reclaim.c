/* SPDX-License-Identifier: MIT */
/* Stream order: memory that goes back to the device while streams have work that uses it. The
 * device finds every free that comes too early, in each of the ways in which it takes memory. */
#include "support/late_rig.h"
#include "support/suite.h"

static clp_status trim_all(clp_pool *pool)
{
  return clp_pool_trim_to(pool, 0);
}

static clp_status (*const reclaims[])(clp_pool *) = {clp_pool_free_held, clp_pool_stop_holding,
                                                     trim_all};
enum { RECLAIMS = sizeof(reclaims) / sizeof(reclaims[0]) };

/* Of a loop over the ways of freeing, and something else. */
static clpt_late_freeing freeing_of(int number)
{
  return (clpt_late_freeing)(number % CLPT_LATE_FREEINGS);
}

static int rest_of(int number)
{
  return number / CLPT_LATE_FREEINGS;
}

/* A buffer that s wrote, and t and u have read as noted. */
static clp_buffer *take_shared(clpt_late_rig *rig)
{
  clp_buffer *buffer = clpt_late_take(rig, rig->s);

  clpt_late_share(rig, buffer, rig->s, rig->t);
  clpt_ok(clp_buffer_record_use(buffer, rig->t));
  clpt_late_share(rig, buffer, rig->s, rig->u);
  clpt_ok(clp_buffer_record_use(buffer, rig->u));
  return buffer;
}

/* The pool has given back all it had; the host waited only where the device leaves no other way. */
static void assert_given_back(clpt_late_rig *rig)
{
  bool waits = !rig->device.ops.free_on && !rig->device.ops.free_is_ordered;

  ck_assert_uint_eq(clpt_stats(rig->pool).managed_bytes, 0);
  ck_assert_uint_eq(rig->device.live_blocks, waits ? 0 : 1);
  if (waits)
    ck_assert_uint_ge(rig->device.calls[CLPT_LATE_HOST_WAIT], 1);
  else
    ck_assert_uint_eq(rig->device.calls[CLPT_LATE_HOST_WAIT], 0);
  clpt_late_run(&rig->device, rig->s); /* where the free may be, before the others are through */
  clpt_late_run_all(&rig->device);
  ck_assert_uint_eq(rig->device.live_blocks, 0);
}

START_TEST(a_block_that_one_stream_uses_goes_back_safely)
{
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, freeing_of(_i));
  clpt_late_hold(&rig, rig.s);
  clpt_ok(reclaims[rest_of(_i)](rig.pool));
  assert_given_back(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_block_that_several_streams_use_goes_back_safely)
{
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, freeing_of(_i));
  clpt_ok(clp_buffer_release_on(take_shared(&rig), rig.s));
  clpt_ok(reclaims[rest_of(_i)](rig.pool));
  assert_given_back(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_release_to_a_pool_that_holds_no_more_goes_back_safely)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, freeing_of(_i));
  clpt_ok(clp_pool_stop_holding(rig.pool));
  buffer = rest_of(_i) & 1 ? take_shared(&rig) : clpt_late_take(&rig, rig.s);
  if (rest_of(_i) & 2) {
    clpt_ok(clp_buffer_bind(buffer, rig.s));
    clpt_ok(clp_buffer_release(buffer));
  } else {
    clpt_ok(clp_buffer_release_on(buffer, rig.s));
  }
  assert_given_back(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(where_the_user_has_synchronized_nobody_waits)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, freeing_of(_i));
  buffer = clpt_late_take_unordered(&rig, rig.s);
  clpt_late_finish(&rig.device, rig.s);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(reclaims[rest_of(_i)](rig.pool));
  ck_assert_uint_eq(rig.device.live_blocks, 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_FREE], 1);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_block_of_the_home_stream_goes_back_safely)
{
  clpt_late_rig rig;

  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, freeing_of(_i));
  rig.home = clpt_late_stream_new(&rig.device);
  clpt_late_rig_start_on(&rig, NULL);
  clpt_ok(clp_buffer_release(clpt_late_take_unordered(&rig, rig.home)));
  clpt_ok(reclaims[rest_of(_i)](rig.pool));
  assert_given_back(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(only_the_blocks_that_go_are_waited_for)
{
  clpt_late_rig rig;
  clp_buffer *older, *newer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  older = clpt_late_take(&rig, rig.s);
  newer = clpt_late_take(&rig, rig.t);
  clpt_ok(clp_buffer_release_on(older, rig.s));
  clpt_ok(clp_buffer_release_on(newer, rig.t));
  clpt_ok(clp_pool_trim_to(rig.pool, CLPT_LATE_BLOCK_BYTES));
  ck_assert_uint_eq(clpt_late_left(&rig.device, rig.s), 0);
  ck_assert_uint_eq(clpt_late_left(&rig.device, rig.t), 2);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* As another thread would, while a request looks at the block. */
static void stop_meanwhile(clpt_late_device *device, clpt_late_call call)
{
  clpt_late_rig *rig = device->on_call_data;

  if (call != CLPT_LATE_MARK_CREATE || rig == NULL)
    return;
  device->on_call_data = NULL;
  clpt_ok(clp_pool_stop_holding(rig->pool));
}

START_TEST(a_block_that_a_request_looks_at_while_holding_stops_goes_back_too)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_freeing(&rig, CLP_REUSE_OPPORTUNISTIC, freeing_of(_i));
  clpt_late_hold(&rig, rig.s);
  rig.device.on_call_data = &rig;
  rig.device.on_call = stop_meanwhile;
  buffer = clpt_late_take(&rig, rig.t);
  ck_assert_ptr_null(rig.device.on_call_data);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, CLPT_LATE_BLOCK_BYTES);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- the limit --- */

START_TEST(a_limit_takes_blocks_that_streams_use_safely)
{
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_NEVER, freeing_of(_i));
  clpt_ok(clp_pool_set_limit(rig.pool, CLPT_LATE_BLOCK_BYTES));
  clpt_ok(clp_buffer_release_on(take_shared(&rig), rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 2);
  ck_assert_uint_eq(clpt_stats(rig.pool).peak_managed_bytes, CLPT_LATE_BLOCK_BYTES);
  if (freeing_of(_i) != CLPT_LATE_FREES_AT_ONCE)
    ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_limit_refuses_and_nobody_waits)
{
  clpt_late_rig rig;
  clp_buffer *buffer, *none = (clp_buffer *)&rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_pool_set_limit(rig.pool, CLPT_LATE_BLOCK_BYTES));
  buffer = clpt_late_take(&rig, rig.s);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.t, &none));
  ck_assert_ptr_null(none);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- the end of a pool --- */

/* Buffers that are active go on; their streams may be dropped by then. */
START_TEST(a_pool_ends_while_streams_are_at_work)
{
  enum { ACTIVE = 3 };
  clpt_late_rig rig;
  clp_buffer *active[ACTIVE];

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, freeing_of(_i));
  for (int i = 0; i < ACTIVE; i++)
    active[i] = take_shared(&rig);
  clpt_ok(clp_buffer_bind(active[2], rig.s));
  clpt_ok(clp_buffer_release_on(take_shared(&rig), rig.s));
  clpt_late_hold(&rig, rig.t);
  if (rest_of(_i) & 1)
    clpt_late_stream_drop(&rig.device, rig.t);
  clp_pool_release(clp_pool_retain(rig.pool));
  clp_pool_release(rig.pool);
  clp_allocator_release(rig.allocator);
  for (int i = 0; i < ACTIVE; i++) {
    ck_assert_uint_eq(rig.device.destroyed, 0);
    if (rest_of(_i) & 2)
      clpt_late_run_all(&rig.device);
    clpt_ok(i == 2 ? clp_buffer_release(active[i]) : clp_buffer_release_on(active[i], rig.s));
  }
  clpt_late_assert_ended(&rig.device);
}
END_TEST

START_TEST(a_pool_that_never_used_streams_ends_as_ever)
{
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, freeing_of(_i));
  clpt_hold(rig.pool, CLPT_LATE_BYTES, 3);
  clp_pool_release(clpt_late_pool(&rig, CLPT_REUSE_NEVER));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_FREE], 3);
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 3);
  clpt_late_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: reclaim");
  TCase *tests = clpt_case(suite, "giving back");

  tcase_add_loop_test(tests, a_block_that_one_stream_uses_goes_back_safely, 0,
                      RECLAIMS * CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, a_block_that_several_streams_use_goes_back_safely, 0,
                      RECLAIMS * CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, a_release_to_a_pool_that_holds_no_more_goes_back_safely, 0,
                      4 * CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, where_the_user_has_synchronized_nobody_waits, 0,
                      RECLAIMS * CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, a_block_of_the_home_stream_goes_back_safely, 0,
                      RECLAIMS * CLPT_LATE_FREEINGS);
  tcase_add_test(tests, only_the_blocks_that_go_are_waited_for);
  tcase_add_loop_test(tests, a_block_that_a_request_looks_at_while_holding_stops_goes_back_too, 0,
                      CLPT_LATE_FREEINGS);

  tests = clpt_case(suite, "limit");
  tcase_add_loop_test(tests, a_limit_takes_blocks_that_streams_use_safely, 0, CLPT_LATE_FREEINGS);
  tcase_add_test(tests, a_limit_refuses_and_nobody_waits);

  tests = clpt_case(suite, "end");
  tcase_add_loop_test(tests, a_pool_ends_while_streams_are_at_work, 0, 4 * CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, a_pool_that_never_used_streams_ends_as_ever, 0, CLPT_LATE_FREEINGS);
  return clpt_run(suite);
}
