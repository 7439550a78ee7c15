/* SPDX-License-Identifier: MIT */
/* When an arena grows and by how much, what goes back, and where it does not fit. */
#include "arena/arena.h"
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/chance.h"
#include "support/suite.h"

static void start_with_slack(double slack)
{
  clp_arena_options options = clpt_arena_small();
  options.slack = slack;
  clpt_arena_start_with(&options);
}

/* Segments grow with use, by slack, up to the largest. */
START_TEST(slack_sets_the_size_of_segments)
{
  clp_arena_options options = clpt_arena_small();
  options.slack = 0.5;
  options.max_segment_bytes = _i ? 3 * CLPT_SEGMENT : 0;
  clpt_arena_start_with(&options);
  clp_memory first = clpt_arena_take(10 * CLPT_SEGMENT), second = clpt_arena_take(1);
  clpt_device_trace_is(&clpt_arena_device, _i ? "A655360 A196608" : "A655360 A327680");
  clpt_arena_give(first, 10 * CLPT_SEGMENT);
  clpt_arena_give(second, 1);
  clpt_arena_end();
}
END_TEST

START_TEST(segments_are_planned_by_the_most_that_was_in_use)
{
  start_with_slack(0.5);
  clpt_arena_give(clpt_arena_take(10 * CLPT_SEGMENT), 10 * CLPT_SEGMENT);
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  clpt_device_clear_trace(&clpt_arena_device);
  clpt_arena_give(clpt_arena_take(1), 1);
  clpt_device_trace_is(&clpt_arena_device, "A327680");
  clpt_arena_end();
}
END_TEST

/* Before it grows, segments without blocks go back, the largest first, down to what slack
 * allows. */
START_TEST(unused_segments_go_before_it_grows)
{
  clpt_arena_start();
  clp_memory blocks[3];
  for (size_t i = 0; i < 3; i++)
    blocks[i] = clpt_arena_take((i + 1) * CLPT_SEGMENT);
  clpt_arena_give(blocks[0], CLPT_SEGMENT);
  clpt_arena_give(blocks[1], 2 * CLPT_SEGMENT);
  clpt_device_clear_trace(&clpt_arena_device);
  clp_memory next = clpt_arena_take(4 * CLPT_SEGMENT);
  clpt_device_trace_is(&clpt_arena_device, "F131072 F65536 A262144");
  ck_assert_uint_eq(clpt_arena_figures().peak_reserved_bytes, 7 * CLPT_SEGMENT);
  ck_assert_uint_eq(clpt_arena_figures().segments_given_back, 2);
  ck_assert_uint_eq(clpt_arena_figures().segments_taken, 4);
  clpt_arena_give(next, 4 * CLPT_SEGMENT);
  clpt_arena_give(blocks[2], 3 * CLPT_SEGMENT);
  clpt_arena_end();
}
END_TEST

START_TEST(an_unused_segment_that_fits_is_taken)
{
  clpt_arena_start();
  clpt_arena_give(clpt_arena_take(3 * CLPT_SEGMENT), 3 * CLPT_SEGMENT);
  clpt_device_clear_trace(&clpt_arena_device);
  clp_memory memory = clpt_arena_take(3 * CLPT_SEGMENT - 100);
  clpt_device_trace_is(&clpt_arena_device, "");
  clpt_arena_give(memory, 3 * CLPT_SEGMENT - 100);
  clpt_arena_end();
}
END_TEST

/* A small block would keep all of it from going back. */
START_TEST(a_much_larger_unused_segment_is_not_cut)
{
  clpt_arena_start();
  clpt_arena_give(clpt_arena_take(3 * CLPT_SEGMENT), 3 * CLPT_SEGMENT);
  clpt_device_clear_trace(&clpt_arena_device);
  clp_memory memory = clpt_arena_take(100);
  clpt_device_trace_is(&clpt_arena_device, "F196608 A65536");
  clpt_arena_give(memory, 100);
  clpt_arena_end();
}
END_TEST

/* Takes and gives ever larger blocks, while far less is in use without them than with them, or not.
 * Returns how many segments that took. */
static uint64_t take_larger_ones(size_t count, size_t least)
{
  uint64_t before = clpt_arena_figures().segments_taken;
  for (size_t i = 0; i < count; i++)
    clpt_arena_give(clpt_arena_take(least + 256 * i), least + 256 * i);
  return clpt_arena_figures().segments_taken - before;
}

/* Calls of the device do not go on for ever, but for those that bins would make, too: more blocks
 * are alive than ever. */
