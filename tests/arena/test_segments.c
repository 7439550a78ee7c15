/* SPDX-License-Identifier: MIT */
/* Segments against the model: lib/arena/segments.c and free_ranges.c. And what the model does not
 * have: uses of ranges, and host memory that runs out. */
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/range_model.h"
#include "support/suite.h"

#include <stdlib.h>

enum { RUNS = 8, STEPS = 40000 };

START_TEST(segments_are_as_the_model_says)
{
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  unsigned steps = clpt_iterations(STEPS);
  clpt_ranges ranges;

  clpt_ranges_start(&ranges);
  for (unsigned i = 0; i < steps; i++) {
    uint64_t random = clpt_chance_next(&chance);
    const char *wrong = clpt_ranges_step(&ranges, (uint8_t)(random >> 16), (uint8_t)(random >> 32));
    ck_assert_msg(!wrong, "step %u: %s", i, wrong);
  }
  clpt_ranges_end(&ranges);
}
END_TEST

/* --- uses --- */

static clpi_stream streams[3];
static clpi_segments segments;

static clpi_use_set *used_by(size_t stream, uint64_t epoch)
{
  clpi_use_set *set = clpi_use_set_create((clpi_use){&streams[stream], epoch});
  ck_assert_ptr_nonnull(set);
  return set;
}

static void setup(void)
{
  for (size_t i = 0; i < 3; i++)
    streams[i] = (clpi_stream){.is_ordered = true, .is_in_order = true, .done = 1};
  clpi_segments_init(&segments);
}

static void teardown(void)
{
  clpi_segments_end(&segments);
}

/* A segment of three blocks of 256 bytes. */
static clpi_segment *three_blocks(clpi_range *blocks[3])
{
  clpi_segment *segment = clpi_segment_create();
  clpi_segments_add(&segments, segment, 1, 768, NULL);
  clpi_range *range = segment->first;
  for (size_t i = 0; i < 3; i++) {
    ck_assert(clpi_segments_reserve(&segments, 1));
    blocks[i] = clpi_segments_carve(&segments, range, 256);
  }
  return segment;
}

/* One use a stream, the youngest of each; what is done is left out. */
START_TEST(neighbours_that_join_have_the_uses_of_both)
{
  clpi_range *blocks[3];
  clpi_segment *segment = three_blocks(blocks);

  blocks[0]->uses = used_by(0, 5);
  blocks[1]->uses = used_by(1, 3);
  blocks[2]->uses = used_by(0, 7);
  clpi_segments_free(&segments, blocks[0]);
  clpi_segments_free(&segments, blocks[2]);
  clpi_segments_free(&segments, blocks[1]);
  const clpi_use_set *set = segment->first->uses;
  ck_assert_uint_eq(segment->first->size.bytes, 768);
  ck_assert_uint_eq(set->count, 2);
  for (size_t i = 0; i < 2; i++)
    ck_assert_uint_eq(set->uses[i].epoch, set->uses[i].stream == &streams[0] ? 7 : 3);
  clpi_segment_destroy(segment);
}
END_TEST

START_TEST(uses_that_are_done_do_not_join)
{
  clpi_range *blocks[3];
  clpi_segment *segment = three_blocks(blocks);

  streams[0].done = 6;
  for (size_t i = 0; i < 3; i++)
    blocks[i]->uses = used_by(i, 5);
  for (size_t i = 0; i < 3; i++)
    clpi_segments_free(&segments, blocks[i]);
  ck_assert_uint_eq(segment->first->uses->count, 2);
  clpi_segment_destroy(segment);
}
END_TEST

/* What is left of a range has the same uses, which the block may lose. */
START_TEST(both_parts_of_a_range_have_its_uses)
{
  clpi_segment *segment = clpi_segment_create();

  clpi_segments_add(&segments, segment, 1, 768, used_by(2, 4));
  clpi_segments_carve(&segments, segment->first, 256);
  const clpi_range *rest = segment->first->after;
  ck_assert_ptr_eq(rest->uses, segment->first->uses);
  ck_assert_uint_eq(rest->uses->references, 2);
  clpi_use_set_release(segment->first->uses);
  segment->first->uses = NULL;
  ck_assert(!clpi_use_set_is_settled(rest->uses, &streams[0]));
  ck_assert(clpi_use_set_is_settled(rest->uses, &streams[2]));
  clpi_segments_free(&segments, segment->first);
  ck_assert_uint_eq(segment->first->uses->count, 1);
  clpi_segment_destroy(segment);
}
END_TEST

