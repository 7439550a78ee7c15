/* SPDX-License-Identifier: MIT */
/* The arena as an allocator: lib/arena. */
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/suite.h"

#include <errno.h>

START_TEST(it_is_what_upstream_is)
{
  clpt_arena_device.ops.memory_kind = CLP_MEMORY_CL_SVM;
  clpt_arena_device.ops.device_id = 5;
  clpt_arena_device.ops.alignment = 512;
  clpt_arena_device.ops.device_bytes = 1 << 20;
  clpt_arena_device.ops.max_block_bytes = 10000;
  clpt_arena_start();
  ck_assert_str_eq(clp_allocator_name(clpt_arena), "arena");
  ck_assert_int_eq(clpt_arena->ops.memory_kind, CLP_MEMORY_CL_SVM);
  ck_assert_int_eq(clpt_arena->ops.device_id, 5);
  ck_assert_uint_eq(clpt_arena->ops.alignment, 512);
  ck_assert_uint_eq(clpt_arena->ops.device_bytes, 1 << 20);
  ck_assert_uint_eq(clpt_arena->ops.max_block_bytes, 9728); /* a multiple of the alignment */
  ck_assert(!clpi_allocator_orders_streams(clpt_arena));
  clpt_arena_end();
}
END_TEST

START_TEST(blocks_share_a_segment)
{
  clpt_arena_start();
  clp_memory first = clpt_arena_take(1000), second = clpt_arena_take(1),
             third = clpt_arena_take(256);
  clpt_device_trace_is(&clpt_arena_device, "A65536");
  ck_assert_uint_eq(second, first + 1024);
  ck_assert_uint_eq(third, first + 1280);
  clp_arena_stats stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.segments, 1);
  ck_assert_uint_eq(stats.free_segments, 0);
  ck_assert_uint_eq(stats.reserved_bytes, CLPT_SEGMENT);
  ck_assert_uint_eq(stats.used_bytes, 1536);
  ck_assert_uint_eq(stats.used_blocks, 3);
  ck_assert_uint_eq(stats.free_ranges, 1);
  ck_assert_uint_eq(stats.largest_free_bytes, CLPT_SEGMENT - 1536);
  ck_assert_double_eq(stats.fragmentation, 0.0);

  clpt_arena_give(first, 1000);
  stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.free_ranges, 2);
  ck_assert_double_eq_tol(stats.fragmentation, 1024.0 / (CLPT_SEGMENT - 512), 1e-9);
  ck_assert_uint_eq(clpt_arena_take(900), first); /* the first that fits */
  clpt_arena_give(first, 900);
  clpt_arena_give(second, 1);
  clpt_arena_give(third, 256);
  stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.free_segments, 1);
  ck_assert_uint_eq(stats.used_blocks, 0);
  ck_assert_uint_eq(stats.largest_free_bytes, CLPT_SEGMENT);
  ck_assert_uint_eq(stats.peak_used_bytes, 1536);
  clpt_arena_end();
}
END_TEST

START_TEST(large_requests_have_segments_of_their_own)
{
  clpt_arena_start();
  clp_memory large = clpt_arena_take(10 * CLPT_SEGMENT + 1), small = clpt_arena_take(1);
  clpt_device_trace_is(&clpt_arena_device, "A655616 A65536");
  clpt_arena_give(large, 10 * CLPT_SEGMENT + 1);
  clp_arena_stats stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.largest_free_bytes, 655616); /* a segment without blocks counts, too */
  ck_assert_double_eq_tol(stats.fragmentation, 65280.0 / (655616 + 65280), 1e-9);
  clpt_arena_give(small, 1);
  clpt_arena_end();
}
END_TEST

START_TEST(blocks_that_nobody_freed_go_with_the_arena)
{
  clpt_arena_start();
  clpt_arena_take(100);
  clpt_arena_take(3 * CLPT_SEGMENT);
  clpt_arena_end();
}
END_TEST

START_TEST(other_failures_pass_and_change_nothing)
{
  clpt_arena_start();
  clp_memory kept = clpt_arena_take(100), memory = 7;
  clp_arena_stats before = clpt_arena_figures(), after;
  clpt_arena_device.allocate_fault = (clpt_fault){
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "as bad as it gets"};
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(clpt_arena, 2 * CLPT_SEGMENT, &memory));
  clpt_message_has("as bad as it gets");
  ck_assert_uint_eq(memory, 0);
  after = clpt_arena_figures();
  ck_assert_int_eq(memcmp(&before, &after, sizeof(after)), 0);
  clpt_arena_give(kept, 100);
  clpt_arena_end();
}
END_TEST

START_TEST(the_dump)
{
  char *text = NULL;
  size_t bytes;
  FILE *file = open_memstream(&text, &bytes);

  clpt_arena_start();
  clp_memory first = clpt_arena_take(1000), second = clpt_arena_take(1);
  clpt_arena_give(first, 1000);
  clpt_ok(clp_arena_dump(clpt_arena, file));
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_str_eq(text, "{\"segments\": 1, \"free_segments\": 0, \"reserved_bytes\": 65536, "
                         "\"used_bytes\": 256, \"used_blocks\": 1, \"free_ranges\": 2, "
                         "\"largest_free_bytes\": 64256, \"fragmentation\": 0.015686, "
                         "\"peak_reserved_bytes\": 65536, \"peak_used_bytes\": 1280, "
                         "\"segments_taken\": 1, \"segments_given_back\": 0, "
                         "\"reserve_bytes\": 0, \"repeated_blocks\": 0,\n\"map\": [\n"
                         "{\"bytes\": 65536, \"used_bytes\": 256, \"ranges\": [\n"
                         "  {\"offset\": 0, \"bytes\": 1024, \"used\": false},\n"
                         "  {\"offset\": 1024, \"bytes\": 256, \"used\": true},\n"
                         "  {\"offset\": 1280, \"bytes\": 64256, \"used\": false}]}]}\n");
  free(text);
  clpt_arena_give(second, 1);
  clpt_arena_end();
}
END_TEST

START_TEST(a_dump_to_a_full_disk)
{
  FILE *full = fopen("/dev/full", "w");

  ck_assert_ptr_nonnull(full);
  clpt_arena_start();
  clpt_fails(CLP_IO_ERROR, clp_arena_dump(clpt_arena, full));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  fclose(full);
  clpt_arena_end();
}
END_TEST

CLPT_MAIN("arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "arena");

  tcase_add_checked_fixture(tests, clpt_arena_setup, NULL);
  tcase_add_test(tests, it_is_what_upstream_is);
  tcase_add_test(tests, blocks_share_a_segment);
  tcase_add_test(tests, large_requests_have_segments_of_their_own);
  tcase_add_test(tests, blocks_that_nobody_freed_go_with_the_arena);
  tcase_add_test(tests, other_failures_pass_and_change_nothing);
  tcase_add_test(tests, the_dump);
  tcase_add_test(tests, a_dump_to_a_full_disk);
}
