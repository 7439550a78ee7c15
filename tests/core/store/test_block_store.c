/* SPDX-License-Identifier: MIT */
/* Where the warm path finds the index of a size's bin: bin.c has the arithmetic that it goes by. */
#include "core/store/block_store.h"

#include "support/suite.h"

#include <clpool/bin.h>
#include <stdint.h>

static clpi_block_store store;

/* Whether any size has this number. */
static bool is_bin(unsigned leading_bits, size_t number)
{
  return clp_bin_number(leading_bits, clp_bin_size(leading_bits, number)) == number;
}

/* The place of a bin's index; NULL: it is not the same for all of its sizes. */
static _Atomic uint32_t *place_of(unsigned leading_bits, size_t number)
{
  size_t last = clp_bin_size(leading_bits, number);
  size_t first = number == 0 ? 1 : clp_bin_size(leading_bits, number - 1) + 1;
  _Atomic uint32_t *place = clpi_bin_index(&store.indexes, last);

  return clpi_bin_index(&store.indexes, first) == place &&
                 clpi_bin_index(&store.indexes, first + (last - first) / 2) == place
             ? place
             : NULL;
}

START_TEST(each_bin_has_a_place_of_its_own_for_its_index)
{
  unsigned b = (unsigned)_i;
  size_t end = clp_bin_number(b, SIZE_MAX) + 1;

  ck_assert(clpi_store_init(&store, b, SIZE_MAX));
  for (size_t number = 0; number < end; number++) {
    _Atomic uint32_t *place = is_bin(b, number) ? place_of(b, number) : NULL;
    if (is_bin(b, number) && (!place || clpi_relaxed(*place)))
      ck_abort_msg("b = %u: bin %zu", b, number);
    if (place)
      clpi_set_relaxed(*place, 1);
  }
  clpi_store_end(&store);
}
END_TEST

START_TEST(a_bin_in_use_is_found_by_all_of_its_sizes)
{
  ck_assert(clpi_store_init(&store, 4, 1000));
  clpi_bin *small = clpi_store_use_bin(&store, clpi_bin_parts_of(4, 3));
  clpi_bin *large = clpi_store_use_bin(&store, clpi_bin_parts_of(4, 1000)); /* of 992 to 1023 */
  ck_assert_uint_eq(*clpi_bin_index(&store.indexes, 3), small->index);
  ck_assert_uint_eq(*clpi_bin_index(&store.indexes, 2), 0);
  ck_assert_uint_eq(*clpi_bin_index(&store.indexes, 992), large->index);
  ck_assert_uint_eq(*clpi_bin_index(&store.indexes, 991), 0);
  clpi_store_end(&store);
}
END_TEST

/* Blocks come in the order of `ages`. */
START_TEST(a_list_is_sorted_by_age)
{
  static const uint64_t ages[] = {5, 7, 3, 6, 9, 1, 1};
  enum { COUNT = sizeof(ages) / sizeof(ages[0]) };
  static clp_buffer blocks[COUNT];

  ck_assert(clpi_store_init(&store, 4, 1000));
  clpi_bin *bin = clpi_store_use_bin(&store, clpi_bin_parts_of(4, 100));
  for (size_t i = 0; i < COUNT; i++) {
    blocks[i] = (clp_buffer){.bin = bin, .age = ages[i]};
    clpi_store_put(&store, &blocks[i]);
    size_t listed = 1;
    for (clp_buffer *at = bin->oldest; at != bin->newest; at = at->newer, listed++)
      ck_assert(at->age <= at->newer->age && at->newer->older == at);
    ck_assert_uint_eq(listed, i + 1);
  }
  while (clpi_store_take(&store, bin))
    continue;
  clpi_store_end(&store);
}
END_TEST

/* Alone, or beside the one that went as well, in either order, or beside one that came again. */
START_TEST(a_block_that_is_put_back_is_where_it_was)
{
  static const size_t gone[][2] = {{0, 0}, {2, 2}, {4, 4}, {1, 2}, {2, 1}, {3, 4}, {4, 3}};
  static clp_buffer blocks[5];

  ck_assert(clpi_store_init(&store, 4, 1000));
  clpi_bin *bin = clpi_store_use_bin(&store, clpi_bin_parts_of(4, 100));
  for (size_t i = 0; i < 5; i++) {
    blocks[i] = (clp_buffer){.bin = bin, .age = i};
    clpi_store_put(&store, &blocks[i]);
  }
  size_t first = gone[_i][0], second = gone[_i][1];
  clpi_store_remove(&store, &blocks[first]);
  if (second != first) {
    clpi_store_remove(&store, &blocks[second]);
    clpi_store_put_back(&store, &blocks[second]);
  }
  clpi_store_put_back(&store, &blocks[first]);
  for (size_t i = 0; i < 5; i++)
    ck_assert_ptr_eq(clpi_store_take_oldest(&store), &blocks[i]);
  clpi_store_end(&store);
}
END_TEST

/* What threads exchange by the depot stays there while one with the lock takes from the list. */
START_TEST(to_take_from_the_list_leaves_the_depot_alone)
{
  static clp_buffer blocks[2], *const batch[] = {&blocks[1]};

  ck_assert(clpi_store_init(&store, 4, 1000));
  clpi_bin *bin = clpi_store_use_bin(&store, clpi_bin_parts_of(4, 100));
  blocks[0] = blocks[1] = (clp_buffer){.bin = bin};
  clpi_store_put(&store, &blocks[0]);
  ck_assert(clpi_store_put_batch(&store, bin, batch, 1, true));
  ck_assert_uint_eq(clpi_bin_held(bin), 2);
  ck_assert_ptr_eq(clpi_store_take(&store, bin), &blocks[0]);
  ck_assert_ptr_null(clpi_store_take(&store, bin));
  clp_buffer *taken = NULL;
  ck_assert_uint_eq(clpi_depot_take(&bin->depot, &taken, 1), 1);
  ck_assert_ptr_eq(taken, &blocks[1]);
  clpi_store_end(&store);
}
END_TEST

CLPT_MAIN("block store", clpt_run)
{
  TCase *tests = clpt_case(suite, "indexes");

  tcase_add_loop_test(tests, each_bin_has_a_place_of_its_own_for_its_index, 0,
                      CLP_MAX_LEADING_BITS + 1);
  tcase_add_test(tests, a_bin_in_use_is_found_by_all_of_its_sizes);
  tcase_add_test(clpt_case(suite, "list"), a_list_is_sorted_by_age);
  tcase_add_test(clpt_case(suite, "depot"), to_take_from_the_list_leaves_the_depot_alone);
  tcase_add_loop_test(clpt_case(suite, "put back"), a_block_that_is_put_back_is_where_it_was, 0, 7);
}
