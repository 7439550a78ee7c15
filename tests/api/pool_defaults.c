/* SPDX-License-Identifier: MIT */
/* What a pool is like where its options leave it open: CLPOOL_LEADING_BITS, CLPOOL_ARENA,
 * CLPOOL_ARENA_SLACK, CLPOOL_HOLD and CLPOOL_MEMORY_LIMIT; and its name. Each test's process is a
 * fork, so what it sets is gone with it; without forks, the fixture takes it away. How sizes are
 * written is in test_bytes.c. */
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>
#include <clpool/log.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICE_BYTES = 10000 };

static void unset_all(void)
{
  static const char *const variables[] = {"CLPOOL_LEADING_BITS", "CLPOOL_ARENA",
                                          "CLPOOL_ARENA_SLACK", "CLPOOL_HOLD"};

  for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
    unsetenv(variables[i]);
}

/* What a pool made with these has. */
static clp_pool_options taken(const clp_pool_options *options)
{
  clp_allocator *allocator;
  clp_pool *pool;

  clpt_ok(clp_simulated_allocator_create(DEVICE_BYTES, &allocator));
  clpt_ok(clp_pool_create(allocator, options, &pool));
  clp_pool_options all = pool->options;
  ck_assert_uint_eq(clp_pool_bin_number(pool, 65536),
                    clp_bin_number(all.leading_bits_in_bin_id, 65536));
  ck_assert_int_eq(all.arena, strcmp(clp_allocator_name(clp_pool_allocator(pool)), "arena") == 0);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return all;
}

static void check_taken(const clp_pool_options *options, unsigned bits, size_t hold, unsigned arena)
{
  clp_pool_options all = taken(options);

  ck_assert_uint_eq(all.leading_bits_in_bin_id, bits);
  ck_assert_uint_eq(all.hold_bytes, hold);
  ck_assert_uint_eq(all.arena, arena);
}

static void set_all(const char *bits, const char *hold, const char *arena)
{
  setenv("CLPOOL_LEADING_BITS", bits, 1);
  setenv("CLPOOL_HOLD", hold, 1);
  setenv("CLPOOL_ARENA", arena, 1);
}

START_TEST(the_environment_sets_what_options_leave_open)
{
  const clp_pool_options unset = CLP_POOL_OPTIONS_INIT;
  clp_pool_options named = unset, zeros = {.struct_size = sizeof(zeros)};
  const clp_pool_options *const open[] = {NULL, &unset, &named, &zeros};

  named.name = "textures";
  for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
    unset_all();
    check_taken(open[i], 4, SIZE_MAX, 0);
    set_all("2", "40%", "1");
    check_taken(open[i], 2, 4000, 1);
    set_all("0", "0", "0");
    check_taken(open[i], 0, 0, 0);
    set_all("16", "1.5K", "1");
    check_taken(open[i], 16, 1536, 1);
  }
}
END_TEST

START_TEST(what_a_program_sets_wins)
{
  clp_pool_options all = CLP_POOL_OPTIONS_INIT, one = all;
  clp_pool_options partly = {.struct_size = sizeof(partly), .leading_bits_in_bin_id = 7};
  clp_pool_options older = {.struct_size = offsetof(clp_pool_options, hold_bytes),
                            .initialized = 1,
                            .leading_bits_in_bin_id = 4,
                            .reuse_flags = CLP_REUSE_OPPORTUNISTIC,
                            .hold_bytes = 5,
                            .arena = 7};

  set_all("2", "40%", "1");
  check_taken(&partly, 7, 4000, 1);
  check_taken(&older, 4, 4000, 1);
  one.leading_bits_in_bin_id = 0;
  check_taken(&one, 0, 4000, 1);
  one.leading_bits_in_bin_id = 4;
  check_taken(&one, 4, 4000, 1);
  all.leading_bits_in_bin_id = 4;
  all.hold_bytes = 0;
  all.arena = 0;
  check_taken(&all, 4, 0, 0);
  set_all("wrong", "wrong", "wrong"); /* is not looked at */
  check_taken(&all, 4, 0, 0);
  all.hold_bytes = SIZE_MAX - 1;
  all.arena = 1;
  check_taken(&all, 4, SIZE_MAX, 1);
}
END_TEST

static void count_variables(clp_log_level level, const char *message, void *user_data)
{
  unsigned *told = user_data;

  ck_assert_int_eq(level, CLP_LOG_INFO);
  told[0] += strstr(message, "CLPOOL_LEADING_BITS is \"2\"") != NULL;
  told[1] += strstr(message, "CLPOOL_HOLD is \"40%\"") != NULL;
  told[2] += strstr(message, "CLPOOL_ARENA is \"1\"") != NULL;
}

