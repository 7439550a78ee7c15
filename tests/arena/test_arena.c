/* SPDX-License-Identifier: MIT */
/* The arena as an allocator: lib/arena. */
#include "arena/arena.h"
#include "core/allocator/allocator.h"
#include "support/failing_allocator.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <errno.h>
#include <stdlib.h>

enum { KIB = 1024, SEGMENT = 64 * KIB };

static clpt_device device;
static clp_allocator *arena;

/* An arena of small segments on a device that splits. */
static void start_with(const clp_arena_options *options)
{
  clp_allocator *upstream = clpt_device_allocator(&device);
  clpt_ok(clp_arena_allocator_create(upstream, options, &arena));
  clp_allocator_release(upstream);
}

static clp_arena_options small_options(void)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = 0.0;
  options.min_segment_bytes = SEGMENT;
  return options;
}

static void start(void)
{
  clp_arena_options options = small_options();
  start_with(&options);
}

static void setup(void)
{
  clpt_device_init(&device);
  device.ops.split = clpi_split_address;
  device.ops.unsplit = clpi_unsplit_address;
}

static void end(void)
{
  clp_allocator_release(arena);
  clpt_device_assert_ended(&device);
}

static clp_memory take(size_t bytes)
{
  clp_memory memory = 0;
  clpt_ok(clp_allocator_allocate(arena, bytes, &memory));
  ck_assert_uint_ne(memory, 0);
  return memory;
}

static clp_arena_stats figures(void)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clpt_ok(clp_arena_get_stats(arena, &stats));
  return stats;
}

static void give(clp_memory memory, size_t bytes)
{
  clpt_ok(clp_allocator_free(arena, memory, bytes));
}

/* --- creating --- */

