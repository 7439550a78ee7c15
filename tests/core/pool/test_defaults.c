/* SPDX-License-Identifier: MIT */
/* What a pool is like where its options leave it open: CLPOOL_LEADING_BITS, CLPOOL_ARENA and
 * CLPOOL_ARENA_SLACK; and its name. Each test's process is a fork, so what it sets is gone with it;
 * without forks, the fixture takes it away. */
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"CLPOOL_LEADING_BITS", "CLPOOL_ARENA",
                                        "CLPOOL_ARENA_SLACK"};

static void unset_all(void)
{
  for (size_t i = 0; i < 3; i++)
    unsetenv(variables[i]);
}

static clp_pool *host_pool(const clp_pool_options *options)
{
  clp_allocator *allocator;
  clp_pool *pool;
  clpt_ok(clp_host_allocator_create(0, &allocator));
  clpt_ok(clp_pool_create(allocator, options, &pool));
  clp_allocator_release(allocator);
  return pool;
}

/* The leading bits that a pool with these options has: 16 << bits is the bin of 65536. */
static unsigned bits_with(const clp_pool_options *options)
{
  clp_pool *pool = host_pool(options);
  unsigned bits = 0;
  while (clp_pool_bin_number(pool, 65536) != clp_bin_number(bits, 65536))
    bits++;
  clp_pool_release(pool);
  return bits;
}

static bool has_arena_with(const clp_pool_options *options)
{
  clp_pool *pool = host_pool(options);
  bool has_arena = strcmp(clp_allocator_name(clp_pool_allocator(pool)), "arena") == 0;
  clp_pool_release(pool);
  return has_arena;
}

START_TEST(the_environment_sets_what_options_leave_open)
{
  clp_pool_options stated = CLP_POOL_OPTIONS_INIT;
  clp_pool_options open = {.struct_size = sizeof(open), .reuse_flags = CLP_REUSE_OPPORTUNISTIC};
  clp_pool_options partly = {.struct_size = sizeof(partly), .leading_bits_in_bin_id = 7};

  ck_assert_uint_eq(bits_with(NULL), 4);
  setenv("CLPOOL_LEADING_BITS", "2", 1);
  ck_assert_uint_eq(bits_with(NULL), 2);
  ck_assert_uint_eq(bits_with(&open), 2);
  ck_assert_uint_eq(bits_with(&partly), 7);
  ck_assert_uint_eq(bits_with(&stated), 4);
  stated.leading_bits_in_bin_id = 0;
  ck_assert_uint_eq(bits_with(&stated), 0);
  setenv("CLPOOL_LEADING_BITS", "0", 1);
  ck_assert_uint_eq(bits_with(NULL), 0);

  ck_assert(!has_arena_with(NULL));
  setenv("CLPOOL_ARENA", "1", 1);
  ck_assert(has_arena_with(NULL));
  ck_assert(has_arena_with(&partly));
  ck_assert(!has_arena_with(&stated));
  setenv("CLPOOL_ARENA", "0", 1);
  ck_assert(!has_arena_with(NULL));
}
END_TEST

/* No allocation, so no segment: what an arena reserves for one of a page tells its slack. */
static size_t reserved_with(const clp_arena_options *options)
{
  clp_allocator *device, *arena;
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clp_memory memory[2];
  clpt_ok(clp_simulated_allocator_create(0, &device));
  clpt_ok(clp_arena_allocator_create(device, options, &arena));
  clpt_ok(clp_allocator_allocate(arena, (size_t)1 << 30, &memory[0]));
  clpt_ok(clp_allocator_allocate(arena, 4096, &memory[1]));
  clpt_ok(clp_arena_get_stats(arena, &stats));
  clpt_ok(clp_allocator_free(arena, memory[0], (size_t)1 << 30));
  clpt_ok(clp_allocator_free(arena, memory[1], 4096));
  clp_allocator_release(arena);
  clp_allocator_release(device);
  return stats.reserved_bytes;
}

