/* SPDX-License-Identifier: MIT */
/* Stream order: to whom a block goes that was released on a stream, and who waits. The device does
 * the work of its streams late; the end of a rig asserts that no block was used too early. */
#include "support/late_rig.h"
#include "support/suite.h"

#include <pthread.h>

START_TEST(the_same_stream_gets_its_block_back_and_nothing_is_called)
{
  clpt_late_rig rig;
  clp_memory memory;
  clp_pool_stats stats;

  clpt_late_rig_start(&rig, (unsigned)_i);
  clpt_late_hold(&rig, rig.s);
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  for (int round = 0; round < 100; round++) {
    clp_buffer *buffer = clpt_late_take(&rig, rig.s);
    if (round == 0)
      memory = clp_buffer_memory(buffer);
    ck_assert_uint_eq(clp_buffer_memory(buffer), memory);
    clpt_ok(clp_buffer_release_on(buffer, rig.s));
  }
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.hits, 101);
  ck_assert_uint_eq(stats.misses, 1);
  ck_assert_uint_eq(stats.held_blocks, 1);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_released_buffer_is_the_pools_at_once)
{
  clpt_late_rig rig;
  clp_pool_stats stats;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_late_hold(&rig, rig.s);
  ck_assert_uint_gt(clpt_late_left(&rig.device, rig.s), 0);
  stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.active_bytes, 0);
  ck_assert_uint_eq(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.held_bytes, CLPT_LATE_BLOCK_BYTES);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(with_dependencies_another_stream_gets_the_block_and_waits)
{
  unsigned flags = _i == 0 ? CLP_REUSE_INTERNAL_DEPENDENCIES : CLPT_REUSE_EITHER;
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, flags);
  clpt_late_hold(&rig, rig.s);
  buffer = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_late_run(&rig.device, rig.s);
  ck_assert(!clpt_late_is_held_up(&rig.device, rig.t));
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(dependencies_alone_serve_where_the_work_is_done_as_well)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES);
  clpt_late_hold(&rig, rig.s);
  clpt_late_run(&rig.device, rig.s);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(opportunistic_reuse_takes_new_memory_until_the_work_is_done)
{
  clpt_late_rig rig;
  clp_buffer *buffers[3];
  clp_memory memory;

  clpt_late_rig_start(&rig, CLP_REUSE_OPPORTUNISTIC);
  buffers[0] = clpt_late_take(&rig, rig.s);
  memory = clp_buffer_memory(buffers[0]);
  clpt_ok(clp_buffer_release_on(buffers[0], rig.s));
  buffers[1] = clpt_late_take_new(&rig, rig.t);
  clpt_late_step(&rig.device, rig.s);
  buffers[2] = clpt_late_take_new(&rig, rig.t);
  ck_assert(!clpt_late_is_held_up(&rig.device, rig.t));
  clpt_late_run(&rig.device, rig.s);
  buffers[0] = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_eq(clp_buffer_memory(buffers[0]), memory);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  for (int i = 0; i < 3; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(with_both_nobody_waits_for_work_that_is_done)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_late_hold(&rig, rig.s);
  clpt_late_run(&rig.device, rig.s);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(with_neither_a_block_stays_with_its_stream)
{
  clpt_late_rig rig;
  clp_buffer *own, *other;
  clp_memory memory;

  clpt_late_rig_start(&rig, CLPT_REUSE_NEVER);
  own = clpt_late_take(&rig, rig.s);
  memory = clp_buffer_memory(own);
  clpt_ok(clp_buffer_release_on(own, rig.s));
  if (_i == 1)
    clpt_late_run(&rig.device, rig.s);
  other = clpt_late_take_new(&rig, rig.t);
  own = clpt_late_take_held(&rig, rig.s);
  ck_assert_uint_eq(clp_buffer_memory(own), memory);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(own, rig.s));
  clpt_ok(clp_buffer_release_on(other, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_streams_own_block_comes_before_a_newer_one_of_another)
{
  clpt_late_rig rig;
  clp_buffer *own, *other;
  clp_memory memory;

  clpt_late_rig_start(&rig, (unsigned)_i);
  own = clpt_late_take(&rig, rig.t);
  other = clpt_late_take(&rig, rig.s);
  memory = clp_buffer_memory(own);
  clpt_ok(clp_buffer_release_on(own, rig.t));
  clpt_ok(clp_buffer_release_on(other, rig.s));
  clpt_late_clear(&rig.device);
  own = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_eq(clp_buffer_memory(own), memory);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(own, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_block_whose_work_is_done_is_found_among_those_whose_is_not)
{
  enum { PENDING = 3 };
  bool is_oldest = _i == 0;
  clpt_late_rig rig;
  clp_buffer *done, *pending[PENDING];
  clp_memory memory;

  clpt_late_rig_start(&rig, CLP_REUSE_OPPORTUNISTIC);
  done = clpt_late_take(&rig, rig.u);
  memory = clp_buffer_memory(done);
  for (int i = 0; i < PENDING; i++)
    pending[i] = clpt_late_take(&rig, rig.s);
  clpt_late_run(&rig.device, rig.u);
  if (is_oldest)
    clpt_ok(clp_buffer_release_on(done, rig.u));
  for (int i = 0; i < PENDING; i++)
    clpt_ok(clp_buffer_release_on(pending[i], rig.s));
  if (!is_oldest)
    clpt_ok(clp_buffer_release_on(done, rig.u));
  done = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_eq(clp_buffer_memory(done), memory);
  clpt_ok(clp_buffer_release_on(done, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_streams_blocks_come_back_newest_first)
{
  enum { BLOCKS = 5 };
  clpt_late_rig rig;
  clp_buffer *buffers[BLOCKS];
  clp_memory memories[BLOCKS];

  clpt_late_rig_start(&rig, (unsigned)_i);
  for (int i = 0; i < BLOCKS; i++)
    buffers[i] = clpt_late_take(&rig, rig.s);
  for (int i = 0; i < BLOCKS; i++) {
    memories[i] = clp_buffer_memory(buffers[i]);
    clpt_ok(clp_buffer_release_on(buffers[i], rig.s));
  }
  for (int i = BLOCKS; i-- > 0;) {
    buffers[i] = clpt_late_take_held(&rig, rig.s);
    ck_assert_uint_eq(clp_buffer_memory(buffers[i]), memories[i]);
  }
  for (int i = 0; i < BLOCKS; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_block_that_goes_from_stream_to_stream_is_waited_for_each_time)
{
  clpt_late_rig rig;
  clp_stream streams[3];

  clpt_late_rig_start(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES);
  streams[0] = rig.s;
  streams[1] = rig.t;
  streams[2] = rig.u;
  clpt_late_hold(&rig, rig.u);
  for (int hop = 0; hop < 9; hop++) {
    clp_stream stream = streams[hop % 3];
    clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, stream), stream));
  }
  for (int i = 0; i < 2; i++)
    ck_assert(clpt_late_is_held_up(&rig.device, streams[i]));
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, CLPT_LATE_BLOCK_BYTES);
  clpt_late_rig_end(&rig);
}
END_TEST

/* A buffer taken on one stream may be released on another that was made to follow. */
START_TEST(it_is_the_stream_of_the_release_that_counts)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_late_share(&rig, buffer, rig.s, rig.t);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_late_clear(&rig.device);
  buffer = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  buffer = clpt_late_take_held(&rig, rig.s);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- other threads --- */

typedef struct visitor {
  clpt_late_rig *rig;
  bool stays; /* until the test has looked for what its cache keeps */
  pthread_barrier_t holds, may_end;
} visitor;

static void *hold_one(void *argument)
{
  visitor *self = argument;
  clp_buffer *buffer = NULL;

  if (clp_pool_allocate_on(self->rig->pool, CLPT_LATE_BYTES, self->rig->s, &buffer) ==
      CLP_SUCCESS) {
    clpt_late_use(self->rig, buffer, self->rig->s);
    (void)clp_buffer_release_on(buffer, self->rig->s);
  }
  if (self->stays) {
    (void)pthread_barrier_wait(&self->holds);
    (void)pthread_barrier_wait(&self->may_end);
  }
  return NULL;
}

static void find_what_a_thread_holds(bool stays, bool same_stream)
{
  clpt_late_rig rig;
  visitor other = {.rig = &rig, .stays = stays};
  clp_stream stream;
  pthread_t thread;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  stream = same_stream ? rig.s : rig.t;
  ck_assert_int_eq(pthread_barrier_init(&other.holds, NULL, 2), 0);
  ck_assert_int_eq(pthread_barrier_init(&other.may_end, NULL, 2), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, hold_one, &other), 0);
  if (stays)
    (void)pthread_barrier_wait(&other.holds);
  else
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, stream), stream));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], !same_stream);
  if (stays) {
    (void)pthread_barrier_wait(&other.may_end);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
  }
  pthread_barrier_destroy(&other.holds);
  pthread_barrier_destroy(&other.may_end);
  clpt_late_rig_end(&rig);
}