START_TEST(wrong_arguments_are_refused)
{
  clp_allocator *upstream = clpt_device_allocator(&device);
  clp_allocator *out = upstream;
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;

  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_allocator_create(upstream, NULL, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_allocator_create(NULL, NULL, &out));
  ck_assert_ptr_null(out);
  static const double slacks[] = {-0.1, 1.1, 0.0 / 0.0};
  for (size_t i = 0; i < 3; i++) {
    options.slack = slacks[i];
    clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_allocator_create(upstream, &options, &out));
    clpt_message_has("slack");
  }
  options = (clp_arena_options)CLP_ARENA_OPTIONS_INIT;
  options.max_segment_bytes = options.min_segment_bytes - 1;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_allocator_create(upstream, &options, &out));
  clpt_message_has("262143 bytes");
  options.struct_size = 4;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_allocator_create(upstream, &options, &out));
  clpt_message_has("clp_arena_options");
  clp_allocator_release(upstream);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(upstream_must_split)
{
  device.ops.split = NULL;
  device.ops.unsplit = NULL;
  clp_allocator *upstream = clpt_device_allocator(&device), *out = upstream;

  clpt_fails(CLP_NOT_SUPPORTED, clp_arena_allocator_create(upstream, NULL, &out));
  clpt_message_has("test-device");
  ck_assert_ptr_null(out);
  clp_allocator_release(upstream);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(creating_survives_lack_of_host_memory)
{
  for (unsigned long nth = 0;; nth++) {
    clpt_device_init(&device);
    device.ops.split = clpi_split_address;
    device.ops.unsplit = clpi_unsplit_address;
    clp_allocator *upstream = clpt_device_allocator(&device), *out = upstream;
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    clp_status status = clp_arena_allocator_create(upstream, NULL, &out);
    clpt_host_stop();
    clp_allocator_release(out);
    clp_allocator_release(upstream);
    clpt_device_assert_ended(&device);
    if (!clpt_host_failed())
      break;
    ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
    ck_assert_ptr_null(out);
  }
}
END_TEST

START_TEST(it_is_what_upstream_is)
{
  device.ops.memory_kind = CLP_MEMORY_CL_SVM;
  device.ops.device_id = 5;
  device.ops.alignment = 512;
  device.ops.device_bytes = 1 << 20;
  device.ops.max_block_bytes = 10000;
  start();
  ck_assert_str_eq(clp_allocator_name(arena), "arena");
  ck_assert_int_eq(arena->ops.memory_kind, CLP_MEMORY_CL_SVM);
  ck_assert_int_eq(arena->ops.device_id, 5);
  ck_assert_uint_eq(arena->ops.alignment, 512);
  ck_assert_uint_eq(arena->ops.device_bytes, 1 << 20);
  ck_assert_uint_eq(arena->ops.max_block_bytes, 9728); /* a multiple of the alignment */
  ck_assert(!clpi_allocator_orders_streams(arena));
  end();
}
END_TEST

/* --- blocks --- */

START_TEST(blocks_share_a_segment)
{
  start();
  clp_memory first = take(1000), second = take(1), third = take(256);
  clpt_device_trace_is(&device, "A65536");
  ck_assert_uint_eq(second, first + 1024);
  ck_assert_uint_eq(third, first + 1280);
  clp_arena_stats stats = figures();
  ck_assert_uint_eq(stats.segments, 1);
  ck_assert_uint_eq(stats.free_segments, 0);
  ck_assert_uint_eq(stats.reserved_bytes, SEGMENT);
  ck_assert_uint_eq(stats.used_bytes, 1536);
  ck_assert_uint_eq(stats.used_blocks, 3);
  ck_assert_uint_eq(stats.free_ranges, 1);
  ck_assert_uint_eq(stats.largest_free_bytes, SEGMENT - 1536);
  ck_assert_double_eq(stats.fragmentation, 0.0);

  give(first, 1000);
  stats = figures();
  ck_assert_uint_eq(stats.free_ranges, 2);
  ck_assert_double_eq_tol(stats.fragmentation, 1024.0 / (SEGMENT - 512), 1e-9);
  ck_assert_uint_eq(take(900), first); /* the best fit */
  give(first, 900);
  give(second, 1);
  give(third, 256);
  stats = figures();
  ck_assert_uint_eq(stats.free_segments, 1);
  ck_assert_uint_eq(stats.used_blocks, 0);
  ck_assert_uint_eq(stats.largest_free_bytes, SEGMENT);
  ck_assert_uint_eq(stats.peak_used_bytes, 1536);
  end();
}
END_TEST

START_TEST(large_requests_have_segments_of_their_own)
{
  start();
  clp_memory large = take(10 * SEGMENT + 1), small = take(1);
  clpt_device_trace_is(&device, "A655616 A65536");
  give(large, 10 * SEGMENT + 1);
  give(small, 1);
  end();
}
END_TEST

/* Segments grow with use, by slack, up to the largest. */
START_TEST(slack_sets_the_size_of_segments)
{
  clp_arena_options options = small_options();
  options.slack = 0.5;
  options.max_segment_bytes = _i ? 3 * SEGMENT : 0;
  start_with(&options);
  clp_memory first = take(10 * SEGMENT), second = take(1);
  clpt_device_trace_is(&device, _i ? "A655360 A196608" : "A655360 A327680");
  give(first, 10 * SEGMENT);
  give(second, 1);
  end();
}
END_TEST

START_TEST(segments_are_planned_by_the_most_that_was_in_use)
{
  clp_arena_options options = small_options();
  options.slack = 0.5;
  start_with(&options);
  give(take(10 * SEGMENT), 10 * SEGMENT);
  clpt_ok(arena->ops.return_cached(arena->self));
  clpt_device_clear_trace(&device);
  give(take(1), 1);
  clpt_device_trace_is(&device, "A327680");
  end();
}
END_TEST

/* Before it grows, segments without blocks go back, the longest unused first, down to what slack
 * allows. */
START_TEST(unused_segments_go_before_it_grows)
{
  start();
  clp_memory blocks[3];
  for (size_t i = 0; i < 3; i++)
    blocks[i] = take((i + 1) * SEGMENT);
  give(blocks[1], 2 * SEGMENT);
  give(blocks[0], SEGMENT);
  clpt_device_clear_trace(&device);
  clp_memory next = take(4 * SEGMENT);
  clpt_device_trace_is(&device, "F131072 F65536 A262144");
  ck_assert_uint_eq(figures().peak_reserved_bytes, 7 * SEGMENT);
  ck_assert_uint_eq(figures().segments_given_back, 2);
  ck_assert_uint_eq(figures().segments_taken, 4);
  give(next, 4 * SEGMENT);
  give(blocks[2], 3 * SEGMENT);
  end();
}
END_TEST

START_TEST(an_unused_segment_that_fits_is_taken)
{
  start();
  give(take(3 * SEGMENT), 3 * SEGMENT);
  clpt_device_clear_trace(&device);
  clp_memory memory = take(3 * SEGMENT - 100);
  clpt_device_trace_is(&device, "");
  give(memory, 3 * SEGMENT - 100);
  end();
}
END_TEST

START_TEST(return_cached_gives_unused_segments_back)
{
  start();
  clp_memory kept = take(100), gone = take(2 * SEGMENT);
  give(gone, 2 * SEGMENT);
  clpt_device_clear_trace(&device);
  clpt_ok(arena->ops.return_cached(arena->self));
  clpt_device_trace_is(&device, "F131072 R");
  give(kept, 100);
  end();
}
END_TEST

START_TEST(what_is_none_of_its_blocks_is_refused)
{
  start();
  clp_memory memory = take(1000);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(arena, memory + 256, 1000));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(arena, memory, 2000));
  clpt_message_has("2000 bytes");
  give(memory, 1000);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(arena, memory, 1000));
  end();
}
END_TEST