START_TEST(calls_are_earned)
{
  enum { KEPT = 16 * CLPT_SEGMENT, MANY = 64 };
  clp_memory many[MANY];

  start_with_slack(0.01);
  clp_memory kept = clpt_arena_take(KEPT);
  ck_assert_uint_le(take_larger_ones(300, 2 * CLPT_SEGMENT), 64);
  ck_assert_uint_le(take_larger_ones(10, 4 * CLPT_SEGMENT), 2);
  for (size_t i = 0; i < MANY; i++)
    many[i] = clpt_arena_take(100);
  ck_assert_uint_ge(take_larger_ones(20, 6 * CLPT_SEGMENT), 20);
  for (size_t i = 0; i < MANY; i++)
    clpt_arena_give(many[i], 100);
  clpt_arena_give(kept, KEPT);
  clpt_arena_end();
}
END_TEST

/* Makes so many calls, while 64 others are earned. */
static void make_calls(size_t calls)
{
  enum { EARNED = 64 };
  clp_memory many[EARNED];

  for (size_t i = 0; i < EARNED; i++)
    many[i] = clpt_arena_take(100);
  for (size_t i = 0; i < calls; i++) {
    clpt_arena_give(clpt_arena_take(CLPT_SEGMENT), CLPT_SEGMENT);
    clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  }
  for (size_t i = 0; i < EARNED; i++)
    clpt_arena_give(many[i], 100);
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  clpt_device_clear_trace(&clpt_arena_device);
}

/* An unused segment is cut if it is one slack larger than the request; where more than half of the
 * calls that were earned are made, up to nine. */
START_TEST(the_fewer_calls_are_left_the_larger_a_segment_is_cut)
{
  enum { UNUSED = 40 * CLPT_SEGMENT };
  static const struct {
    size_t calls, request;
    const char *trace;
  } cases[] = {
      {20, 39, ""}, {20, 37, "F2621440 A2424832"}, {100, 34, ""}, {100, 20, "F2621440 A1310720"}};
  size_t request = cases[_i].request * CLPT_SEGMENT;

  start_with_slack(0.05);
  make_calls(cases[_i].calls);
  clpt_arena_give(clpt_arena_take(UNUSED), UNUSED);
  clpt_device_clear_trace(&clpt_arena_device);
  clpt_arena_give(clpt_arena_take(request), request);
  clpt_device_trace_is(&clpt_arena_device, cases[_i].trace);
  clpt_arena_end();
}
END_TEST

/* Robson's program: sizes double, and every other block stays, so that none of the next size fits
 * where the others were. Where much is free there, segments are small. */