START_TEST(the_log_tells_once_which_variable_does_not_count)
{
  clp_pool_options all = CLP_POOL_OPTIONS_INIT;
  unsigned told[3] = {0};

  all.leading_bits_in_bin_id = 4;
  clp_set_log(count_variables, told);
  taken(&all); /* overrides nothing */
  set_all("2", "40%", "1");
  taken(NULL);
  ck_assert_uint_eq(told[0] + told[1] + told[2], 0);
  taken(&all);
  ck_assert(told[0] == 1 && told[1] + told[2] == 0);
  all.hold_bytes = 1;
  all.arena = 0;
  taken(&all);
  taken(&all);
  ck_assert(told[0] == 1 && told[1] == 1 && told[2] == 1);
  clp_set_log(NULL, NULL);
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
  stated.max_segment_bytes = (size_t)1 << 40; /* some other field */
  ck_assert_uint_gt(reserved_with(&stated), by_default);
  stated.slack = 0.016;
  stated.max_segment_bytes = 0;
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
               {"CLPOOL_HOLD", "0.5"},
               {"CLPOOL_HOLD", ""},
               {"CLPOOL_HOLD", "101%"},
               {"CLPOOL_ARENA_SLACK", "1."},
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
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *host, *arena;
  clp_pool *pool;

  setenv("CLPOOL_ARENA", "1", 1);
  clpt_ok(clp_host_allocator_create(0, &host));
  clpt_ok(clp_arena_allocator_create(host, NULL, &arena));
  clpt_ok(clp_pool_create(arena, NULL, &pool));
  ck_assert_ptr_eq(clp_pool_allocator(pool), arena);
  clp_pool_release(pool);
  options.arena = 1;
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_create(arena, &options, &pool));
  clp_allocator_release(arena);
  clp_allocator_release(host);
}
END_TEST

START_TEST(a_part_of_unknown_memory_is_not_supported)
{
  clp_allocator *device;
  clp_pool *pool;

  setenv("CLPOOL_HOLD", "40%", 1);
  clpt_ok(clp_simulated_allocator_create(0, &device));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_create(device, NULL, &pool));
  clpt_message_has("CLPOOL_HOLD is \"40%\"");
  clp_allocator_release(device);
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

#define VARIABLE "CLPOOL_MEMORY_LIMIT"

static const size_t GiB = (size_t)1 << 30;

static void unset_limit(void)
{
  unsetenv(VARIABLE);
}

START_TEST(the_environment_sets_the_limit_of_a_new_pool)
{
  const struct {
    const char *text;
    size_t limit;
  } limits[] = {
      {"1073741824", GiB}, {"0", 0},        {"1.5G", 3 * GiB / 2},
      {"40%", 4000},       {"100%", 10000}, {"0%", 0},
  };
  clpt_rig rig;

  setenv(VARIABLE, limits[_i].text, 1);
  clpt_rig_start_on(&rig, 10000);
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), limits[_i].limit);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_limit_that_cannot_be_read)
{
  static const char *const texts[] = {"abc", "-1", "101%", "0.5", "1e3"};
  clpt_device device;
  clp_pool *pool = (clp_pool *)&device;

  clpt_device_init(&device);
  device.ops.device_bytes = 10000;
  clp_allocator *allocator = clpt_device_allocator(&device);
  setenv(VARIABLE, texts[_i], 1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(allocator, NULL, &pool));
  ck_assert_ptr_null(pool);
  clpt_message_has(VARIABLE);
  clpt_message_has(texts[_i]);
  clpt_message_has("(50%)");
  unsetenv(VARIABLE);
  clp_pool_release(clpt_pool(allocator)); /* only that stood in the way */
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(a_limit_in_per_cent_of_unknown_memory_is_not_supported_and_says_why)
{
  clpt_device device;
  clp_pool *pool = (clp_pool *)&device;

  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
  setenv(VARIABLE, "40%", 1);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_create(allocator, NULL, &pool));
  ck_assert_ptr_null(pool);
  clpt_message_has(VARIABLE);
  clpt_message_has("test-device");
  clp_allocator_release(allocator);
}
END_TEST

/* Where one of these is there, and has a comma. */
START_TEST(a_programs_locale_does_not_change_how_numbers_are_written)
{
  static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "pl_PL.UTF-8", "ru_RU.UTF-8"};
  clpt_rig rig;

  for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++)
    if (setlocale(LC_NUMERIC, locales[i]) != NULL)
      break;
  setenv(VARIABLE, "12.5%", 1);
  clpt_rig_start_on(&rig, 10000);
  (void)setlocale(LC_NUMERIC, "C");
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), 1250);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_environment_binds_and_can_be_overruled)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  setenv(VARIABLE, "1K", 1);
  clpt_rig_start(&rig);
  setenv(VARIABLE, "2K", 1); /* it is read when a pool is made */
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 1025, &buffer));
  clpt_hold(rig.pool, 1000, 1);
  clpt_ok(clp_pool_set_limit(rig.pool, 0));
  clpt_hold(rig.pool, 5000, 1);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_SUITE("defaults")
{
  TCase *tests = clpt_case(suite, "defaults");
  tcase_add_checked_fixture(tests, unset_all, unset_all);
  tcase_add_test(tests, the_environment_sets_what_options_leave_open);
  tcase_add_test(tests, what_a_program_sets_wins);
  tcase_add_test(tests, the_log_tells_once_which_variable_does_not_count);
  tcase_add_test(tests, the_environment_sets_the_slack_that_options_leave_open);
  tcase_add_loop_test(tests, what_cannot_be_read_is_an_error_that_names_the_variable_and_its_text,
                      0, 22);
  tcase_add_test(tests, what_cannot_be_split_stays_without_an_arena);
  tcase_add_test(tests, a_part_of_unknown_memory_is_not_supported);
  tcase_add_test(tests, a_name_is_copied_and_told_in_messages);

  tests = clpt_case(suite, "environment");
  tcase_add_checked_fixture(tests, unset_limit, unset_limit);
  tcase_add_loop_test(tests, the_environment_sets_the_limit_of_a_new_pool, 0, 6);
  tcase_add_loop_test(tests, a_limit_that_cannot_be_read, 0, 5);
  tcase_add_test(tests, a_limit_in_per_cent_of_unknown_memory_is_not_supported_and_says_why);
  tcase_add_test(tests, a_programs_locale_does_not_change_how_numbers_are_written);
  tcase_add_test(tests, the_environment_binds_and_can_be_overruled);
}
