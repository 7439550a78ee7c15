/* SPDX-License-Identifier: MIT */
/* Parts that an arena keeps: the records of lib/arena/parts.c, and when upstream is asked to split
 * and unite, and is not. */
#include "arena/parts.h"
#include "core/allocator/allocator.h"

#include "support/arenas.h"
#include "support/failmalloc.h"
#include "support/suite.h"

/* --- the records --- */

static clpi_parts parts;
static clpi_segment_parts own;

static void start_records(void)
{
  parts = (clpi_parts){0};
  clpi_segment_parts_init(&own);
}

static clpi_part *keep(uint64_t position, size_t bytes)
{
  clpi_part *part = clpi_part_create(&parts, position, bytes);
  ck_assert_ptr_nonnull(part);
  clpi_parts_keep(&parts, &own, part);
  return part;
}

static void end_records(void)
{
  for (clpi_part *part; (part = clpi_parts_take_oldest(&parts, &own, 0));)
    clpi_part_destroy(&parts, part);
  ck_assert_uint_eq(parts.by_place.count, 0);
  ck_assert_uint_eq(parts.by_place.reserved, 0);
  clpi_parts_end(&parts);
}

START_TEST(a_part_is_found_by_place_and_size)
{
  start_records();
  clpi_part *part = keep(256, 100), *other = keep(256, 101);
  ck_assert_ptr_null(clpi_parts_take(&parts, &own, 512, 100));
  ck_assert_ptr_null(clpi_parts_take(&parts, &own, 256, 102));
  ck_assert_ptr_eq(clpi_parts_take(&parts, &own, 256, 100), part);
  ck_assert_ptr_null(clpi_parts_take(&parts, &own, 256, 100));
  ck_assert_ptr_eq(clpi_parts_take(&parts, &own, 256, 101), other);
  clpi_part_destroy(&parts, part);
  clpi_part_destroy(&parts, other);
  end_records();
}
END_TEST

/* The bytes are made up so that all three have one key. They are taken from each end of the chain
 * and from its middle. */
START_TEST(places_of_one_key)
{
  const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
  clpi_part *of[3];
  start_records();
  for (uint64_t i = 0; i < 3; i++)
    of[i] = keep(256 * i, (256 * i * factor) ^ 77);
  ck_assert_uint_eq(parts.by_place.count, 1);
  for (size_t i = 0; i < 3; i++) {
    size_t next = ((size_t)_i + i) % 3;
    ck_assert_ptr_eq(clpi_parts_take(&parts, &own, of[next]->position, of[next]->bytes), of[next]);
    clpi_part_destroy(&parts, of[next]);
  }
  end_records();
}
END_TEST

START_TEST(the_oldest_goes_first)
{
  start_records();
  clpi_part *first = keep(0, 1), *second = keep(256, 1);
  ck_assert_ptr_null(clpi_parts_take_oldest(&parts, &own, 2));
  ck_assert_ptr_eq(clpi_parts_take_oldest(&parts, &own, 1), first);
  clpi_parts_keep(&parts, &own, first);
  ck_assert_ptr_eq(clpi_parts_take_oldest(&parts, &own, 1), second);
  clpi_part_destroy(&parts, second);
  end_records();
}
END_TEST

/* --- the arena --- */

/* A device whose parts are no addresses: each has a number. */
static unsigned splits, unsplits, split_fault, unsplit_faults;

static clp_status split_numbered(void *self, clp_memory block, size_t offset, size_t bytes,
                                 clp_memory *part)
{
  (void)self, (void)block, (void)offset, (void)bytes;
  if (split_fault && !--split_fault)
    return clp_set_last_error(CLP_BACKEND_ERROR, -13, "misaligned");
  *part = ++splits;
  return CLP_SUCCESS;
}

static clp_status unsplit_numbered(void *self, clp_memory part, size_t bytes)
{
  (void)self, (void)bytes;
  ck_assert_uint_le(part, splits);
  if (unsplit_faults) {
    unsplit_faults--;
    return CLP_BACKEND_ERROR;
  }
  unsplits++;
  return CLP_SUCCESS;
}

static void setup(void)
{
  clpt_arena_setup();
  clpt_arena_device.ops.split = split_numbered;
  clpt_arena_device.ops.unsplit = unsplit_numbered;
  splits = unsplits = split_fault = unsplit_faults = 0;
  clpt_arena_start();
}

static void end(void)
{
  clpt_arena_end();
  ck_assert_uint_eq(unsplits, splits);
}

static void give_unused_back(void)
{
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
}

