/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size: callers older and newer than the library. */
#include "arena/arena.h"
#include "core/allocator/allocator.h"
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/suite.h"

#include <stdint.h>

enum { TAIL = 24 }; /* bytes of fields that this library does not know */

typedef struct newer_pool_options {
  clp_pool_options known;
  unsigned char tail[TAIL];
} newer_pool_options;

typedef struct newer_ops {
  clp_allocator_ops known;
  unsigned char tail[TAIL];
} newer_ops;

typedef struct newer_stats {
  clp_pool_stats known;
  unsigned char tail[TAIL];
} newer_stats;

START_TEST(pool_options_too_small_to_say_anything_are_refused)
{
  static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, sizeof(size_t),
                                 offsetof(clp_pool_options, reuse_flags) - 1};
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  clp_pool *pool = (clp_pool *)&options;

  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  options.struct_size = sizes[_i];
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(allocator, &options, &pool));
  ck_assert_ptr_null(pool);
  clp_allocator_release(allocator);
}
END_TEST

/* What lies on the stack where a caller forgets to set it. */
START_TEST(sizes_that_no_struct_has_are_refused)
{
  static const size_t sizes[] = {4097, SIZE_MAX / 2, SIZE_MAX};
  const clp_pool_stats untouched = {.held_blocks = 77};
  struct {
    clp_pool_stats stats;
    unsigned char behind[TAIL];
  } of_caller = {.behind = {1}};
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;
  clpt_rig rig;

  clpt_rig_start(&rig);
  of_caller.stats = untouched;
  of_caller.stats.struct_size = options.struct_size = sizes[_i];
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_get_stats(rig.pool, &of_caller.stats));
  clpt_message_has("clp_pool_stats: struct_size is");
  ck_assert_uint_eq(of_caller.stats.held_blocks, 77);
  ck_assert_uint_eq(of_caller.behind[0], 1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(rig.allocator, &options, &pool));
  clpt_message_has("clp_pool_options: struct_size is");
  clpt_rig_end(&rig);
}
END_TEST

static bool must_not_be_called(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes, (void)user_data;
  ck_abort_msg("a field past struct_size was read");
}

