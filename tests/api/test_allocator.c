/* SPDX-License-Identifier: MIT */
/* clpool/allocator.h: allocators of the caller's own, of host memory, and simulated ones. */
#include "support/pools.h"
#include "support/suite.h"

#include <stdint.h>

static clpt_device device;
static clp_allocator *allocator;

static void setup(void)
{
  clpt_device_init(&device);
}

/* A block, which is freed again. */
static void use(size_t bytes)
{
  clp_memory memory = clpt_memory(allocator, bytes);
  clpt_ok(clp_allocator_free(allocator, memory, bytes));
}

static void refuses(clp_status status, size_t bytes)
{
  clp_memory memory = 1;
  clpt_fails(status, clp_allocator_allocate(allocator, bytes, &memory));
  ck_assert_uint_eq(memory, 0);
}

/* --- the caller's own --- */

START_TEST(allocate_and_free_alone_make_an_allocator)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clp_memory memory = 1;
  ops.allocate = device.ops.allocate;
  ops.free = device.ops.free;
  clpt_ok(clp_allocator_create(&ops, &device, &allocator));
  ck_assert_str_eq(clp_allocator_name(allocator), "unnamed");
  ck_assert(!clp_allocator_is_deferred(allocator));
  use(10);
  clpt_ok(clp_allocator_allocate(allocator, 0, &memory)); /* touches no device */
  ck_assert_uint_eq(memory, 0);
  clpt_ok(clp_allocator_free(allocator, 0, 100));
  clp_allocator_release(allocator);
  clpt_device_trace_is(&device, "A10 F10");
}
END_TEST

START_TEST(ops_and_name_are_copied_and_the_last_reference_ends_the_allocator)
{
  char name[] = "named-for-now";
  device.ops.name = name;
  device.ops.deferred = true;
  allocator = clpt_device_allocator(&device);
  memset(name, '?', sizeof(name) - 1);
  memset(&device.ops, 0, sizeof(device.ops));
  ck_assert_str_eq(clp_allocator_name(allocator), "named-for-now");
  ck_assert(clp_allocator_is_deferred(allocator));
  use(10);
  ck_assert_ptr_eq(clp_allocator_retain(allocator), allocator);
  clp_allocator_release(allocator);
  ck_assert_uint_eq(device.destroyed, 0);
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

/* With a message of the allocator's own, and without. */
START_TEST(a_failure_of_the_allocator_reaches_the_user)
{
  static const clp_status statuses[] = {CLP_OUT_OF_DEVICE_MEMORY, CLP_OUT_OF_HOST_MEMORY,
                                        CLP_BACKEND_ERROR, CLP_NOT_SUPPORTED, CLP_BUSY};
  clpt_fault fault = {.count = 1, .status = statuses[_i / 2]};
  const char *message = _i % 2 ? "the backend's own words" : "12345";
  if (_i % 2) {
    fault.native_code = -61;
    fault.message = message;
  }
  allocator = clpt_device_allocator(&device);
  device.allocate_fault = fault;
  refuses(fault.status, 12345);
  ck_assert_int_eq(clp_last_error()->native_code, fault.native_code);
  clpt_message_has(message);
  clpt_message_has(_i % 2 ? message : "test-device");
  clp_memory memory = clpt_memory(allocator, 12345);
  device.free_fault = fault;
  clpt_fails(fault.status, clp_allocator_free(allocator, memory, 12345));
  ck_assert_int_eq(clp_last_error()->native_code, fault.native_code);
  clpt_message_has(message);
  clpt_ok(clp_allocator_free(allocator, memory, 12345)); /* it was still the caller's */
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

static clp_status succeed_with_nothing(void *self, size_t bytes, clp_memory *out)
{
  *out = 0;
  return CLP_SUCCESS;
}

START_TEST(success_with_memory_0_is_a_backend_error)
{
  device.ops.allocate = succeed_with_nothing;
  allocator = clpt_device_allocator(&device);
  refuses(CLP_BACKEND_ERROR, 10);
  clp_allocator_release(allocator);
}
END_TEST

/* --- host memory --- */

START_TEST(host_blocks_are_aligned)
{
  size_t alignment = _i < 0 ? 64 : (size_t)1 << _i;
  clp_memory memories[16];
  clpt_ok(clp_host_allocator_create(_i < 0 ? 0 : alignment, &allocator));
  for (size_t i = 0; i < 16; i++) {
    memories[i] = clpt_memory(allocator, i * 37 + 1);
    ck_assert_uint_eq(memories[i] % alignment, 0);
  }
  for (size_t i = 0; i < 16; i++)
    clpt_ok(clp_allocator_free(allocator, memories[i], i * 37 + 1));
  refuses(CLP_OUT_OF_DEVICE_MEMORY, SIZE_MAX / 16); /* no process has such an address space */
  use(100);
  clp_allocator_release(allocator);
}
END_TEST

/* --- simulated memory --- */

START_TEST(simulated_memory_has_its_capacity_to_the_byte)
{
  static const size_t capacities[] = {1000, SIZE_MAX};
  size_t capacity = capacities[_i];
  clpt_ok(clp_simulated_allocator_create(_i ? 0 : capacity, &allocator));
  ck_assert_str_eq(clp_allocator_name(allocator), "simulated");
  ck_assert(!clp_allocator_is_deferred(allocator));
  clp_memory memory = clpt_memory(allocator, capacity - 400);
  refuses(CLP_OUT_OF_DEVICE_MEMORY, 401);
  clpt_message_has("401");
  if (!_i)
    clpt_message_has("1000");
  clp_memory rest = clpt_memory(allocator, 400);
  refuses(CLP_OUT_OF_DEVICE_MEMORY, 1);
  clpt_ok(clp_allocator_free(allocator, memory, capacity - 400));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(allocator, rest, 401));
  use(capacity - 400);
  clpt_ok(clp_allocator_free(allocator, rest, 400));
  clp_allocator_release(allocator);
}
END_TEST

/* Blocks do not overlap, also where addresses begin again, which they do not at 0. */
START_TEST(simulated_blocks_are_apart)
{
  enum { BLOCKS = 500, WINDOW = 15 };
  clp_memory memories[BLOCKS];
  size_t part = (SIZE_MAX / 2 + 1) / (WINDOW + 1);
  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  for (size_t i = 0; i < BLOCKS; i++) {
    size_t bytes = _i ? part : i * i + 1;
    memories[i] = clpt_memory(allocator, bytes);
    for (size_t j = _i && i > WINDOW ? i - WINDOW : 0; j < i; j++)
      ck_assert(_i ? memories[i] != memories[j]
                   : memories[i] >= memories[j] + j * j + 1 || memories[j] >= memories[i] + bytes);
    if (_i)
      clpt_ok(clp_allocator_free(allocator, memories[i], bytes));
  }
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("allocator", clpt_run)
{
  TCase *tests = clpt_case(suite, "allocator");
  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_test(tests, allocate_and_free_alone_make_an_allocator);
  tcase_add_test(tests, ops_and_name_are_copied_and_the_last_reference_ends_the_allocator);
  tcase_add_loop_test(tests, a_failure_of_the_allocator_reaches_the_user, 0, 10);
  tcase_add_test(tests, success_with_memory_0_is_a_backend_error);
  tcase_add_loop_test(tests, host_blocks_are_aligned, -1, 17);
  tcase_add_loop_test(tests, simulated_memory_has_its_capacity_to_the_byte, 0, 2);
  tcase_add_loop_test(tests, simulated_blocks_are_apart, 0, 2);
}
