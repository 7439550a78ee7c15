/* SPDX-License-Identifier: MIT */
/* What options leave open: the environment's variables, zeros, and fields that the struct of an
 * older caller lacks. A pool's name. */
#include "arena/arena.h"
#include "core/allocator/allocator.h"
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>
#include <clpool/log.h>
#include <stdint.h>

enum { DEVICE_BYTES = 10000, BOTH = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

static clp_allocator *device, *unknown; /* unknown: the size of its memory */

/* NULL: not set. */
static void set(const char *bits, const char *hold, const char *arena)
{
  (void)(bits ? setenv("CLPOOL_LEADING_BITS", bits, 1) : unsetenv("CLPOOL_LEADING_BITS"));
  (void)(hold ? setenv("CLPOOL_HOLD", hold, 1) : unsetenv("CLPOOL_HOLD"));
  (void)(arena ? setenv("CLPOOL_ARENA", arena, 1) : unsetenv("CLPOOL_ARENA"));
}

static void setup(void)
{
  set(NULL, NULL, NULL);
  clpt_ok(clp_simulated_allocator_create(DEVICE_BYTES, &device));
  clpt_ok(clp_simulated_allocator_create(0, &unknown));
}

static void teardown(void)
{
  clp_allocator_release(device);
  clp_allocator_release(unknown);
  set(NULL, NULL, NULL);
  unsetenv("CLPOOL_ARENA_SLACK");
  unsetenv("CLPOOL_MEMORY_LIMIT");
}

/* Makes a pool, which must have these options. */
static void check(const clp_pool_options *options, unsigned bits, unsigned flags, size_t hold,
                  unsigned arena)
{
  clp_pool *pool;
  clpt_ok(clp_pool_create(device, options, &pool));
  ck_assert_uint_eq(clp_pool_bin_number(pool, 65535), clp_bin_number(bits, 65535));
  ck_assert_uint_eq(pool->options.reuse_flags, flags);
  ck_assert_uint_eq(pool->options.hold_bytes, hold);
  ck_assert_uint_eq(strcmp(clp_allocator_name(clp_pool_allocator(pool)), "arena") == 0, arena);
  clp_pool_release(pool);
}

START_TEST(the_environment_sets_what_options_leave_open)
{
  const clp_pool_options unset = CLP_POOL_OPTIONS_INIT;
  clp_pool_options named = unset, zeros = {.struct_size = sizeof(zeros)};
  const clp_pool_options *const open[] = {NULL, &unset, &named, &zeros};
  named.name = "textures";
  for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
    set(NULL, NULL, NULL);
    check(open[i], 4, BOTH, SIZE_MAX, 0);
    set("2", "40%", "1");
    check(open[i], 2, BOTH, 4000, 1);
    set("0", "0", "0");
    check(open[i], 0, BOTH, 0, 0);
    set("16", "1.5K", "1");
    check(open[i], 16, BOTH, 1536, 1);
  }
}
END_TEST

START_TEST(what_a_program_sets_wins)
{
  clp_pool_options all = CLP_POOL_OPTIONS_INIT, one = all, older = all;
  clp_pool_options partly = {.struct_size = sizeof(partly), .leading_bits_in_bin_id = 7};
  clp_pool_options flags = {.struct_size = sizeof(flags), .reuse_flags = CLP_REUSE_OPPORTUNISTIC};
  set("2", "40%", "1");
  check(&partly, 7, BOTH, 4000, 1);
  check(&flags, 2, CLP_REUSE_OPPORTUNISTIC, 4000, 1);
  one.leading_bits_in_bin_id = one.reuse_flags = 0;
  check(&one, 0, 0, 4000, 1);
  all.leading_bits_in_bin_id = 4;
  all.hold_bytes = all.arena = 0;
  check(&all, 4, BOTH, 0, 0);
  set("wrong", "wrong", "wrong"); /* is not read */
  check(&all, 4, BOTH, 0, 0);
  all.hold_bytes = SIZE_MAX - 1;
  all.arena = 1;
  check(&all, 4, BOTH, SIZE_MAX, 1);
  set(NULL, NULL, NULL);
  older.struct_size = offsetof(clp_pool_options, reuse_flags);
  older.leading_bits_in_bin_id = 0;
  older.reuse_flags = older.arena = 77;
  check(&older, 0, BOTH, SIZE_MAX, 0);
}
END_TEST

static void note_variable(clp_log_level level, const char *message, void *noted)
{
  ck_assert_int_eq(level, CLP_LOG_INFO);
  strcat(noted, strstr(message, "CLPOOL_LEADING_BITS=\"2\"") ? "L" : "");
  strcat(noted, strstr(message, "CLPOOL_HOLD=\"40%\"") ? "H" : "");
  strcat(noted, strstr(message, "CLPOOL_ARENA=\"1\"") ? "A" : "");
}

START_TEST(the_log_names_once_each_variable_that_an_option_overrides)
{
  clp_pool_options all = CLP_POOL_OPTIONS_INIT;
  char noted[16] = "";
  all.leading_bits_in_bin_id = 4;
  clp_set_log(note_variable, noted);
  check(&all, 4, BOTH, SIZE_MAX, 0); /* no variable is set */
  set("2", "40%", "1");
  check(NULL, 2, BOTH, 4000, 1);
  ck_assert_str_eq(noted, "");
  check(&all, 4, BOTH, 4000, 1);
  ck_assert_str_eq(noted, "L");
  all.hold_bytes = 1;
  all.arena = 0;
  for (int i = 0; i < 2; i++)
    check(&all, 4, BOTH, 1, 0);
  ck_assert_str_eq(noted, "LHA");
  clp_set_log(NULL, NULL);
}
END_TEST