/* So many that the table of blocks grows, freed in another order. */
START_TEST(many_blocks)
{
  enum { MANY = 5000, STEP = 1237 };
  static clp_memory blocks[MANY];
  start();
  for (size_t i = 0; i < MANY; i++)
    blocks[i] = take(1 + i % 3000);
  ck_assert_uint_eq(figures().used_blocks, MANY);
  for (size_t i = 0; i < MANY; i++) {
    size_t next = i * STEP % MANY;
    give(blocks[next], 1 + next % 3000);
  }
  ck_assert_uint_eq(figures().used_bytes, 0);
  ck_assert_uint_eq(figures().free_segments, figures().segments);
  end();
}
END_TEST

START_TEST(blocks_that_nobody_freed_go_with_the_arena)
{
  start();
  take(100);
  take(3 * SEGMENT);
  end();
}
END_TEST

/* --- limits and failures --- */

static clp_status take_within(size_t bytes, size_t most, clp_memory *out)
{
  clp_memory_request request = {.bytes = bytes, .most_bytes = most};
  return clpi_allocator_allocate_within(arena, &request, out);
}

START_TEST(without_growth_only_used_segments_do)
{
  start();
  clp_memory memory = 0, other = 0;
  ck_assert_int_eq(take_within(100, 0, &memory), CLP_OUT_OF_DEVICE_MEMORY);
  memory = take(100);
  clpt_ok(take_within(100, 0, &other));
  give(memory, 100);
  give(other, 100);
  ck_assert_int_eq(take_within(100, 0, &memory),
                   CLP_OUT_OF_DEVICE_MEMORY); /* the segment is unused now */
  clpt_device_trace_is(&device, "A65536");
  end();
}
END_TEST

START_TEST(a_limit_is_on_what_is_taken_from_the_device)
{
  start();
  clp_memory block, other, large;
  clpt_ok(take_within(100, SEGMENT - 256, &block)); /* a smaller segment, then */
  clpt_device_trace_is(&device, "A65280");
  give(block, 100);
  clpt_ok(take_within(2 * SEGMENT, 2 * SEGMENT, &large)); /* unused memory goes back */
  clpt_device_trace_is(&device, "A65280 F65280 A131072");
  clpt_fails(CLP_LIMIT_EXCEEDED, take_within(100, 2 * SEGMENT, &other));
  clpt_message_has("131072 bytes");
  clpt_ok(take_within(100, 2 * SEGMENT + 256, &other));
  ck_assert_uint_eq(figures().reserved_bytes, 2 * SEGMENT + 256);
  give(other, 100);
  give(large, 2 * SEGMENT);
  end();
}
END_TEST