START_TEST(what_another_thread_released_is_found)
{
  find_what_a_thread_holds(_i & 1, _i & 2);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order");
  TCase *tests = clpt_case(suite, "order");

  tcase_add_loop_test(tests, the_same_stream_gets_its_block_back_and_nothing_is_called, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_test(tests, a_released_buffer_is_the_pools_at_once);
  tcase_add_loop_test(tests, with_dependencies_another_stream_gets_the_block_and_waits, 0, 2);
  tcase_add_test(tests, dependencies_alone_serve_where_the_work_is_done_as_well);
  tcase_add_test(tests, opportunistic_reuse_takes_new_memory_until_the_work_is_done);
  tcase_add_test(tests, with_both_nobody_waits_for_work_that_is_done);
  tcase_add_loop_test(tests, with_neither_a_block_stays_with_its_stream, 0, 2);
  tcase_add_loop_test(tests, a_streams_own_block_comes_before_a_newer_one_of_another, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests, a_block_whose_work_is_done_is_found_among_those_whose_is_not, 0, 2);
  tcase_add_loop_test(tests, a_streams_blocks_come_back_newest_first, 0, CLPT_REUSE_CHOICES);
  tcase_add_test(tests, a_block_that_goes_from_stream_to_stream_is_waited_for_each_time);
  tcase_add_test(tests, it_is_the_stream_of_the_release_that_counts);
  tcase_add_loop_test(tests, what_another_thread_released_is_found, 0, 4);
  return clpt_run(suite);
}