START_TEST(fields_that_an_older_caller_does_not_have_keep_their_defaults)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_rig rig;
  clp_buffer *buffer;

  clpt_device_init(&rig.device);
  rig.device.capacity = 10;
  options.struct_size = offsetof(clp_pool_options, reuse_flags);
  options.leading_bits_in_bin_id = 2;
  options.reuse_flags = ~0u;
  options.on_out_of_memory = must_not_be_called;
  clpt_rig_start_with(&rig, &options);
  ck_assert_uint_eq(clp_pool_bin_number(rig.pool, 4097), clp_bin_number(2, 4097));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 4097, &buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(pool_options_with_unknown_fields_of_zero_are_taken)
{
  newer_pool_options options = {.known = CLP_POOL_OPTIONS_INIT};
  clpt_rig rig;

  clpt_device_init(&rig.device);
  options.known.struct_size = sizeof(clp_pool_options) + (size_t)_i;
  options.known.leading_bits_in_bin_id = 7;
  clpt_rig_start_with(&rig, &options.known);
  ck_assert_uint_eq(clp_pool_bin_number(rig.pool, 4097), clp_bin_number(7, 4097));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(pool_options_with_an_unknown_field_set_are_refused)
{
  newer_pool_options options = {.known = CLP_POOL_OPTIONS_INIT};
  clp_allocator *allocator = NULL;
  clp_pool *pool = NULL;

  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  options.known.struct_size = sizeof(options);
  options.tail[_i] = 1;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(allocator, &options.known, &pool));
  ck_assert_ptr_null(pool);
  options.known.struct_size = sizeof(clp_pool_options) + (size_t)_i; /* ends before that field */
  clpt_ok(clp_pool_create(allocator, &options.known, &pool));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

/* --- options whose defaults are not zero: what a field of 0 means --- */

enum { BOTH_WAYS = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

/* What a pool made with these has. */
static clp_pool_options taken_by_pool(const clp_pool_options *options)
{
  clp_allocator *allocator;
  clp_pool *pool;

  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  clpt_ok(clp_pool_create(allocator, options, &pool));
  clp_pool_options taken = pool->options;
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return taken;
}

static clp_arena_options taken_by_arena(const clp_arena_options *options)
{
  clp_allocator *upstream, *arena;

  clpt_ok(clp_simulated_allocator_create(0, &upstream));
  clpt_ok(clp_arena_allocator_create(upstream, options, &arena));
  clp_arena_options taken = ((const clpi_arena *)arena->self)->options;
  clp_allocator_release(arena);
  clp_allocator_release(upstream);
  return taken;
}

START_TEST(pool_options_of_a_size_and_zeros_are_the_defaults)
{
  clp_pool_options sized = {.struct_size = sizeof(sized)};
  clp_pool_options zeroed = {0};
  clp_pool_options partly = {.struct_size = sizeof(partly), .leading_bits_in_bin_id = 7};
  clp_pool_options flags = {.struct_size = sizeof(flags), .reuse_flags = CLP_REUSE_OPPORTUNISTIC};

  zeroed.struct_size = sizeof(zeroed);
  ck_assert_uint_eq(taken_by_pool(&sized).leading_bits_in_bin_id, 4);
  ck_assert_uint_eq(taken_by_pool(&sized).reuse_flags, BOTH_WAYS);
  ck_assert_uint_eq(taken_by_pool(&zeroed).leading_bits_in_bin_id, 4);
  ck_assert_uint_eq(taken_by_pool(&zeroed).reuse_flags, BOTH_WAYS);
  ck_assert_uint_eq(taken_by_pool(&partly).leading_bits_in_bin_id, 7);
  ck_assert_uint_eq(taken_by_pool(&partly).reuse_flags, BOTH_WAYS);
  ck_assert_uint_eq(taken_by_pool(&flags).leading_bits_in_bin_id, 4);
  ck_assert_uint_eq(taken_by_pool(&flags).reuse_flags, CLP_REUSE_OPPORTUNISTIC);
}
END_TEST

START_TEST(zeros_set_after_the_init_macro_are_zeros)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_options arena = CLP_ARENA_OPTIONS_INIT;

  options.leading_bits_in_bin_id = 0;
  ck_assert_uint_eq(taken_by_pool(&options).leading_bits_in_bin_id, 0);
  ck_assert_uint_eq(taken_by_pool(&options).reuse_flags, BOTH_WAYS);
  options.reuse_flags = 0;
  ck_assert_uint_eq(taken_by_pool(&options).reuse_flags, 0);
  options.struct_size = offsetof(clp_pool_options, reuse_flags); /* an older caller's */
  ck_assert_uint_eq(taken_by_pool(&options).leading_bits_in_bin_id, 0);
  ck_assert_uint_eq(taken_by_pool(&options).reuse_flags, BOTH_WAYS);
  arena.slack = 0.0;
  ck_assert_double_eq(taken_by_arena(&arena).slack, 0.0);
  arena.min_segment_bytes = 0;
  ck_assert_uint_eq(taken_by_arena(&arena).min_segment_bytes, 0);
}
END_TEST

START_TEST(arena_options_of_a_size_and_zeros_are_the_defaults)
{
  const clp_arena_options defaults = CLP_ARENA_OPTIONS_INIT;
  clp_arena_options sized = {.struct_size = sizeof(sized)};
  clp_arena_options partly = {.struct_size = sizeof(partly), .slack = 0.5};
  clp_arena_options smallest = {.struct_size = sizeof(smallest), .min_segment_bytes = 4096};

  ck_assert_double_eq(taken_by_arena(&sized).slack, defaults.slack);
  ck_assert_uint_eq(taken_by_arena(&sized).min_segment_bytes, defaults.min_segment_bytes);
  ck_assert_double_eq(taken_by_arena(&partly).slack, 0.5);
  ck_assert_uint_eq(taken_by_arena(&partly).min_segment_bytes, defaults.min_segment_bytes);
  ck_assert_double_eq(taken_by_arena(&smallest).slack, defaults.slack);
  ck_assert_uint_eq(taken_by_arena(&smallest).min_segment_bytes, 4096);
}
END_TEST

START_TEST(options_that_were_not_zero_before_they_were_filled_are_refused)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_options arena_options = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *allocator, *arena;
  clp_pool *pool;

  options.initialized = 2;
  arena_options.initialized = UINT32_MAX;
  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(allocator, &options, &pool));
  clpt_message_has("clp_pool_options: initialized is 2");
  ck_assert_ptr_null(pool);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_arena_allocator_create(allocator, &arena_options, &arena));
  clpt_message_has("clp_arena_options: initialized is 4294967295");
  ck_assert_ptr_null(arena);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(ops_too_small_for_the_mandatory_functions_are_refused)
{
  static const size_t sizes[] = {0,
                                 1,
                                 sizeof(size_t),
                                 offsetof(clp_allocator_ops, allocate),
                                 offsetof(clp_allocator_ops, free),
                                 offsetof(clp_allocator_ops, destroy) - 1};
  clpt_device device;
  clp_allocator *allocator = NULL;

  clpt_device_init(&device);
  device.ops.struct_size = sizes[_i];
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_create(&device.ops, &device, &allocator));
  ck_assert_ptr_null(allocator);
}
END_TEST