/* However many segments came and went, what their ranges were made of does not pile up. */
START_TEST(spare_ranges_do_not_pile_up)
{
  size_t spares = 0;

  for (size_t i = 0; i < 100; i++) {
    clpi_segment *segment = clpi_segment_create();
    clpi_segments_add(&segments, segment, 1, 768, NULL);
    clpi_segments_remove(&segments, segment);
    clpi_list_remove(&segment->on_all);
    clpi_segment_destroy(segment);
  }
  for (const clpi_range *spare = segments.spares; spare; spare = spare->after)
    spares++;
  ck_assert_uint_le(spares, 1);
}
END_TEST

static unsigned depth_of(const clpi_free_range *range)
{
  unsigned lower = range ? depth_of(range->lower) : 0, higher = range ? depth_of(range->higher) : 0;
  return range ? 1 + (lower > higher ? lower : higher) : 0;
}

/* A block that comes again a little smaller each time, with a small one after it that stays: each
 * time it begins where it began before. */
START_TEST(the_tree_stays_flat)
{
  enum { MANY = 4000, MOST_DEPTH = 48 };
  clpi_segment *segment = clpi_segment_create();

  clpi_segments_add(&segments, segment, 1, 4 * MANY, NULL);
  for (size_t i = 0; i < MANY; i++) {
    ck_assert(clpi_segments_reserve(&segments, 1));
    clpi_range *large = clpi_segments_carve(&segments, segment->first, 4 * MANY - 2 * i - 2);
    ck_assert(clpi_segments_reserve(&segments, 1));
    (void)clpi_segments_carve(&segments, large->after, 1);
    clpi_segments_free(&segments, large);
  }
  ck_assert_uint_ge(segments.partial.count, MANY);
  ck_assert_uint_le(depth_of(segments.partial.root), MOST_DEPTH);
  clpi_segment_destroy(segment);
}
END_TEST

/* Then they stay two, each with its own. */
START_TEST(without_host_memory_neighbours_do_not_join)
{
  clpi_range *blocks[3];
  clpi_segment *segment = three_blocks(blocks);

  for (size_t i = 0; i < 3; i++)
    blocks[i]->uses = used_by(i, 5);
  clpi_segments_free(&segments, blocks[0]);
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clpi_segments_free(&segments, blocks[1]);
  clpt_host_stop();
  ck_assert_uint_eq(segments.partial.count, 2);
  ck_assert_ptr_eq(segment->first->uses->uses[0].stream, &streams[0]);
  ck_assert_ptr_eq(segment->first->after->uses->uses[0].stream, &streams[1]);
  clpi_segments_free(&segments, blocks[2]);
  ck_assert_uint_eq(segments.partial.count, 2);
  ck_assert_uint_eq(segments.partial.bytes, 768);
  clpi_segment_destroy(segment);
}
END_TEST

CLPT_MAIN("segments", clpt_run)
{
  TCase *model = clpt_case(suite, "model");
  TCase *uses = clpt_case(suite, "uses");

  tcase_add_loop_test(model, segments_are_as_the_model_says, 0, RUNS);
  tcase_add_checked_fixture(uses, setup, teardown);
  tcase_add_test(uses, neighbours_that_join_have_the_uses_of_both);
  tcase_add_test(uses, uses_that_are_done_do_not_join);
  tcase_add_test(uses, both_parts_of_a_range_have_its_uses);
  tcase_add_test(uses, spare_ranges_do_not_pile_up);
  tcase_add_test(uses, the_tree_stays_flat);
  tcase_add_test(uses, without_host_memory_neighbours_do_not_join);
}
