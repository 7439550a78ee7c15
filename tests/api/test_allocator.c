/* SPDX-License-Identifier: MIT */
/* Allocators of the caller's own: what create checks and completes, and each call's statuses. */
#include "support/failing_allocator.h"
#include "support/suite.h"

#include <clpool/allocator.h>

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
  clp_memory memory = 0;

  clpt_device_init(&device);
  device.ops.name = name;
  device.ops.deferred = true;
  clp_allocator *allocator = clpt_device_allocator(&device);
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

START_TEST(the_last_of_many_references_ends_the_allocator_once)
{
  clpt_device device;

  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
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
  clp_memory memory = 1;

  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
  clpt_ok(clp_allocator_allocate(allocator, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok(clp_allocator_free(allocator, 0, 0));
  clpt_ok(clp_allocator_free(allocator, 0, 100));
  clpt_device_trace_is(&device, "");
  clp_allocator_release(allocator);
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
  clp_memory memory = 1;

  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
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
  clp_memory memory = 1;

  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
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
  clp_memory memory = 1;

  clpt_device_init(&device);
  device.ops.allocate = succeed_with_nothing;
  clp_allocator *allocator = clpt_device_allocator(&device);
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(allocator, 10, &memory));
  ck_assert_uint_eq(memory, 0);
  clp_allocator_release(allocator);
}
END_TEST

static void add_create_tests(Suite *suite)
{
  TCase *tests = clpt_case(suite, "create");
  tcase_add_test(tests, allocate_and_free_alone_make_an_allocator);
  tcase_add_test(tests, ops_and_name_are_copied);
  tcase_add_test(tests, the_last_of_many_references_ends_the_allocator_once);
}

CLPT_MAIN("allocator", clpt_run)
{
  TCase *tests = clpt_case(suite, "allocate and free");
  tcase_add_test(tests, zero_bytes_give_memory_0_and_touch_no_device);
  tcase_add_loop_test(tests, what_the_backend_says_of_a_failure_reaches_the_user, 0, FAILURES);
  tcase_add_loop_test(tests, a_backend_that_says_nothing_leaves_a_message_with_the_figures, 0,
                      FAILURES);
  tcase_add_test(tests, success_with_memory_0_is_a_backend_error);
  add_create_tests(suite);
}
