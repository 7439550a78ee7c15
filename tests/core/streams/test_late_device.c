/* SPDX-License-Identifier: MIT */
/* The device whose streams run late is itself what it should be: late, in order, and strict. */
#include "support/late_device.h"
#include "support/suite.h"

#include <clpool/allocator.h>

/* The allocator's functions are called as a pool would. */
typedef struct bench {
  clpt_late_device device;
  const clp_allocator_ops *ops;
  clp_allocator *allocator;
  clp_stream s, t;
  clp_memory block;
} bench;

enum { BYTES = 100 };

static void start_on(bench *it)
{
  it->ops = &it->device.ops;
  it->allocator = clpt_late_allocator(&it->device);
  it->s = clpt_late_stream_new(&it->device);
  it->t = clpt_late_stream_new(&it->device);
  clpt_ok(it->ops->stream_retain(&it->device, it->s));
  clpt_ok(it->ops->stream_retain(&it->device, it->t));
  clpt_ok(clp_allocator_allocate(it->allocator, BYTES, &it->block));
}

static void start(bench *it)
{
  clpt_late_init(&it->device);
  start_on(it);
}

static void end_with_block(bench *it)
{
  clpt_late_run_all(&it->device);
  clpt_ok(clp_allocator_free(it->allocator, it->block, BYTES));
  it->ops->stream_release(&it->device, it->s);
  it->ops->stream_release(&it->device, it->t);
  clp_allocator_release(it->allocator);
  clpt_late_assert_ended(&it->device);
}

/* Where something was wrong on purpose. */
static void end_wrong(bench *it, const char *wrong)
{
  clpt_late_run_all(&it->device);
  ck_assert_str_eq(it->device.wrong, wrong);
  clp_allocator_release(it->allocator);
  clpt_late_end(&it->device);
}

static void *mark_on(bench *it, clp_stream stream)
{
  void *mark = NULL;

  clpt_ok(it->ops->mark_create(&it->device, stream, &mark));
  ck_assert_ptr_nonnull(mark);
  return mark;
}

static bool is_done(bench *it, void *mark)
{
  bool done = false;

  clpt_ok(it->ops->mark_is_done(&it->device, mark, &done));
  return done;
}

START_TEST(work_is_done_when_it_is_stepped_and_not_before)
{
  bench it;

  start(&it);
  clpt_late_write(&it.device, it.s, it.block);
  clpt_late_read(&it.device, it.s, it.block);
  ck_assert_uint_eq(clpt_late_left(&it.device, it.s), 2);
  ck_assert_uint_eq(*(uint64_t *)it.block, 0);
  ck_assert(clpt_late_step(&it.device, it.s));
  ck_assert_uint_ne(*(uint64_t *)it.block, 0);
  ck_assert_uint_eq(it.device.reads, 0);
  ck_assert(clpt_late_step(&it.device, it.s));
  ck_assert_uint_eq(it.device.reads, 1);
  ck_assert(!clpt_late_step(&it.device, it.s));
  ck_assert(!clpt_late_step(&it.device, it.t));
  end_with_block(&it);
}
END_TEST

START_TEST(a_mark_is_done_when_the_work_before_it_is)
{
  bench it;
  void *mark;

  start(&it);
  clpt_late_write(&it.device, it.s, it.block);
  mark = mark_on(&it, it.s);
  clpt_late_read(&it.device, it.s, it.block);
  ck_assert(!is_done(&it, mark));
  ck_assert(clpt_late_step(&it.device, it.s));
  ck_assert(is_done(&it, mark));
  ck_assert_uint_eq(clpt_late_left(&it.device, it.s), 1);
  it.ops->mark_destroy(&it.device, mark);
  end_with_block(&it);
}
END_TEST

START_TEST(a_mark_that_is_work_has_to_be_done_itself)
{
  bench it;
  void *mark;

  clpt_late_init(&it.device);
  it.device.marks_are_work = true;
  start_on(&it);
  mark = mark_on(&it, it.s);
  ck_assert(!is_done(&it, mark));
  ck_assert(clpt_late_step(&it.device, it.s));
  ck_assert(is_done(&it, mark));
  it.ops->mark_destroy(&it.device, mark);
  end_with_block(&it);
}
END_TEST

