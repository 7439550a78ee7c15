/* SPDX-License-Identifier: MIT */
/* Allocators of the caller's own: what create checks and completes, and each call's statuses. */
#include "support/failing_allocator.h"
#include "support/suite.h"

#include <clpool/allocator.h>
#include <stdint.h>

/* Operations that must never be called. */

static clp_status never_split(void *self, clp_memory block, size_t offset, size_t bytes,
                              clp_memory *part)
{
  (void)self, (void)block, (void)offset, (void)bytes, (void)part;
  ck_abort_msg("split was called");
}

static clp_status never_unsplit(void *self, clp_memory part, size_t bytes)
{
  (void)self, (void)part, (void)bytes;
  ck_abort_msg("unsplit was called");
}

static clp_status never_retain_stream(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  ck_abort_msg("stream_retain was called");
}

static void never_release_stream(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  ck_abort_msg("stream_release was called");
}

static bool never_tell_stream(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  ck_abort_msg("stream_is_in_order was called");
}

static clp_status never_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  (void)self, (void)memory, (void)bytes, (void)stream;
  ck_abort_msg("free_on was called");
}

static clp_status never_forget_stream(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  ck_abort_msg("forget_stream was called");
}

static clp_status never_create_mark(void *self, clp_stream stream, void **mark)
{
  (void)self, (void)stream, (void)mark;
  ck_abort_msg("mark_create was called");
}

static void never_release_mark(void *self, void *mark)
{
  (void)self, (void)mark;
  ck_abort_msg("mark_destroy was called");
}

static clp_status never_tell_mark(void *self, void *mark, bool *done)
{
  (void)self, (void)mark, (void)done;
  ck_abort_msg("mark_is_done was called");
}

static clp_status never_wait_stream(void *self, clp_stream stream, void *mark)
{
  (void)self, (void)stream, (void)mark;
  ck_abort_msg("stream_wait was called");
}

static clp_status never_wait_host(void *self, void *mark)
{
  (void)self, (void)mark;
  ck_abort_msg("host_wait was called");
}

/* Creating with `device->ops` is refused, and does not end what it did not take. */
static void assert_refused(clpt_device *device)
{
  clp_allocator *allocator = (clp_allocator *)device;

  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_create(&device->ops, device, &allocator));
  ck_assert_ptr_null(allocator);
  ck_assert_uint_eq(device->destroyed, 0);
}

START_TEST(create_refuses_null)
{
  clpt_device device;
  clp_allocator *allocator = (clp_allocator *)&device;

  clpt_device_init(&device);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_create(NULL, &device, &allocator));
  ck_assert_ptr_null(allocator);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_create(&device.ops, &device, NULL));
  ck_assert_uint_eq(device.destroyed, 0);
}
END_TEST

START_TEST(create_refuses_ops_without_allocate)
{
  clpt_device device;

  clpt_device_init(&device);
  device.ops.allocate = NULL;
  assert_refused(&device);
}
END_TEST

START_TEST(create_refuses_ops_without_free)
{
  clpt_device device;

  clpt_device_init(&device);
  device.ops.free = NULL;
  assert_refused(&device);
}
END_TEST

START_TEST(create_refuses_half_of_the_split_group)
{
  clpt_device device;

  clpt_device_init(&device);
  device.ops.split = _i == 0 ? never_split : NULL;
  device.ops.unsplit = _i == 1 ? never_unsplit : NULL;
  assert_refused(&device);
}
END_TEST

enum { WHOLE_ORDER_GROUP = 127 };

static void set_order(clp_allocator_ops *ops, unsigned chosen)
{
  ops->mark_create = chosen & 1u ? never_create_mark : NULL;
  ops->mark_destroy = chosen & 2u ? never_release_mark : NULL;
  ops->mark_is_done = chosen & 4u ? never_tell_mark : NULL;
  ops->stream_wait = chosen & 8u ? never_wait_stream : NULL;
  ops->host_wait = chosen & 16u ? never_wait_host : NULL;
  ops->stream_retain = chosen & 32u ? never_retain_stream : NULL;
  ops->stream_release = chosen & 64u ? never_release_stream : NULL;
}