/* Where the device has no memory for a whole segment, one for the request alone will do. */
START_TEST(out_of_memory_makes_smaller_segments)
{
  device.capacity = 3 * SEGMENT;
  start();
  clp_memory unused = take(2 * SEGMENT), block = take(SEGMENT), little;
  give(block, SEGMENT);
  device.capacity = 2 * SEGMENT + 1024;
  clpt_device_clear_trace(&device);
  clpt_ok(arena->ops.return_cached(arena->self));
  little = take(1000);
  clpt_device_trace_is(&device, "F65536 R A65536! A1024");
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(arena, 1000, &block));
  give(little, 1000);
  give(unused, 2 * SEGMENT);
  end();
}
END_TEST

/* Slack would let the unused segment stay, and the device has no memory but that. */
START_TEST(out_of_memory_gives_unused_segments_back)
{
  clp_arena_options options = small_options();
  options.slack = 1.0;
  device.capacity = 3 * SEGMENT;
  start_with(&options);
  give(take(100), 100);
  clpt_device_clear_trace(&device);
  clp_memory block = take(5 * SEGMENT / 2);
  clpt_device_trace_is(&device, "A163840! F65536 A163840");
  give(block, 5 * SEGMENT / 2);
  end();
}
END_TEST

START_TEST(other_failures_pass_and_change_nothing)
{
  start();
  clp_memory kept = take(100), memory = 7;
  clp_arena_stats before = figures(), after;
  device.allocate_fault = (clpt_fault){
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "as bad as it gets"};
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(arena, 2 * SEGMENT, &memory));
  clpt_message_has("as bad as it gets");
  ck_assert_uint_eq(memory, 0);
  after = figures();
  ck_assert_int_eq(memcmp(&before, &after, sizeof(after)), 0);
  give(kept, 100);
  end();
}
END_TEST

/* What the device does not take back stays the arena's. */
START_TEST(a_segment_that_cannot_go_stays)
{
  start();
  give(take(100), 100);
  device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, arena->ops.return_cached(arena->self));
  ck_assert_uint_eq(figures().segments, 1);
  ck_assert_uint_eq(figures().segments_given_back, 0);
  clpt_device_clear_trace(&device);
  give(take(100), 100);
  clpt_device_trace_is(&device, "");
  clpt_ok(arena->ops.return_cached(arena->self));
  ck_assert_uint_eq(figures().segments, 0);
  end();
}
END_TEST

/* Those of an allocator whose parts are no addresses: the first part is fine. */
static clp_status split_first(void *self, clp_memory block, size_t offset, size_t bytes,
                              clp_memory *part)
{
  return offset == 0 ? clpi_split_address(self, block, offset, bytes, part)
                     : clp_set_last_error(CLP_BACKEND_ERROR, -13, "misaligned");
}

static bool unsplit_fails;

static clp_status unsplit_or_fail(void *self, clp_memory part, size_t bytes)
{
  return unsplit_fails ? CLP_BACKEND_ERROR : clpi_unsplit_address(self, part, bytes);
}

START_TEST(a_failed_split_loses_nothing)
{
  device.ops.split = split_first;
  device.ops.unsplit = unsplit_or_fail;
  start();
  clp_memory kept = take(100), memory;
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(arena, 100, &memory));
  clpt_message_has("misaligned");
  ck_assert_uint_eq(figures().used_blocks, 1);
  ck_assert_uint_eq(figures().free_ranges, 1);
  unsplit_fails = true;
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_free(arena, kept, 100));
  ck_assert_uint_eq(figures().used_blocks, 1);
  unsplit_fails = false;
  give(kept, 100);
  end();
}
END_TEST

START_TEST(lack_of_host_memory_loses_nothing)
{
  start();
  clp_memory memory = 0;
  for (unsigned long nth = 0;; nth++) {
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    clp_status status = clp_allocator_allocate(arena, 2 * SEGMENT, &memory);
    clpt_host_stop();
    if (!status) {
      give(memory, 2 * SEGMENT);
      clpt_ok(arena->ops.return_cached(arena->self));
    }
    ck_assert_uint_eq(figures().segments, 0);
    if (!clpt_host_failed())
      break;
    ck_assert(status == CLP_OUT_OF_HOST_MEMORY || status == CLP_SUCCESS);
  }
  end();
}
END_TEST

/* --- figures --- */