START_TEST(the_environment_sets_the_limit)
{
  static const struct {
    const char *text;
    size_t limit;
  } limits[] = {{"1K", 1024}, {"1.5G", (size_t)3 << 29}, {"40%", 4000}, {"0%", 0}, {"0", 0}};
  clp_buffer *buffer;
  for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
    setenv("CLPOOL_MEMORY_LIMIT", limits[i].text, 1);
    clp_pool *pool = clpt_pool(device);
    setenv("CLPOOL_MEMORY_LIMIT", "2K", 1); /* it is read when a pool is made */
    ck_assert_uint_eq(clp_pool_get_limit(pool), limits[i].limit);
    if (i == 0)
      clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, 1025, &buffer));
    clpt_ok(clp_pool_set_limit(pool, 0));
    clpt_hold(pool, 5000, 1);
    clp_pool_release(pool);
  }
}
END_TEST

START_TEST(a_variable_that_cannot_be_read_is_an_error)
{
  static const char *const wrong[][2] = {
      {"CLPOOL_LEADING_BITS", "||17|-1| 4|4 |0x4|4.0|4294967300|"},
      {"CLPOOL_ARENA", "||yes|2|"},
      {"CLPOOL_ARENA_SLACK", "||1.|1.1|1.6%|-0.1|.5|1e-2|0,016|"},
      {"CLPOOL_HOLD", "||0.5|101%|"},
      {"CLPOOL_MEMORY_LIMIT", "||abc|-1|101%|0.5|1e3|"}};
  clp_pool *pool;
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    for (const char *from = wrong[i][1] + 1, *to; (to = strchr(from, '|')); from = to + 1) {
      char *text = strndup(from, (size_t)(to - from));
      setenv("CLPOOL_ARENA", "1", 1);
      setenv(wrong[i][0], text, 1);
      pool = (clp_pool *)&wrong;
      clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create(device, NULL, &pool));
      ck_assert_ptr_null(pool);
      clpt_message_has(wrong[i][0]);
      clpt_message_has(text);
      free(text);
    }
    setenv(wrong[i][0], "40%", 1);
    if (i >= 3) /* a part of memory of unknown size */
      clpt_fails(CLP_NOT_SUPPORTED, clp_pool_create(unknown, NULL, &pool));
    unsetenv(wrong[i][0]);
    clp_pool_release(clpt_pool(device));
  }
}
END_TEST

START_TEST(what_cannot_be_split_stays_without_an_arena)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_allocator *arena;
  clp_pool *pool;
  set(NULL, NULL, "1");
  clpt_ok(clp_arena_allocator_create(device, NULL, &arena));
  clpt_ok(clp_pool_create(arena, NULL, &pool));
  ck_assert_ptr_eq(clp_pool_allocator(pool), arena);
  clp_pool_release(pool);
  options.arena = 1;
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_create(arena, &options, &pool));
  clp_allocator_release(arena);
}
END_TEST

START_TEST(an_arena_takes_what_is_set)
{
  const clp_arena_options defaults = CLP_ARENA_OPTIONS_INIT;
  const clp_arena_options open = {.struct_size = sizeof(open)};
  const clp_arena_options half = {.struct_size = sizeof(half), .slack = 0.5};
  const clp_arena_options none = {.struct_size = sizeof(none), .initialized = 1};
  const clp_arena_options *const given[] = {NULL, &open, &defaults, &half, &none};
  clp_allocator *arena;
  for (int i = 0; i < 10; i++) {
    const clp_arena_options *options = given[i % 5];
    double otherwise = i < 5 ? 0.016 : 0.25;
    if (i == 5)
      setenv("CLPOOL_ARENA_SLACK", "0.25", 1);
    clpt_ok(clp_arena_allocator_create(device, options, &arena));
    const clp_arena_options *taken = &((const clpi_arena *)arena->self)->options;
    ck_assert_double_eq(taken->slack, options == &half ? 0.5 : options == &none ? 0 : otherwise);
    ck_assert_uint_eq(taken->min_segment_bytes, options == &none ? 0 : defaults.min_segment_bytes);
    clp_allocator_release(arena);
  }
}
END_TEST

START_TEST(a_name_is_copied_and_in_messages)
{
  char name[] = "weights";
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;
  clp_buffer *buffer;
  options.name = name;
  clpt_ok(clp_pool_create(device, &options, &pool));
  name[0] = 'x';
  ck_assert_str_eq(clp_pool_name(pool), "weights");
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 20000, &buffer));
  clpt_message_has("out of device memory in pool \"weights\": requested 20000 bytes");
  clpt_ok(clp_pool_set_limit(pool, 100));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, 500, &buffer));
  clpt_message_has("the pool \"weights\" manages");
  clp_pool_release(pool);
  pool = clpt_pool(device);
  ck_assert_ptr_null(clp_pool_name(pool));
  clp_pool_release(pool);
}
END_TEST

CLPT_SUITE("defaults")
{
  TCase *tests = clpt_case(suite, "defaults");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, the_log_names_once_each_variable_that_an_option_overrides); /* first */
  tcase_add_test(tests, the_environment_sets_what_options_leave_open);
  tcase_add_test(tests, what_a_program_sets_wins);
  tcase_add_test(tests, the_environment_sets_the_limit);
  tcase_add_test(tests, a_variable_that_cannot_be_read_is_an_error);
  tcase_add_test(tests, what_cannot_be_split_stays_without_an_arena);
  tcase_add_test(tests, an_arena_takes_what_is_set);
  tcase_add_test(tests, a_name_is_copied_and_in_messages);
}