START_TEST(a_stream_waits_for_a_mark_also_one_that_was_released)
{
  bench it;
  void *mark;

  start(&it);
  clpt_late_write(&it.device, it.s, it.block);
  mark = mark_on(&it, it.s);
  clpt_ok(it.ops->stream_wait(&it.device, it.t, mark));
  it.ops->mark_destroy(&it.device, mark);
  clpt_late_read(&it.device, it.t, it.block);
  ck_assert(clpt_late_is_held_up(&it.device, it.t));
  ck_assert_uint_eq(clpt_late_left(&it.device, it.t), 2);
  clpt_late_run(&it.device, it.s);
  ck_assert(!clpt_late_is_held_up(&it.device, it.t));
  end_with_block(&it);
}
END_TEST

START_TEST(the_host_waits_for_what_a_mark_needs_and_no_more)
{
  bench it;
  void *mark;

  start(&it);
  clpt_late_write(&it.device, it.s, it.block);
  clpt_late_order(&it.device, it.s, it.t);
  clpt_late_read(&it.device, it.s, it.block);
  clpt_late_read(&it.device, it.t, it.block);
  mark = mark_on(&it, it.t);
  clpt_late_read(&it.device, it.t, it.block);
  clpt_ok(it.ops->host_wait(&it.device, mark));
  ck_assert(is_done(&it, mark));
  ck_assert_uint_eq(clpt_late_left(&it.device, it.s), 1);
  ck_assert_uint_eq(clpt_late_left(&it.device, it.t), 1);
  it.ops->mark_destroy(&it.device, mark);
  end_with_block(&it);
}
END_TEST

START_TEST(use_in_a_wrong_order_is_found)
{
  bool reads = _i & 1, reader_first = _i & 2;
  bench it;

  start(&it);
  clpt_late_write(&it.device, it.s, it.block);
  reads ? clpt_late_read(&it.device, it.t, it.block) : clpt_late_write(&it.device, it.t, it.block);
  if (reads && !reader_first)
    clpt_late_write(&it.device, it.s, it.block);
  clpt_late_run(&it.device, reads && !reader_first ? it.s : it.t);
  clpt_late_run_all(&it.device);
  ck_assert_uint_eq(it.device.mismatches, 1);
  end_wrong(&it, !reads         ? "a write came after one that was given later"
                 : reader_first ? "a read came before its write"
                                : "a read came after a later write");
}
END_TEST

START_TEST(memory_that_is_freed_under_work_is_found)
{
  bench it;

  start(&it);
  clpt_late_write(&it.device, it.s, it.block);
  clpt_ok(clp_allocator_free(it.allocator, it.block, BYTES));
  ck_assert_uint_eq(it.device.live_blocks, 1); /* late, so that the test goes on */
  end_wrong(&it, "memory freed while work was to use it");
}
END_TEST

START_TEST(an_ordered_free_waits_for_the_work)
{
  bench it;

  clpt_late_init(&it.device);
  clpt_late_set_freeing(&it.device, CLPT_LATE_FREES_IN_ORDER);
  it.device.capacity = BYTES;
  start_on(&it);
  clpt_late_write(&it.device, it.s, it.block);
  clpt_ok(clp_allocator_free(it.allocator, it.block, BYTES));
  ck_assert_int_eq(clp_allocator_allocate(it.allocator, 1, &it.block), CLP_OUT_OF_DEVICE_MEMORY);
  clpt_ok(it.ops->drain(&it.device));
  ck_assert_uint_eq(it.device.live_bytes, 0);
  clpt_ok(clp_allocator_allocate(it.allocator, BYTES, &it.block));
  end_with_block(&it);
}
END_TEST

START_TEST(a_free_on_a_stream_is_done_there)
{
  bool used_elsewhere = _i;
  bench it;

  clpt_late_init(&it.device);
  clpt_late_set_freeing(&it.device, CLPT_LATE_FREES_ON_STREAMS);
  start_on(&it);
  clpt_late_write(&it.device, it.s, it.block);
  if (used_elsewhere)
    clpt_late_write(&it.device, it.t, it.block);
  clpt_ok(it.ops->free_on(&it.device, it.block, BYTES, it.s));
  ck_assert_uint_eq(it.device.live_blocks, 1);
  clpt_late_run(&it.device, it.s);
  ck_assert_uint_eq(it.device.live_blocks, used_elsewhere);
  end_wrong(&it, used_elsewhere ? "memory freed on a stream while another was to use it" : "");
}
END_TEST

