/* SPDX-License-Identifier: MIT */
/* The simulated allocator: made-up addresses, and a capacity to the byte. */
#include "support/suite.h"

#include <clpool/allocator.h>
#include <stdint.h>

static clp_allocator *simulated(size_t capacity)
{
  clp_allocator *allocator = NULL;

  clpt_ok(clp_simulated_allocator_create(capacity, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

START_TEST(it_is_named_simulated_and_is_not_deferred)
{
  clp_allocator *allocator = simulated(0);

  ck_assert_str_eq(clp_allocator_name(allocator), "simulated");
  ck_assert(!clp_allocator_is_deferred(allocator));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(the_capacity_is_kept_to_the_byte)
{
  clp_allocator *allocator = simulated(1000);
  clp_memory first = 0, second = 0, third = 1;

  clpt_ok(clp_allocator_allocate(allocator, 600, &first));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, 401, &third));
  ck_assert_uint_eq(third, 0);
  clpt_message_has("401");
  clpt_message_has("1000");
  clpt_ok(clp_allocator_allocate(allocator, 400, &second));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, 1, &third));

  clpt_ok(clp_allocator_free(allocator, first, 600));
  clpt_ok(clp_allocator_allocate(allocator, 600, &third));
  clpt_ok(clp_allocator_free(allocator, second, 400));
  clpt_ok(clp_allocator_free(allocator, third, 600));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(without_a_capacity_all_of_size_t_is_there_but_not_more)
{
  clp_allocator *allocator = simulated(0);
  clp_memory first = 0, second = 0, third = 1;

  clpt_ok(clp_allocator_allocate(allocator, SIZE_MAX - 5, &first));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, 6, &third));
  clpt_ok(clp_allocator_allocate(allocator, 5, &second));
  clpt_ok(clp_allocator_free(allocator, first, SIZE_MAX - 5));
  clpt_ok(clp_allocator_free(allocator, second, 5));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(freeing_more_than_is_in_use_is_an_invalid_argument)
{
  clp_allocator *allocator = simulated(1000);
  clp_memory memory = 0;

  clpt_ok(clp_allocator_allocate(allocator, 100, &memory));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(allocator, memory, 101));
  clpt_ok(clp_allocator_free(allocator, memory, 100));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(allocator, memory, 1));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(blocks_neither_meet_nor_lie_at_0)
{
  enum { BLOCKS = 500 };
  clp_allocator *allocator = simulated(0);
  clp_memory memories[BLOCKS];

  for (size_t i = 0; i < BLOCKS; i++)
    clpt_ok(clp_allocator_allocate(allocator, i * i + 1, &memories[i]));
  for (size_t i = 0; i < BLOCKS; i++) {
    if (memories[i] == 0)
      ck_abort_msg("block %zu is at 0", i);
    for (size_t j = 0; j < i; j++)
      if (memories[i] < memories[j] + j * j + 1 && memories[j] < memories[i] + i * i + 1)
        ck_abort_msg("blocks %zu and %zu overlap", i, j);
  }
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(addresses_differ_among_2_to_the_63_bytes_in_turn)
{
  enum { BLOCKS = 70, WINDOW = 15 };
  clp_allocator *allocator = simulated(0);
  clp_memory memories[BLOCKS];
  size_t bytes = (SIZE_MAX / 2 + 1) / (WINDOW + 1);

  for (size_t i = 0; i < BLOCKS; i++) {
    clpt_ok(clp_allocator_allocate(allocator, bytes, &memories[i]));
    ck_assert_uint_ne(memories[i], 0);
    for (size_t j = i > WINDOW ? i - WINDOW : 0; j < i; j++)
      ck_assert_uint_ne(memories[i], memories[j]);
    clpt_ok(clp_allocator_free(allocator, memories[i], bytes));
  }
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(addresses_that_start_again_leave_0_out)
{
  clp_allocator *allocator = simulated(0);
  size_t bytes = SIZE_MAX / 2 + 1 - 128 * (size_t)_i;
  clp_memory memory = 0;

  clpt_ok(clp_allocator_allocate(allocator, bytes, &memory));
  clpt_ok(clp_allocator_free(allocator, memory, bytes));
  for (int i = 0; i < 4; i++) {
    clpt_ok(clp_allocator_allocate(allocator, 1, &memory));
    ck_assert_uint_ne(memory, 0);
  }
  clp_allocator_release(allocator);
}
END_TEST

CLPT_SUITE("simulated allocator")
{
  TCase *tests = clpt_case(suite, "simulated allocator");
  tcase_add_test(tests, it_is_named_simulated_and_is_not_deferred);
  tcase_add_test(tests, the_capacity_is_kept_to_the_byte);
  tcase_add_test(tests, without_a_capacity_all_of_size_t_is_there_but_not_more);
  tcase_add_test(tests, freeing_more_than_is_in_use_is_an_invalid_argument);
  tcase_add_test(tests, blocks_neither_meet_nor_lie_at_0);
  tcase_add_test(tests, addresses_differ_among_2_to_the_63_bytes_in_turn);
  tcase_add_loop_test(tests, addresses_that_start_again_leave_0_out, 0, 17);
}