START_TEST(blocks_that_stay_pin_no_more_than_a_few_times_the_use)
{
  enum { MOST = 4096, UNIT = 256 };
  static clp_memory blocks[MOST];
  static size_t sizes[MOST];
  clp_arena_options options = clpt_arena_small();
  size_t count = 0;

  options.slack = 0.05;
  options.min_segment_bytes = 0;
  clpt_arena_start_with(&options);
  for (size_t size = UNIT; size <= MOST / 8 * UNIT; size *= 2) {
    while (clpt_arena_figures().used_bytes + size <= (size_t)MOST * UNIT) {
      sizes[count] = size;
      blocks[count++] = clpt_arena_take(size);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
      if (i % 2) {
        sizes[kept] = sizes[i];
        blocks[kept++] = blocks[i];
      } else {
        clpt_arena_give(blocks[i], sizes[i]);
      }
    count = kept;
  }
  ck_assert_uint_le(clpt_arena_figures().peak_reserved_bytes, 3 * (size_t)MOST * UNIT);
  while (count--)
    clpt_arena_give(blocks[count], sizes[count]);
  clpt_arena_end();
}
END_TEST

/* Nor where each request is larger than all that is there: one segment then takes the place of all
 * that are unused, with room for more. */
START_TEST(calls_stop_though_requests_grow)
{
  start_with_slack(0.25);
  for (size_t i = 0; i < 300; i++)
    clpt_arena_give(clpt_arena_take(8 * CLPT_SEGMENT + 256 * i), 8 * CLPT_SEGMENT + 256 * i);
  ck_assert_uint_le(clpt_arena_figures().segments_taken, 64 + 8);
  ck_assert_uint_le(clpt_arena_figures().peak_reserved_bytes, 12 * CLPT_SEGMENT);
  clpt_arena_end();
}
END_TEST

/* A program of blocks as large as those of bins of 6 leading bits: a few large ones, which go soon,
 * and many that stay long and pin what is around them. */
enum { LARGE = 8, LIVE = 512 };

typedef struct program {
  clpt_chance chance;
  size_t bytes[LIVE];
  clp_memory blocks[LIVE];
  uint32_t live[CLPI_BUDGET_BINS], most[CLPI_BUDGET_BINS];
  uint64_t calls; /* as many blocks as there ever were in each bin: what bins would take */
} program;

static void give(program *it, size_t at)
{
  if (it->bytes[at] == 0)
    return;
  it->live[clpi_bin_number(CLPI_BUDGET_BITS, it->bytes[at])]--;
  clpt_arena_give(it->blocks[at], it->bytes[at]);
  it->bytes[at] = 0;
}

static void take(program *it, size_t at, unsigned least_log, unsigned logs)
{
  size_t power = (size_t)1 << (least_log + clpt_chance_below(&it->chance, logs));
  size_t size = power + clpt_chance_below(&it->chance, power);
  size_t bytes = clpi_bin_size(6, clpi_bin_number(6, size));
  size_t bin = clpi_bin_number(CLPI_BUDGET_BITS, bytes);
  give(it, at);
  it->bytes[at] = bytes;
  it->blocks[at] = clpt_arena_take(bytes);
  bool is_more = ++it->live[bin] > it->most[bin];
  it->most[bin] += is_more;
  it->calls += is_more;
}

static void run_pass(program *it, unsigned seed)
{
  enum { STEPS = 3000 };
  it->chance = clpt_chance_seed(seed);
  for (size_t step = 0; step < STEPS; step++) {
    take(it, clpt_chance_below(&it->chance, LARGE), 17, 5);
    take(it, LARGE + clpt_chance_below(&it->chance, LIVE - LARGE), 14, 3);
  }
  for (size_t at = 0; at < LIVE; at++)
    give(it, at);
}

START_TEST(calls_are_no_more_than_those_of_bins)
{
  static program it;
  clp_arena_options options = clpt_arena_small();
  clp_allocator *device;
  it = (program){.calls = 0};
  options.slack = 0.016;
  clpt_ok(clp_simulated_allocator_create(0, &device));
  clpt_ok(clp_arena_allocator_create(device, &options, &clpt_arena));
  for (int pass = 0; pass < 20; pass++)
    run_pass(&it, (unsigned)_i);
  ck_assert_uint_le(clpt_arena_figures().segments_taken, it.calls + 64);
  clp_allocator_release(clpt_arena);
  clp_allocator_release(device);
}
END_TEST

START_TEST(return_cached_gives_unused_segments_back)
{
  clpt_arena_start();
  clp_memory kept = clpt_arena_take(100), gone = clpt_arena_take(2 * CLPT_SEGMENT);
  clpt_arena_give(gone, 2 * CLPT_SEGMENT);
  clpt_device_clear_trace(&clpt_arena_device);
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  clpt_device_trace_is(&clpt_arena_device, "F131072 R");
  clpt_arena_give(kept, 100);
  clpt_arena_end();
}
END_TEST

static clp_status take_within(size_t bytes, size_t most, clp_memory *out)
{
  clp_memory_request request = {.bytes = bytes, .most_bytes = most};
  return clpi_allocator_allocate_within(clpt_arena, &request, out);
}

START_TEST(without_growth_only_used_segments_do)
{
  clpt_arena_start();
  clp_memory memory = 0, other = 0;
  ck_assert_int_eq(take_within(100, 0, &memory), CLP_OUT_OF_DEVICE_MEMORY);
  memory = clpt_arena_take(100);
  clpt_ok(take_within(100, 0, &other));
  clpt_arena_give(memory, 100);
  clpt_arena_give(other, 100);
  ck_assert_int_eq(take_within(200, 0, &memory),
                   CLP_OUT_OF_DEVICE_MEMORY); /* the segment is unused now */
  clpt_device_trace_is(&clpt_arena_device, "A65536");
  clpt_arena_end();
}
END_TEST

START_TEST(a_limit_is_on_what_is_taken_from_the_device)
{
  clpt_arena_start();
  clp_memory block, other, large;
  clpt_ok(take_within(100, CLPT_SEGMENT - 256, &block)); /* a smaller segment, then */
  clpt_device_trace_is(&clpt_arena_device, "A65280");
  clpt_arena_give(block, 100);
  clpt_ok(take_within(2 * CLPT_SEGMENT, 2 * CLPT_SEGMENT, &large)); /* unused memory goes back */
  clpt_device_trace_is(&clpt_arena_device, "A65280 F65280 A131072");
  clpt_fails(CLP_LIMIT_EXCEEDED, take_within(100, 2 * CLPT_SEGMENT, &other));
  clpt_message_has("131072 bytes");
  clpt_ok(take_within(100, 2 * CLPT_SEGMENT + 256, &other));
  ck_assert_uint_eq(clpt_arena_figures().reserved_bytes, 2 * CLPT_SEGMENT + 256);
  clpt_arena_give(other, 100);
  clpt_arena_give(large, 2 * CLPT_SEGMENT);
  clpt_arena_end();
}
END_TEST

/* Where the device has no memory for a whole segment, one for the request alone will do. */
START_TEST(out_of_memory_makes_smaller_segments)
{
  clpt_arena_device.capacity = 3 * CLPT_SEGMENT;
  clpt_arena_start();
  clp_memory unused = clpt_arena_take(2 * CLPT_SEGMENT), block = clpt_arena_take(CLPT_SEGMENT),
             little;
  clpt_arena_give(block, CLPT_SEGMENT);
  clpt_arena_device.capacity = 2 * CLPT_SEGMENT + 1024;
  clpt_device_clear_trace(&clpt_arena_device);
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  little = clpt_arena_take(1000);
  clpt_device_trace_is(&clpt_arena_device, "F65536 R A65536! A1024");
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(clpt_arena, 1000, &block));
  clpt_arena_give(little, 1000);
  clpt_arena_give(unused, 2 * CLPT_SEGMENT);
  clpt_arena_end();
}
END_TEST