START_TEST(what_is_freed_may_not_be_used_or_freed_again)
{
  bench it;

  start(&it);
  clpt_ok(clp_allocator_free(it.allocator, it.block, BYTES));
  if (_i == 0)
    clpt_late_write(&it.device, it.s, it.block);
  else
    clpt_ok(clp_allocator_free(it.allocator, it.block, BYTES));
  end_wrong(&it, "memory that is none, or was freed");
}
END_TEST

START_TEST(streams_live_by_references)
{
  bench it;
  void *mark = NULL;

  start(&it);
  clpt_late_stream_drop(&it.device, it.s);
  mark = mark_on(&it, it.s);
  it.ops->mark_destroy(&it.device, mark);
  ck_assert_uint_eq(clpt_late_retains(&it.device), 2);
  it.ops->stream_release(&it.device, it.s);
  ck_assert_uint_eq(clpt_late_retains(&it.device), 1);
  ck_assert_str_eq(it.device.wrong, "");
  ck_assert_int_ne(it.ops->stream_retain(&it.device, it.s), CLP_SUCCESS);
  ck_assert_int_ne(it.ops->mark_create(&it.device, it.s, &mark), CLP_SUCCESS);
  end_wrong(&it, "a stream that is none, or is no more");
}
END_TEST

START_TEST(a_stream_may_be_made_where_one_was)
{
  clpt_late_device device;
  clp_stream stream;

  clpt_late_init(&device);
  device.streams.reuse_addresses = true;
  stream = clpt_late_stream_new(&device);
  ck_assert_ptr_ne(clpt_late_stream_new(&device), stream);
  clpt_late_stream_drop(&device, stream);
  ck_assert_ptr_eq(clpt_late_stream_new(&device), stream);
  clpt_late_end(&device);
}
END_TEST

/* Its work goes on, and what waits for that still does. */
START_TEST(a_stream_that_is_destroyed_makes_room_for_another_at_once)
{
  bench it;
  void *mark;

  start(&it);
  it.device.streams.reuse_addresses = true;
  clpt_late_write(&it.device, it.s, it.block);
  mark = mark_on(&it, it.s);
  clpt_ok(it.ops->stream_wait(&it.device, it.t, mark));
  it.ops->stream_release(&it.device, it.s);
  clpt_late_stream_destroy(&it.device, it.s);
  ck_assert_ptr_eq(clpt_late_stream_new(&it.device), it.s);
  ck_assert_uint_eq(clpt_late_left(&it.device, it.s), 0);
  clpt_late_write(&it.device, it.t, it.block);
  ck_assert(clpt_late_is_held_up(&it.device, it.t));
  ck_assert(!is_done(&it, mark));
  clpt_ok(it.ops->host_wait(&it.device, mark));
  ck_assert(!clpt_late_is_held_up(&it.device, it.t));
  it.ops->mark_destroy(&it.device, mark);
  clpt_ok(it.ops->stream_retain(&it.device, it.s));
  end_with_block(&it);
}
END_TEST

START_TEST(what_a_destroyed_stream_is_needed_for_is_found)
{
  static const char *const wrongs[] = {"a stream destroyed that the library needs",
                                       "a stream that is none, or is no more",
                                       "a call with a stream that was not retained"};
  bench it;
  void *mark = NULL;

  start(&it);
  it.device.streams.reuse_addresses = true;
  if (_i > 0)
    it.ops->stream_release(&it.device, it.s);
  clpt_late_stream_destroy(&it.device, it.s);
  if (_i == 2)
    ck_assert_ptr_eq(clpt_late_stream_new(&it.device), it.s);
  (void)it.ops->mark_create(&it.device, it.s, &mark);
  end_wrong(&it, wrongs[_i]);
}
END_TEST

