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

START_TEST(memory_can_be_written_to_its_last_byte)
{
  static const size_t sizes[] = {1, 2, 63, 64, 65, 4096, 1000003};
  clp_allocator *allocator = host(0);
  clp_memory memory = 0;

  clpt_ok(clp_allocator_allocate(allocator, sizes[_i], &memory));
  memset((void *)memory, 0xa5, sizes[_i]);
  clpt_ok(clp_allocator_free(allocator, memory, sizes[_i]));
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

START_TEST(a_pool_on_it_reports_out_of_memory_with_the_bytes)
{
  clp_allocator *allocator = host(0);
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = (clp_buffer *)pool;
  char requested[32];

  (void)snprintf(requested, sizeof(requested), "%zu", beyond_any_host);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, beyond_any_host, &buffer));
  ck_assert_ptr_null(buffer);
  clpt_message_has(requested);
  ck_assert_uint_eq(clpt_stats(pool).managed_bytes, 0);
  clp_pool_release(pool);
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

START_TEST(it_is_named_host_and_is_not_deferred)
{
  clp_allocator *allocator = host(0);

  ck_assert_str_eq(clp_allocator_name(allocator), "host");
  ck_assert(!clp_allocator_is_deferred(allocator));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(buffers_of_a_pool_hold_what_is_written_while_others_come_and_go)
{
  clp_allocator *allocator = host(256);
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *kept = clpt_allocate(pool, 500);
  unsigned char *bytes = (unsigned char *)clp_buffer_memory(kept);

  memset(bytes, 0x5a, clp_buffer_capacity(kept)); /* all of it is the caller's */
  for (int i = 0; i < 20; i++) {
    clp_buffer *passing = clpt_allocate(pool, 500);
    memset((void *)clp_buffer_memory(passing), 0xff, clp_buffer_capacity(passing));
    clpt_ok(clp_buffer_release(passing));
  }
  for (size_t i = 0; i < clp_buffer_capacity(kept); i++)
    if (bytes[i] != 0x5a)
      ck_abort_msg("byte %zu was overwritten", i);
  clpt_ok(clp_buffer_release(kept));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("host allocator", clpt_run)
{
  TCase *tests = clpt_case(suite, "host allocator");

  tcase_add_loop_test(tests, blocks_have_the_alignment_that_was_asked_for_or_64, -1, 17);
  tcase_add_loop_test(tests, memory_can_be_written_to_its_last_byte, 0, 7);
  tcase_add_test(tests,
                 memory_that_the_host_lacks_is_device_memory_and_leaves_the_allocator_in_order);
  tcase_add_test(tests, a_pool_on_it_reports_out_of_memory_with_the_bytes);
  tcase_add_test(tests, a_size_that_no_pointer_difference_can_tell_is_refused);
  tcase_add_test(tests, it_is_named_host_and_is_not_deferred);
  tcase_add_test(tests, buffers_of_a_pool_hold_what_is_written_while_others_come_and_go);
}
