/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size: what fields mean that are 0, or that an older caller's struct
 * lacks. Which sizes are taken is in tests/api/struct_sizes.c. */
#include "arena/arena.h"
#include "core/allocator/allocator.h"
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/suite.h"

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

  ck_assert_double_eq(taken_by_arena(&sized).slack, 0.016);
  ck_assert_uint_eq(taken_by_arena(&sized).min_segment_bytes, defaults.min_segment_bytes);
  ck_assert_double_eq(taken_by_arena(&partly).slack, 0.5);
  ck_assert_uint_eq(taken_by_arena(&partly).min_segment_bytes, defaults.min_segment_bytes);
  ck_assert_double_eq(taken_by_arena(&smallest).slack, 0.016);
  ck_assert_uint_eq(taken_by_arena(&smallest).min_segment_bytes, 4096);
}
END_TEST

CLPT_SUITE("options")
{
  TCase *tests = clpt_case(suite, "options");
  tcase_add_test(tests, fields_that_an_older_caller_does_not_have_keep_their_defaults);
  tcase_add_test(tests, pool_options_of_a_size_and_zeros_are_the_defaults);
  tcase_add_test(tests, zeros_set_after_the_init_macro_are_zeros);
  tcase_add_test(tests, arena_options_of_a_size_and_zeros_are_the_defaults);
}