START_TEST(ops_of_an_older_caller_end_where_they_say)
{
  clpt_device device;
  clp_allocator *allocator;
  clp_memory memory = 0;

  clpt_device_init(&device);
  device.ops.struct_size = offsetof(clp_allocator_ops, destroy);
  device.ops.deferred = true;
  device.ops.alignment = 3; /* what lies behind is not looked at */
  allocator = clpt_device_allocator(&device);
  ck_assert(!clp_allocator_is_deferred(allocator));
  ck_assert_str_eq(clp_allocator_name(allocator), "test-device");
  clpt_ok(clp_allocator_allocate(allocator, 10, &memory));
  clpt_ok(clp_allocator_free(allocator, memory, 10));
  clp_allocator_release(allocator);
  clpt_device_trace_is(&device, "A10 F10"); /* no destroy */
}
END_TEST

START_TEST(ops_with_an_unknown_field_set_are_refused)
{
  clpt_device device;
  newer_ops ops;
  clp_allocator *allocator = NULL;

  clpt_device_init(&device);
  memset(&ops, 0, sizeof(ops));
  ops.known = device.ops;
  ops.known.struct_size = sizeof(ops);
  ops.tail[_i] = 0x80;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_create(&ops.known, &device, &allocator));
  ck_assert_ptr_null(allocator);
  ops.tail[_i] = 0;
  clpt_ok(clp_allocator_create(&ops.known, &device, &allocator));
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

/* What a struct's bytes are before the library fills it. */
enum { UNTOUCHED = 0xEE };