START_TEST(a_block_in_the_same_place_is_the_same_part)
{
  clp_memory first = clpt_arena_take(1000), second = clpt_arena_take(2000);
  clpt_arena_give(first, 1000);
  ck_assert_uint_eq(clpt_arena_take(1000), first);
  ck_assert_uint_eq(splits, 2);
  clpt_arena_give(first, 1000);
  clp_memory smaller = clpt_arena_take(900);
  ck_assert_uint_eq(splits, 3);
  ck_assert_uint_eq(unsplits, 0);
  clpt_arena_give(smaller, 900);
  ck_assert_uint_eq(clpt_arena_take(1000), first);
  ck_assert_uint_eq(splits, 3);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(clpt_arena, smaller, 900));
  clpt_arena_give(first, 1000);
  clpt_arena_give(second, 2000);
  end();
}
END_TEST

START_TEST(parts_end_before_their_segment)
{
  clp_memory memory = clpt_arena_take(1000);
  clpt_arena_give(memory, 1000);
  ck_assert_uint_eq(unsplits, 0);
  give_unused_back();
  ck_assert_uint_eq(unsplits, 1);
  ck_assert_uint_eq(clpt_arena_device.live_blocks, 0);
  clpt_arena_give(clpt_arena_take(1000), 1000);
  ck_assert_uint_eq(splits, 2);
  end();
}
END_TEST

/* Each at the same place, of another size. */
START_TEST(a_segment_keeps_512)
{
  for (size_t bytes = 1; bytes <= 514; bytes++)
    clpt_arena_give(clpt_arena_take(bytes), bytes);
  ck_assert_uint_eq(unsplits, 2);
  clpt_arena_give(clpt_arena_take(3), 3);
  ck_assert_uint_eq(splits, 514);
  clpt_arena_give(clpt_arena_take(2), 2);
  ck_assert_uint_eq(splits, 515);
  end();
}
END_TEST

START_TEST(a_failed_split_loses_nothing)
{
  clp_memory kept = clpt_arena_take(100), memory;
  split_fault = 1;
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(clpt_arena, 100, &memory));
  clpt_message_has("misaligned");
  ck_assert_uint_eq(clpt_arena_figures().used_blocks, 1);
  ck_assert_uint_eq(clpt_arena_figures().free_ranges, 1);
  clpt_arena_give(kept, 100);
  end();
}
END_TEST

/* A segment with a part that does not end stays, and so does the part. */
START_TEST(a_failed_unsplit_loses_nothing)
{
  clp_memory memory = clpt_arena_take(100);
  clpt_arena_give(memory, 100);
  unsplit_faults = 1;
  clpt_fails(CLP_BACKEND_ERROR, clpt_arena->ops.return_cached(clpt_arena->self));
  clpt_message_has("uniting a segment");
  ck_assert_uint_eq(clpt_arena_figures().segments, 1);
  ck_assert_uint_eq(clpt_arena_take(100), memory);
  clpt_arena_give(memory, 100);
  end();
}
END_TEST

/* The free that it was tried in is a success, without a last error. */
START_TEST(one_part_too_many_that_does_not_end_is_kept)
{
  for (size_t bytes = 1; bytes <= 512; bytes++)
    clpt_arena_give(clpt_arena_take(bytes), bytes);
  clp_memory memory = clpt_arena_take(513);
  clp_set_last_error(CLP_BACKEND_ERROR, 0, "of before");
  unsplit_faults = 1;
  clpt_arena_give(memory, 513);
  clpt_message_has("of before");
  clpt_arena_give(clpt_arena_take(1), 1);
  ck_assert_uint_eq(splits, 513);
  end();
}
END_TEST

START_TEST(lack_of_host_memory_loses_nothing)
{
  clp_memory memory = 0;
  for (unsigned long nth = 0;; nth++) {
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    clp_status status = clp_allocator_allocate(clpt_arena, 100, &memory);
    clpt_host_stop();
    if (!status)
      clpt_arena_give(memory, 100);
    give_unused_back();
    ck_assert_uint_eq(clpt_arena_figures().segments, 0);
    ck_assert_uint_eq(unsplits, splits);
    if (!clpt_host_failed())
      break;
    ck_assert(status == CLP_OUT_OF_HOST_MEMORY || status == CLP_SUCCESS);
  }
  end();
}
END_TEST

CLPT_MAIN("parts of an arena", clpt_run)
{
  TCase *records = clpt_case(suite, "records");
  TCase *arena = clpt_case(suite, "arena");

  tcase_add_test(records, a_part_is_found_by_place_and_size);
  tcase_add_loop_test(records, places_of_one_key, 0, 3);
  tcase_add_test(records, the_oldest_goes_first);
  tcase_add_checked_fixture(arena, setup, NULL);
  tcase_add_test(arena, a_block_in_the_same_place_is_the_same_part);
  tcase_add_test(arena, parts_end_before_their_segment);
  tcase_add_test(arena, a_segment_keeps_512);
  tcase_add_test(arena, a_failed_split_loses_nothing);
  tcase_add_test(arena, a_failed_unsplit_loses_nothing);
  tcase_add_test(arena, one_part_too_many_that_does_not_end_is_kept);
  tcase_add_test(arena, lack_of_host_memory_loses_nothing);
}
