/* SPDX-License-Identifier: MIT */
/* Slots of caches: stacks of blocks, of which the newest is taken that a stream used last. */
#include "core/cache/slots.h"
#include "core/cache/warm_path.h"

#include "support/failmalloc.h"
#include "support/suite.h"

enum { BLOCKS = 40 };

typedef struct rig {
  clpi_cache cache;
  clpi_slot *slot;
  clpi_stream streams[2];
  clp_buffer blocks[BLOCKS];
} rig;

static rig it;

static void start(void)
{
  memset(&it, 0, sizeof(it));
  clpi_cache_add_slot_locked(NULL, &it.cache, 1);
  it.slot = clpi_slot_at(&it.cache, 1);
}

static void end(void)
{
  clpi_slot_free_places(it.slot);
}

static void push(clp_buffer *block)
{
  clpi_slot_push(&it.cache, it.cache.tick, it.slot, it.slot->top, block);
}

static bool is_full(void)
{
  return clpi_slot_is_full(it.slot, it.slot->top);
}

/* Pushes the blocks, which the streams used in turn; so block i is place i from below. */
static void fill(void)
{
  ck_assert(clpi_slot_reserve(it.slot, BLOCKS));
  for (size_t i = 0; i < BLOCKS; i++) {
    it.blocks[i].use.stream = &it.streams[i % 2];
    push(&it.blocks[i]);
  }
  ck_assert_uint_eq(clpi_slot_count(it.slot), BLOCKS);
}

START_TEST(one_that_a_cache_does_not_have_is_empty_and_full)
{
  clpi_slot *none = clpi_slot_peek(&it.cache, 2);

  ck_assert_ptr_null(clpi_slot_at(&it.cache, 2));
  ck_assert_ptr_null(clpi_slot_take(none, &it.streams[0], true));
  ck_assert(clpi_slot_is_full(none, none->top));
}
END_TEST

START_TEST(a_slot_begins_without_room)
{
  ck_assert_uint_eq(clpi_slot_count(it.slot), 0);
  ck_assert_uint_eq(clpi_slot_room(it.slot), 0);
  ck_assert_uint_eq(clpi_slot_capacity(it.slot), (1 << CLPI_FIRST_PLACES_LOG) - 1);
  ck_assert(is_full());
  ck_assert_ptr_null(clpi_slot_take(it.slot, &it.streams[0], false));
  ck_assert_ptr_null(clpi_slot_search(it.slot, &it.streams[0]));
}
END_TEST

START_TEST(the_newest_is_popped_if_the_stream_used_it)
{
  fill();
  for (size_t i = BLOCKS; i > 0; i--) {
    ck_assert_ptr_null(clpi_slot_take(it.slot, &it.streams[i % 2], false));
    ck_assert_ptr_eq(clpi_slot_take(it.slot, &it.streams[(i - 1) % 2], false), &it.blocks[i - 1]);
  }
  ck_assert_ptr_null(clpi_slot_take(it.slot, &it.streams[0], false));
  ck_assert_uint_eq(clpi_slot_count(it.slot), 0);
}
END_TEST

START_TEST(a_search_finds_the_newest_that_the_stream_used_and_keeps_the_order)
{
  fill();
  for (size_t i = BLOCKS; i > 0; i -= 2)
    ck_assert_ptr_eq(clpi_slot_search(it.slot, &it.streams[0]), &it.blocks[i - 2]);
  ck_assert_ptr_null(clpi_slot_search(it.slot, &it.streams[0]));
  for (size_t i = BLOCKS; i > 0; i -= 2)
    ck_assert_ptr_eq(clpi_slot_take(it.slot, &it.streams[1], false), &it.blocks[i - 1]);
  ck_assert_ptr_null(clpi_slot_search(it.slot, &it.streams[1]));
}
END_TEST

START_TEST(a_slot_grows_with_its_blocks_and_its_room)
{
  for (unsigned i = 0; i < BLOCKS; i++) {
    ck_assert(clpi_slot_reserve(it.slot, i + 1));
    ck_assert_uint_ge(clpi_slot_capacity(it.slot), i + 1);
    ck_assert_uint_eq(clpi_slot_room(it.slot), i);
    clpi_slot_set_room(it.slot, i + 1);
    ck_assert(!is_full());
    push(&it.blocks[i]);
    ck_assert(is_full());
  }
  for (unsigned i = BLOCKS; i > 0; i--)
    ck_assert_ptr_eq(clpi_slot_take(it.slot, NULL, false), &it.blocks[i - 1]);
}
END_TEST

START_TEST(without_host_memory_a_slot_stays_as_it_is)
{
  fill();
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  bool grown = clpi_slot_reserve(it.slot, 2 * clpi_slot_capacity(it.slot));
  clpt_host_stop();
  ck_assert(!grown);
  ck_assert_uint_eq(clpi_slot_count(it.slot), BLOCKS);
  ck_assert_ptr_eq(clpi_slot_search(it.slot, &it.streams[0]), &it.blocks[BLOCKS - 2]);
}
END_TEST

CLPT_MAIN("slot", clpt_run)
{
  TCase *tests = clpt_case(suite, "slot");

  tcase_add_checked_fixture(tests, start, end);
  tcase_add_test(tests, one_that_a_cache_does_not_have_is_empty_and_full);
  tcase_add_test(tests, a_slot_begins_without_room);
  tcase_add_test(tests, the_newest_is_popped_if_the_stream_used_it);
  tcase_add_test(tests, a_search_finds_the_newest_that_the_stream_used_and_keeps_the_order);
  tcase_add_test(tests, a_slot_grows_with_its_blocks_and_its_room);
  tcase_add_test(tests, without_host_memory_a_slot_stays_as_it_is);
}