START_TEST(figures_of_what_is_no_arena)
{
  clp_allocator *host;
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;

  clpt_ok(clp_host_allocator_create(0, &host));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_get_stats(NULL, &stats));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_get_stats(host, &stats));
  clpt_message_has("host is no arena");
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_dump(NULL, stdout));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_dump(host, stdout));
  clp_allocator_release(host);
  start();
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_get_stats(arena, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_dump(arena, NULL));
  stats.struct_size = 3;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_get_stats(arena, &stats));
  end();
}
END_TEST

START_TEST(the_dump)
{
  char *text = NULL;
  size_t bytes;
  FILE *file = open_memstream(&text, &bytes);

  start();
  clp_memory first = take(1000), second = take(1);
  give(first, 1000);
  clpt_ok(clp_arena_dump(arena, file));
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_str_eq(text, "{\"segments\": 1, \"free_segments\": 0, \"reserved_bytes\": 65536, "
                         "\"used_bytes\": 256, \"used_blocks\": 1, \"free_ranges\": 2, "
                         "\"largest_free_bytes\": 64256, \"fragmentation\": 0.015686, "
                         "\"peak_reserved_bytes\": 65536, \"peak_used_bytes\": 1280, "
                         "\"segments_taken\": 1, \"segments_given_back\": 0,\n\"map\": [\n"
                         "{\"bytes\": 65536, \"used_bytes\": 256, \"ranges\": [\n"
                         "  {\"offset\": 0, \"bytes\": 1024, \"used\": false},\n"
                         "  {\"offset\": 1024, \"bytes\": 256, \"used\": true},\n"
                         "  {\"offset\": 1280, \"bytes\": 64256, \"used\": false}]}]}\n");
  free(text);
  give(second, 1);
  end();
}
END_TEST

START_TEST(a_dump_to_a_full_disk)
{
  FILE *full = fopen("/dev/full", "w");

  ck_assert_ptr_nonnull(full);
  start();
  clpt_fails(CLP_IO_ERROR, clp_arena_dump(arena, full));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  fclose(full);
  end();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("arena");
  TCase *creating = clpt_case(suite, "creating");
  TCase *blocks = clpt_case(suite, "blocks");
  TCase *failures = clpt_case(suite, "limits and failures");
  TCase *figures_case = clpt_case(suite, "figures");

  tcase_add_checked_fixture(creating, setup, NULL);
  tcase_add_test(creating, wrong_arguments_are_refused);
  tcase_add_test(creating, upstream_must_split);
  tcase_add_test(creating, creating_survives_lack_of_host_memory);
  tcase_add_test(creating, it_is_what_upstream_is);
  tcase_add_checked_fixture(blocks, setup, NULL);
  tcase_add_test(blocks, blocks_share_a_segment);
  tcase_add_test(blocks, large_requests_have_segments_of_their_own);
  tcase_add_loop_test(blocks, slack_sets_the_size_of_segments, 0, 2);
  tcase_add_test(blocks, segments_are_planned_by_the_most_that_was_in_use);
  tcase_add_test(blocks, unused_segments_go_before_it_grows);
  tcase_add_test(blocks, an_unused_segment_that_fits_is_taken);
  tcase_add_test(blocks, return_cached_gives_unused_segments_back);
  tcase_add_test(blocks, what_is_none_of_its_blocks_is_refused);
  tcase_add_test(blocks, many_blocks);
  tcase_add_test(blocks, blocks_that_nobody_freed_go_with_the_arena);
  tcase_add_checked_fixture(failures, setup, NULL);
  tcase_add_test(failures, without_growth_only_used_segments_do);
  tcase_add_test(failures, a_limit_is_on_what_is_taken_from_the_device);
  tcase_add_test(failures, out_of_memory_makes_smaller_segments);
  tcase_add_test(failures, out_of_memory_gives_unused_segments_back);
  tcase_add_test(failures, other_failures_pass_and_change_nothing);
  tcase_add_test(failures, a_segment_that_cannot_go_stays);
  tcase_add_test(failures, a_failed_split_loses_nothing);
  tcase_add_test(failures, lack_of_host_memory_loses_nothing);
  tcase_add_checked_fixture(figures_case, setup, NULL);
  tcase_add_test(figures_case, figures_of_what_is_no_arena);
  tcase_add_test(figures_case, the_dump);
  tcase_add_test(figures_case, a_dump_to_a_full_disk);
  return clpt_run(suite);
}