START_TEST(stats_are_filled_as_far_as_the_callers_struct_goes_and_no_further)
{
  size_t size = (size_t)_i * sizeof(size_t);
  clp_pool_stats full = CLP_POOL_STATS_INIT, part;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 3);
  clpt_ok(clp_pool_get_stats(rig.pool, &full));
  memset(&part, UNTOUCHED, sizeof(part));
  part.struct_size = size;
  clpt_ok(clp_pool_get_stats(rig.pool, &part));
  ck_assert_uint_eq(part.struct_size, size);
  ck_assert_mem_eq((char *)&part + sizeof(size), (char *)&full + sizeof(size), size - sizeof(size));
  for (size_t i = size; i < sizeof(part); i++)
    ck_assert_uint_eq(((unsigned char *)&part)[i], UNTOUCHED);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(bin_stats_are_filled_as_far_as_the_callers_struct_goes_and_no_further)
{
  size_t size = (size_t)_i * sizeof(size_t);
  clp_bin_stats full = CLP_BIN_STATS_INIT, part;
  clpt_rig rig;
  size_t bin;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 3);
  bin = clp_pool_bin_number(rig.pool, 100);
  clpt_ok(clp_pool_get_bin_stats(rig.pool, bin, &full));
  memset(&part, UNTOUCHED, sizeof(part));
  part.struct_size = size;
  clpt_ok(clp_pool_get_bin_stats(rig.pool, bin, &part));
  ck_assert_uint_eq(part.struct_size, size);
  ck_assert_mem_eq((char *)&part + sizeof(size), (char *)&full + sizeof(size), size - sizeof(size));
  for (size_t i = size; i < sizeof(part); i++)
    ck_assert_uint_eq(((unsigned char *)&part)[i], UNTOUCHED);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(stats_too_small_for_any_figure_are_refused_and_left_alone)
{
  static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, sizeof(size_t), 2 * sizeof(size_t) - 1};
  clp_pool_stats stats, untouched;
  clp_bin_stats bin_stats, bin_untouched;
  clpt_rig rig;

  clpt_rig_start(&rig);
  memset(&stats, UNTOUCHED, sizeof(stats));
  memset(&bin_stats, UNTOUCHED, sizeof(bin_stats));
  stats.struct_size = bin_stats.struct_size = sizes[_i];
  memcpy(&untouched, &stats, sizeof(stats));
  memcpy(&bin_untouched, &bin_stats, sizeof(bin_stats));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_get_stats(rig.pool, &stats));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_get_bin_stats(rig.pool, 0, &bin_stats));
  ck_assert_mem_eq(&stats, &untouched, sizeof(stats));
  ck_assert_mem_eq(&bin_stats, &bin_untouched, sizeof(bin_stats));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(figures_that_only_a_newer_caller_knows_are_zero)
{
  newer_stats stats;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 3);
  memset(&stats, UNTOUCHED, sizeof(stats));
  stats.known.struct_size = sizeof(stats);
  clpt_ok(clp_pool_get_stats(rig.pool, &stats.known));
  ck_assert_uint_eq(stats.known.held_blocks, 3);
  ck_assert_uint_eq(stats.known.device_allocations, 3);
  for (size_t i = 0; i < TAIL; i++)
    ck_assert_uint_eq(stats.tail[i], 0);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("options", clpt_run)
{
  TCase *tests = clpt_case(suite, "options");
  int stats_words = sizeof(clp_pool_stats) / sizeof(size_t);
  int bin_stats_words = sizeof(clp_bin_stats) / sizeof(size_t);

  tcase_add_loop_test(tests, pool_options_too_small_to_say_anything_are_refused, 0, 5);
  tcase_add_loop_test(tests, sizes_that_no_struct_has_are_refused, 0, 3);
  tcase_add_test(tests, fields_that_an_older_caller_does_not_have_keep_their_defaults);
  tcase_add_loop_test(tests, pool_options_with_unknown_fields_of_zero_are_taken, 0, TAIL + 1);
  tcase_add_loop_test(tests, pool_options_with_an_unknown_field_set_are_refused, 0, TAIL);
  tcase_add_test(tests, pool_options_of_a_size_and_zeros_are_the_defaults);
  tcase_add_test(tests, zeros_set_after_the_init_macro_are_zeros);
  tcase_add_test(tests, arena_options_of_a_size_and_zeros_are_the_defaults);
  tcase_add_test(tests, options_that_were_not_zero_before_they_were_filled_are_refused);
  tcase_add_loop_test(tests, ops_too_small_for_the_mandatory_functions_are_refused, 0, 6);
  tcase_add_test(tests, ops_of_an_older_caller_end_where_they_say);
  tcase_add_loop_test(tests, ops_with_an_unknown_field_set_are_refused, 0, TAIL);

  tests = clpt_case(suite, "results");
  tcase_add_loop_test(tests, stats_are_filled_as_far_as_the_callers_struct_goes_and_no_further, 2,
                      stats_words + 1);
  tcase_add_loop_test(tests, bin_stats_are_filled_as_far_as_the_callers_struct_goes_and_no_further,
                      2, bin_stats_words + 1);
  tcase_add_loop_test(tests, stats_too_small_for_any_figure_are_refused_and_left_alone, 0, 5);
  tcase_add_test(tests, figures_that_only_a_newer_caller_knows_are_zero);
}