START_TEST(the_environment_sets_the_slack_that_options_leave_open)
{
  clp_arena_options stated = CLP_ARENA_OPTIONS_INIT;
  size_t by_default = reserved_with(NULL);

  setenv("CLPOOL_ARENA_SLACK", "0.25", 1);
  ck_assert_uint_gt(reserved_with(NULL), by_default);
  ck_assert_uint_eq(reserved_with(&stated), by_default);
  stated.slack = 0.25;
  ck_assert_uint_eq(reserved_with(NULL), reserved_with(&stated));
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error_that_names_the_variable_and_its_text)
{
  static const struct {
    const char *variable, *text;
  } wrong[] = {{"CLPOOL_LEADING_BITS", ""},
               {"CLPOOL_LEADING_BITS", "17"},
               {"CLPOOL_LEADING_BITS", "-1"},
               {"CLPOOL_LEADING_BITS", " 4"},
               {"CLPOOL_LEADING_BITS", "4 "},
               {"CLPOOL_LEADING_BITS", "0x4"},
               {"CLPOOL_LEADING_BITS", "4.0"},
               {"CLPOOL_LEADING_BITS", "4294967300"},
               {"CLPOOL_ARENA", "yes"},
               {"CLPOOL_ARENA", "2"},
               {"CLPOOL_ARENA", ""},
               {"CLPOOL_ARENA_SLACK", "1.1"},
               {"CLPOOL_ARENA_SLACK", "1.6%"},
               {"CLPOOL_ARENA_SLACK", "-0.1"},
               {"CLPOOL_ARENA_SLACK", ".5"},
               {"CLPOOL_ARENA_SLACK", "1e-2"},
               {"CLPOOL_ARENA_SLACK", "0,016"},
               {"CLPOOL_ARENA_SLACK", ""}};
  clp_allocator *allocator;
  clp_pool *pool = (clp_pool *)&wrong;

  setenv("CLPOOL_ARENA", "1", 1);
  setenv(wrong[_i].variable, wrong[_i].text, 1);
  clpt_ok(clp_host_allocator_create(0, &allocator));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(allocator, NULL, &pool));
  ck_assert_ptr_null(pool);
  clpt_message_has(wrong[_i].variable);
  clpt_message_has(wrong[_i].text);
  unset_all();
  clp_pool_release(clpt_pool(allocator)); /* only that stood in the way */
  clp_allocator_release(allocator);
}
END_TEST

/* An arena is such an allocator. */
START_TEST(what_cannot_be_split_stays_without_an_arena)
{
  clp_allocator *host, *arena;
  clp_pool *pool;

  setenv("CLPOOL_ARENA", "1", 1);
  clpt_ok(clp_host_allocator_create(0, &host));
  clpt_ok(clp_arena_allocator_create(host, NULL, &arena));
  clpt_ok(clp_pool_create(arena, NULL, &pool));
  ck_assert_ptr_eq(clp_pool_allocator(pool), arena);
  clp_pool_release(pool);
  clp_allocator_release(arena);
  clp_allocator_release(host);
}
END_TEST

START_TEST(a_name_is_copied_and_told_in_messages)
{
  char name[] = "weights";
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *device;
  clp_pool *pool;
  clp_buffer *buffer;

  options.name = name;
  clpt_ok(clp_simulated_allocator_create(1000, &device));
  clpt_ok(clp_pool_create(device, &options, &pool));
  name[0] = 'x';
  ck_assert_str_eq(clp_pool_name(pool), "weights");
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 2000, &buffer));
  clpt_message_has("out of device memory in pool \"weights\": requested 2000 bytes");
  clpt_ok(clp_pool_set_limit(pool, 100));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, 500, &buffer));
  clpt_message_has("the pool \"weights\" manages");
  clp_pool_release(pool);
  pool = clpt_pool(device);
  ck_assert_ptr_null(clp_pool_name(pool));
  ck_assert_ptr_null(clp_pool_name(NULL));
  clp_pool_release(pool);
  clp_allocator_release(device);
}
END_TEST

CLPT_MAIN("defaults", clpt_run)
{
  TCase *tests = clpt_case(suite, "defaults");

  tcase_add_checked_fixture(tests, unset_all, unset_all);
  tcase_add_test(tests, the_environment_sets_what_options_leave_open);
  tcase_add_test(tests, the_environment_sets_the_slack_that_options_leave_open);
  tcase_add_loop_test(tests, what_cannot_be_read_is_an_error_that_names_the_variable_and_its_text,
                      0, 18);
  tcase_add_test(tests, what_cannot_be_split_stays_without_an_arena);
  tcase_add_test(tests, a_name_is_copied_and_told_in_messages);
}
