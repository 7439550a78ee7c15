/* SPDX-License-Identifier: MIT */
/* The host allocator: alignment, real memory, and sizes that no host has. */
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/allocator.h>
#include <stdint.h>
#include <stdio.h>

/* No process has an address space of this size; a third of what a size can tell. */
static const size_t beyond_any_host = SIZE_MAX / 16;

static clp_allocator *host(size_t alignment)
{
  clp_allocator *allocator = NULL;

  clpt_ok(clp_host_allocator_create(alignment, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

START_TEST(blocks_have_the_alignment_that_was_asked_for_or_64)
{
  size_t alignment = _i < 0 ? 64 : (size_t)1 << _i;
  clp_allocator *allocator = host(_i < 0 ? 0 : alignment);
  clp_memory memories[16];

  for (size_t i = 0; i < 16; i++) {
    clpt_ok(clp_allocator_allocate(allocator, i * 37 + 1, &memories[i]));
    ck_assert_uint_eq(memories[i] % alignment, 0);
  }
  for (size_t i = 0; i < 16; i++)
    clpt_ok(clp_allocator_free(allocator, memories[i], i * 37 + 1));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(memory_that_the_host_lacks_is_device_memory_and_leaves_the_allocator_in_order)
{
  clp_allocator *allocator = host(0);
  clp_memory memory = 1;

  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, beyond_any_host, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok(clp_allocator_allocate(allocator, 100, &memory));
  clpt_ok(clp_allocator_free(allocator, memory, 100));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(a_size_that_no_pointer_difference_can_tell_is_refused)
{
  clp_allocator *allocator = host(0);
  clp_memory memory = 1;
  clp_status status = clp_allocator_allocate(allocator, SIZE_MAX, &memory);

  ck_assert(status == CLP_INVALID_ARGUMENT || status == CLP_OUT_OF_DEVICE_MEMORY);
  ck_assert_uint_eq(memory, 0);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_SUITE("host allocator")
{
  TCase *tests = clpt_case(suite, "host allocator");
  tcase_add_loop_test(tests, blocks_have_the_alignment_that_was_asked_for_or_64, -1, 17);
  tcase_add_test(tests,
                 memory_that_the_host_lacks_is_device_memory_and_leaves_the_allocator_in_order);
  tcase_add_test(tests, a_size_that_no_pointer_difference_can_tell_is_refused);
}