START_TEST(what_is_released_twice_or_not_at_all_is_found)
{
  bench it;
  void *mark;

  start(&it);
  mark = mark_on(&it, it.s);
  ck_assert_uint_eq(it.device.live_marks, 1);
  it.ops->mark_destroy(&it.device, mark);
  ck_assert_uint_eq(it.device.live_marks, 0);
  it.ops->stream_release(&it.device, it.s);
  if (_i == 0)
    it.ops->mark_destroy(&it.device, mark);
  else
    it.ops->stream_release(&it.device, it.s);
  end_wrong(&it,
            _i == 0 ? "a mark used after its release" : "a stream released that was not retained");
}
END_TEST

START_TEST(streams_of_another_device_are_refused)
{
  bench it, other;

  start(&it);
  start(&other);
  ck_assert_int_eq(it.ops->stream_retain(&it.device, other.s), CLP_INVALID_ARGUMENT);
  ck_assert_int_eq(it.ops->stream_retain(&it.device, NULL), CLP_INVALID_ARGUMENT);
  end_with_block(&other);
  end_with_block(&it);
}
END_TEST

START_TEST(a_call_fails_on_demand)
{
  bench it;
  void *marks[3] = {NULL};

  start(&it);
  it.device.failing = 1u << CLPT_LATE_MARK_CREATE;
  it.device.fault =
      (clpt_fault){.after = 1, .count = 1, .status = CLP_BACKEND_ERROR, .message = "no such queue"};
  marks[0] = mark_on(&it, it.s);
  clpt_fails(CLP_BACKEND_ERROR, it.ops->mark_create(&it.device, it.s, &marks[1]));
  ck_assert_ptr_null(marks[1]);
  marks[2] = mark_on(&it, it.s);
  ck_assert_uint_eq(it.device.calls[CLPT_LATE_MARK_CREATE], 3);
  it.ops->mark_destroy(&it.device, marks[0]);
  it.ops->mark_destroy(&it.device, marks[2]);
  end_with_block(&it);
}
END_TEST

START_TEST(chance_does_all_work_in_the_end)
{
  clpt_chance chance = clpt_chance_seed(1);
  bench it;
  unsigned steps = 0;

  start(&it);
  for (int i = 0; i < 10; i++) {
    clpt_late_write(&it.device, it.s, it.block);
    clpt_late_order(&it.device, it.s, it.t);
    clpt_late_read(&it.device, it.t, it.block);
    clpt_late_order(&it.device, it.t, it.s);
  }
  while (clpt_late_step_any(&it.device, &chance))
    steps++;
  ck_assert_uint_eq(steps, 40);
  ck_assert_uint_eq(it.device.reads, 10);
  end_with_block(&it);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("late device");
  TCase *tests = clpt_case(suite, "late");

  tcase_add_test(tests, work_is_done_when_it_is_stepped_and_not_before);
  tcase_add_test(tests, a_mark_is_done_when_the_work_before_it_is);
  tcase_add_test(tests, a_mark_that_is_work_has_to_be_done_itself);
  tcase_add_test(tests, a_stream_waits_for_a_mark_also_one_that_was_released);
  tcase_add_test(tests, the_host_waits_for_what_a_mark_needs_and_no_more);
  tcase_add_test(tests, an_ordered_free_waits_for_the_work);
  tcase_add_test(tests, chance_does_all_work_in_the_end);
  tcase_add_test(tests, a_call_fails_on_demand);

  tests = clpt_case(suite, "strict");
  tcase_add_loop_test(tests, use_in_a_wrong_order_is_found, 0, 4);
  tcase_add_test(tests, memory_that_is_freed_under_work_is_found);
  tcase_add_loop_test(tests, a_free_on_a_stream_is_done_there, 0, 2);
  tcase_add_loop_test(tests, what_is_freed_may_not_be_used_or_freed_again, 0, 2);
  tcase_add_test(tests, streams_live_by_references);
  tcase_add_test(tests, a_stream_may_be_made_where_one_was);
  tcase_add_test(tests, a_stream_that_is_destroyed_makes_room_for_another_at_once);
  tcase_add_loop_test(tests, what_a_destroyed_stream_is_needed_for_is_found, 0, 3);
  tcase_add_loop_test(tests, what_is_released_twice_or_not_at_all_is_found, 0, 2);
  tcase_add_test(tests, streams_of_another_device_are_refused);
  return clpt_run(suite);
}