/* Slack would let the unused segment stay, and the device has no memory but that. */
START_TEST(out_of_memory_gives_unused_segments_back)
{
  clp_arena_options options = clpt_arena_small();
  options.slack = 1.0;
  clpt_arena_device.capacity = 3 * CLPT_SEGMENT;
  clpt_arena_start_with(&options);
  clpt_arena_give(clpt_arena_take(100), 100);
  clpt_device_clear_trace(&clpt_arena_device);
  clp_memory block = clpt_arena_take(5 * CLPT_SEGMENT / 2);
  clpt_device_trace_is(&clpt_arena_device, "A163840! F65536 A163840");
  clpt_arena_give(block, 5 * CLPT_SEGMENT / 2);
  clpt_arena_end();
}
END_TEST

/* What the device does not take back stays the arena's. */
START_TEST(a_segment_that_cannot_go_stays)
{
  clpt_arena_start();
  clpt_arena_give(clpt_arena_take(100), 100);
  clpt_arena_device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clpt_arena->ops.return_cached(clpt_arena->self));
  ck_assert_uint_eq(clpt_arena_figures().segments, 1);
  ck_assert_uint_eq(clpt_arena_figures().segments_given_back, 0);
  clpt_device_clear_trace(&clpt_arena_device);
  clpt_arena_give(clpt_arena_take(100), 100);
  clpt_device_trace_is(&clpt_arena_device, "");
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  ck_assert_uint_eq(clpt_arena_figures().segments, 0);
  clpt_arena_end();
}
END_TEST

CLPT_MAIN("arena growth", clpt_run)
{
  TCase *tests = clpt_case(suite, "growth");

  tcase_add_checked_fixture(tests, clpt_arena_setup, NULL);
  tcase_add_loop_test(tests, slack_sets_the_size_of_segments, 0, 2);
  tcase_add_test(tests, segments_are_planned_by_the_most_that_was_in_use);
  tcase_add_test(tests, unused_segments_go_before_it_grows);
  tcase_add_test(tests, an_unused_segment_that_fits_is_taken);
  tcase_add_test(tests, a_much_larger_unused_segment_is_not_cut);
  tcase_add_test(tests, calls_are_earned);
  tcase_add_loop_test(tests, the_fewer_calls_are_left_the_larger_a_segment_is_cut, 0, 4);
  tcase_add_test(tests, blocks_that_stay_pin_no_more_than_a_few_times_the_use);
  tcase_add_test(tests, calls_stop_though_requests_grow);
  tcase_add_loop_test(tests, calls_are_no_more_than_those_of_bins, 0, 8);
  tcase_add_test(tests, return_cached_gives_unused_segments_back);
  tcase_add_test(tests, without_growth_only_used_segments_do);
  tcase_add_test(tests, a_limit_is_on_what_is_taken_from_the_device);
  tcase_add_test(tests, out_of_memory_makes_smaller_segments);
  tcase_add_test(tests, out_of_memory_gives_unused_segments_back);
  tcase_add_test(tests, a_segment_that_cannot_go_stays);
}