START_TEST(create_refuses_every_part_of_the_stream_group)
{
  clpt_device device;

  clpt_device_init(&device);
  set_order(&device.ops, (unsigned)_i);
  assert_refused(&device);
}
END_TEST

START_TEST(create_refuses_what_needs_the_stream_group_without_it)
{
  clpt_device device;

  clpt_device_init(&device);
  device.ops.free_is_ordered = _i == 0;
  device.ops.free_on = _i == 1 ? never_free_on : NULL;
  device.ops.stream_is_in_order = _i == 2 ? never_tell_stream : NULL;
  device.ops.allocate_uses_home = _i == 3;
  device.ops.forget_stream = _i == 4 ? never_forget_stream : NULL;
  device.ops.home_stream = &device;
  assert_refused(&device);
}
END_TEST

START_TEST(create_refuses_use_of_a_home_stream_without_one)
{
  clpt_device device;

  clpt_device_init(&device);
  set_order(&device.ops, WHOLE_ORDER_GROUP);
  device.ops.allocate_uses_home = true;
  assert_refused(&device);
}
END_TEST

START_TEST(create_takes_whole_groups)
{
  clpt_device device;

  clpt_device_init(&device);
  device.ops.split = never_split;
  device.ops.unsplit = never_unsplit;
  set_order(&device.ops, WHOLE_ORDER_GROUP);
  device.ops.free_is_ordered = true;
  device.ops.free_on = never_free_on;
  device.ops.forget_stream = never_forget_stream;
  clp_allocator_release(clpt_device_allocator(&device));
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(create_refuses_an_alignment_that_is_no_power_of_two)
{
  static const size_t alignments[] = {3, 6, 7, 48, 65, 1000, SIZE_MAX, SIZE_MAX - 1};
  clpt_device device;

  clpt_device_init(&device);
  device.ops.alignment = alignments[_i];
  assert_refused(&device);
}
END_TEST

START_TEST(create_takes_every_power_of_two_as_alignment)
{
  clpt_device device;

  clpt_device_init(&device);
  device.ops.alignment = (size_t)1 << _i;
  clp_allocator_release(clpt_device_allocator(&device));
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(create_refuses_a_memory_kind_that_is_none)
{
  static const int kinds[] = {-1, CLP_MEMORY_CUDA + 1, 1000};
  clpt_device device;

  clpt_device_init(&device);
  memcpy(&device.ops.memory_kind, &kinds[_i], sizeof(kinds[_i]));
  assert_refused(&device);
}
END_TEST

START_TEST(allocate_and_free_alone_make_an_allocator)
{
  clpt_device device;
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clp_allocator *allocator = NULL;
  clp_memory memory = 0;

  clpt_device_init(&device);
  ops.allocate = device.ops.allocate;
  ops.free = device.ops.free;
  clpt_ok(clp_allocator_create(&ops, &device, &allocator));
  ck_assert_str_eq(clp_allocator_name(allocator), "unnamed");
  ck_assert(!clp_allocator_is_deferred(allocator));
  clpt_ok(clp_allocator_allocate(allocator, 10, &memory));
  clpt_ok(clp_allocator_free(allocator, memory, 10));
  clp_allocator_release(allocator);
  clpt_device_trace_is(&device, "A10 F10");
}
END_TEST

START_TEST(ops_and_name_are_copied)
{
  clpt_device device;
  char name[] = "named-for-now";
  clp_allocator *allocator;
  clp_memory memory = 0;

  clpt_device_init(&device);
  device.ops.name = name;
  device.ops.deferred = true;
  allocator = clpt_device_allocator(&device);
  memset(name, '?', sizeof(name) - 1);
  memset(&device.ops, 0, sizeof(device.ops));

  ck_assert_str_eq(clp_allocator_name(allocator), "named-for-now");
  ck_assert(clp_allocator_is_deferred(allocator));
  clpt_ok(clp_allocator_allocate(allocator, 10, &memory));
  clpt_ok(clp_allocator_free(allocator, memory, 10));
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(a_null_allocator_has_an_empty_name_and_is_not_deferred)
{
  ck_assert_str_eq(clp_allocator_name(NULL), "");
  ck_assert(!clp_allocator_is_deferred(NULL));
  ck_assert_ptr_null(clp_allocator_retain(NULL));
  clp_allocator_release(NULL);
}
END_TEST

START_TEST(the_last_of_many_references_ends_the_allocator_once)
{
  clpt_device device;
  clp_allocator *allocator;

  clpt_device_init(&device);
  allocator = clpt_device_allocator(&device);
  for (int i = 0; i < 10; i++)
    ck_assert_ptr_eq(clp_allocator_retain(allocator), allocator);
  for (int i = 0; i < 10; i++)
    clp_allocator_release(allocator);
  ck_assert_uint_eq(device.destroyed, 0);
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(zero_bytes_give_memory_0_and_touch_no_device)
{
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memory = 1;

  clpt_device_init(&device);
  allocator = clpt_device_allocator(&device);
  clpt_ok(clp_allocator_allocate(allocator, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok(clp_allocator_free(allocator, 0, 0));
  clpt_ok(clp_allocator_free(allocator, 0, 100));
  clpt_device_trace_is(&device, "");
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(allocate_and_free_refuse_null)
{
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memory = 1;

  clpt_device_init(&device);
  allocator = clpt_device_allocator(&device);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(NULL, 10, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(allocator, 10, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(NULL, 1, 10));
  clpt_device_trace_is(&device, "");
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(more_than_the_largest_block_is_an_invalid_argument)
{
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memory = 1;

  clpt_device_init(&device);
  device.ops.max_block_bytes = 1000;
  allocator = clpt_device_allocator(&device);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(allocator, 1001, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_message_has("1001");
  clpt_message_has("1000");
  clpt_message_has("test-device");
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(allocator, SIZE_MAX, &memory));
  clpt_device_trace_is(&device, "");
  clpt_ok(clp_allocator_allocate(allocator, 1000, &memory));
  clpt_ok(clp_allocator_free(allocator, memory, 1000));
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

static const clp_status failures[] = {CLP_OUT_OF_DEVICE_MEMORY, CLP_OUT_OF_HOST_MEMORY,
                                      CLP_BACKEND_ERROR, CLP_NOT_SUPPORTED, CLP_BUSY};
enum { FAILURES = sizeof(failures) / sizeof(failures[0]) };

START_TEST(what_the_backend_says_of_a_failure_reaches_the_user)
{
  clpt_fault fault = {
      .count = 1, .status = failures[_i], .native_code = -61, .message = "the backend's own words"};
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memory = 1;

  clpt_device_init(&device);
  allocator = clpt_device_allocator(&device);
  device.allocate_fault = fault;
  clpt_fails(failures[_i], clp_allocator_allocate(allocator, 10, &memory));
  ck_assert_uint_eq(memory, 0);
  ck_assert_int_eq(clp_last_error()->native_code, -61);
  clpt_message_has("the backend's own words");

  clpt_ok(clp_allocator_allocate(allocator, 10, &memory));
  device.free_fault = fault;
  clpt_fails(failures[_i], clp_allocator_free(allocator, memory, 10));
  ck_assert_int_eq(clp_last_error()->native_code, -61);
  clpt_ok(clp_allocator_free(allocator, memory, 10)); /* it was still the caller's */
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(a_backend_that_says_nothing_leaves_a_message_with_the_figures)
{
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memory = 1;

  clpt_device_init(&device);
  allocator = clpt_device_allocator(&device);
  device.allocate_fault = (clpt_fault){.count = 1, .status = failures[_i]};
  clpt_fails(failures[_i], clp_allocator_allocate(allocator, 12345, &memory));
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  clpt_message_has("12345");
  clpt_message_has("test-device");

  clpt_ok(clp_allocator_allocate(allocator, 12345, &memory));
  device.free_fault = (clpt_fault){.count = 1, .status = failures[_i]};
  clpt_fails(failures[_i], clp_allocator_free(allocator, memory, 12345));
  clpt_message_has("12345");
  clpt_ok(clp_allocator_free(allocator, memory, 12345));
  clp_allocator_release(allocator);
}
END_TEST

static clp_status succeed_with_nothing(void *self, size_t bytes, clp_memory *out)
{
  (void)self, (void)bytes;
  *out = 0;
  return CLP_SUCCESS;
}

START_TEST(success_with_memory_0_is_a_backend_error)
{
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memory = 1;

  clpt_device_init(&device);
  device.ops.allocate = succeed_with_nothing;
  allocator = clpt_device_allocator(&device);
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(allocator, 10, &memory));
  ck_assert_uint_eq(memory, 0);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(allocations_1_to_n_fail_in_turn_and_leave_nothing_behind)
{
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memories[8] = {0};

  clpt_device_init(&device);
  allocator = clpt_device_allocator(&device);
  device.allocate_fault =
      (clpt_fault){.after = (unsigned)_i, .count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
  for (int i = 0; i < 8; i++) {
    clp_status status = clp_allocator_allocate(allocator, 100, &memories[i]);
    ck_assert_int_eq(status, i == _i ? CLP_OUT_OF_DEVICE_MEMORY : CLP_SUCCESS);
    ck_assert_int_eq(memories[i] == 0, i == _i);
  }
  ck_assert_uint_eq(device.live_blocks, 7);
  for (int i = 0; i < 8; i++)
    clpt_ok(clp_allocator_free(allocator, memories[i], 100));
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

static void add_create_tests(Suite *suite)
{
  TCase *tests = clpt_case(suite, "create");

  tcase_add_test(tests, create_refuses_null);
  tcase_add_test(tests, create_refuses_ops_without_allocate);
  tcase_add_test(tests, create_refuses_ops_without_free);
  tcase_add_loop_test(tests, create_refuses_half_of_the_split_group, 0, 2);
  tcase_add_loop_test(tests, create_refuses_every_part_of_the_stream_group, 1, WHOLE_ORDER_GROUP);
  tcase_add_loop_test(tests, create_refuses_what_needs_the_stream_group_without_it, 0, 5);
  tcase_add_test(tests, create_refuses_use_of_a_home_stream_without_one);
  tcase_add_test(tests, create_takes_whole_groups);
  tcase_add_loop_test(tests, create_refuses_an_alignment_that_is_no_power_of_two, 0, 8);
  tcase_add_loop_test(tests, create_takes_every_power_of_two_as_alignment, 0, sizeof(size_t) * 8);
  tcase_add_loop_test(tests, create_refuses_a_memory_kind_that_is_none, 0, 3);
  tcase_add_test(tests, allocate_and_free_alone_make_an_allocator);
  tcase_add_test(tests, ops_and_name_are_copied);
  tcase_add_test(tests, a_null_allocator_has_an_empty_name_and_is_not_deferred);
  tcase_add_test(tests, the_last_of_many_references_ends_the_allocator_once);
}

CLPT_MAIN("allocator", clpt_run)
{
  TCase *tests = clpt_case(suite, "allocate and free");

  tcase_add_test(tests, zero_bytes_give_memory_0_and_touch_no_device);
  tcase_add_test(tests, allocate_and_free_refuse_null);
  tcase_add_test(tests, more_than_the_largest_block_is_an_invalid_argument);
  tcase_add_loop_test(tests, what_the_backend_says_of_a_failure_reaches_the_user, 0, FAILURES);
  tcase_add_loop_test(tests, a_backend_that_says_nothing_leaves_a_message_with_the_figures, 0,
                      FAILURES);
  tcase_add_test(tests, success_with_memory_0_is_a_backend_error);
  tcase_add_loop_test(tests, allocations_1_to_n_fail_in_turn_and_leave_nothing_behind, 0, 8);
  add_create_tests(suite);
}
