/* SPDX-License-Identifier: MIT */
/* The model of the pools of `clpool run`: which held block serves whom, what goes back when, and
 * what has no pool. That the layer takes as much is tests/layer/check-tune.sh's. */
#include "support/suite.h"
#include "support/traces.h"
#include "trace/tune.h"

#include <stdio.h>
#include <stdlib.h>

static const size_t MiB = (size_t)1 << 20;

/* Rows of a recorded trace. */
typedef struct script {
  char text[4096];
} script;

static void add_row(script *to, const char *action, int pointer, size_t bytes, int context,
                    const char *kind, unsigned flags)
{
  size_t length = strlen(to->text);
  if (length == 0)
    length += (size_t)sprintf(to->text, "Action,Pointer,Size,Context,Kind,Flags\n");
  int added = snprintf(to->text + length, sizeof(to->text) - length, "%s,0x%d,%zu,%d,%s,%u\n",
                       action, pointer, bytes, context, kind, flags);
  ck_assert_int_lt(added, (int)(sizeof(to->text) - length));
}

/* Two objects, one after the other. */
static void add_two(script *to, size_t bytes, int context, const char *kind, unsigned flags,
                    size_t then_bytes, int then_context, const char *then_kind, unsigned then_flags)
{
  add_row(to, "allocate", 1, bytes, context, kind, flags);
  add_row(to, "free", 1, bytes, context, kind, flags);
  add_row(to, "allocate", 1, then_bytes, then_context, then_kind, then_flags);
  add_row(to, "free", 1, then_bytes, then_context, then_kind, then_flags);
}

/* Kinds are told by a few bytes in a thousand. */
static void expect_peak(trace_replay_result result, size_t bytes)
{
  ck_assert_uint_ge(result.peak_device_bytes, bytes);
  ck_assert_uint_le(result.peak_device_bytes, bytes + bytes / 250);
}

static trace_replay_result try_limited(const script *rows, unsigned leading_bits, size_t limit)
{
  static const trace_cost_table no_costs;
  trace_tune_options options = {.costs = &no_costs, .limit_bytes = limit};
  trace_tune_outcome outcome = {.setting = {.leading_bits = leading_bits, .in_layer = true}};
  trace_reader *reader = clpt_trace(rows->text);
  trace_batch_source source = {.reader = reader, .scale = 1.0, .is_kept = true};
  clpt_ok(trace_batch_read_all(&source));
  clpt_ok(trace_tune_add(&outcome, &source, "script", &options));
  trace_batch_source_end(&source);
  trace_close(reader);
  return outcome.result;
}

static trace_replay_result try_script(const script *rows, unsigned leading_bits)
{
  return try_limited(rows, leading_bits, 0);
}

/* Blocks that two passes take. */
static const struct {
  size_t bytes;
  int context;
  const char *kind;
  unsigned flags;
  size_t then_bytes;
  int then_context;
  const char *then_kind;
  unsigned then_flags;
  uint64_t blocks;
} pairs[] = {
    {1000, 1, "buffer", 1, 1000, 1, "buffer", 1, 1},
    {1000, 1, "buffer", 1, 1001, 1, "buffer", 1, 1}, /* the same bin */
    {1000, 1, "buffer", 1, 1100, 1, "buffer", 1, 2},
    {1000, 1, "buffer", 1, 1000, 1, "buffer", 4, 2},
    {1000, 1, "buffer", 1, 1000, 2, "buffer", 1, 2},
    {1000, 1, "buffer", 1, 1000, 1, "image", 1, 2},
    {1000, 1, "image", 1, 1000, 1, "image", 1, 1},
    {1000, 1, "image", 1, 1001, 1, "image", 1, 2},
    {1000, 1, "image", 1, 1000, 1, "image", 4, 2},
    {1000, 1, "svm", 1, 1000, 1, "svm", 1, 4},
    {1000, 1, "buffer", 33, 1000, 1, "buffer", 33, 4},               /* CL_MEM_COPY_HOST_PTR */
    {1000000, 1, "buffer", 1, 1015000, 1, "buffer", 1, 1},           /* 4 leading bits */
    {3 << 20, 1, "buffer", 1, (3 << 20) + 60000, 1, "buffer", 1, 2}, /* 6 of them */
    {3 << 20, 1, "buffer", 1, (3 << 20) + 30000, 1, "buffer", 1, 1},
};

START_TEST(a_held_block_serves_its_kind)
{
  script rows = {""};
  add_two(&rows, pairs[_i].bytes, pairs[_i].context, pairs[_i].kind, pairs[_i].flags,
          pairs[_i].then_bytes, pairs[_i].then_context, pairs[_i].then_kind, pairs[_i].then_flags);
  trace_replay_result result = try_script(&rows, 4);
  ck_assert_uint_eq(result.device_allocations, pairs[_i].blocks);
  ck_assert_uint_eq(result.allocations, 4);
  ck_assert_uint_eq(result.failures, 0);
}
END_TEST

static void add_image(script *to, const char *action, size_t mebibytes)
{
  add_row(to, action, (int)mebibytes, mebibytes * MiB, 1, "image", 1);
}

/* The most in use is 31 MiB, so blocks of 54.75 MiB may be taken. A new one makes the one go that
 * was released first: 25 MiB that of 12, and in the second pass 12 MiB that of 25. */
START_TEST(what_was_released_first_goes_back)
{
  static const size_t first[] = {12, 10, 9}, then[] = {25, 10, 9};
  script rows = {""};
  for (int i = 0; i < 3; i++)
    add_image(&rows, "allocate", first[i]);
  for (int i = 0; i < 3; i++)
    add_image(&rows, "free", first[i]);
  for (int i = 0; i < 3; i++) {
    add_image(&rows, "allocate", then[i]);
    add_image(&rows, "free", then[i]);
  }
  trace_replay_result result = try_script(&rows, 4);
  ck_assert_uint_eq(result.device_allocations, 4 + 2);
  ck_assert_uint_eq(result.device_frees, 1 + 2);
  expect_peak(result, 44 * MiB);
}
END_TEST

/* The most in use is 40 MiB, so blocks of 66 MiB may be taken. */
START_TEST(a_quarter_and_16_mebibytes_more_may_be_held)
{
  static const size_t second[] = {25, 27}, peaks[] = {65, 40};
  script rows = {""};
  add_two(&rows, 40 * MiB, 1, "image", 1, second[_i] * MiB, 1, "image", 1);
  expect_peak(try_script(&rows, 4), peaks[_i] * MiB);
}
END_TEST

/* Nothing is held, so the bound does not matter. */
START_TEST(what_is_in_use_may_be_more_than_the_bound)
{
  script rows = {""};
  for (size_t i = 1; i <= 9; i++)
    add_row(&rows, "allocate", (int)i, 100 * MiB + i, 1, "image", 1);
  trace_replay_result result = try_script(&rows, 4);
  ck_assert_uint_eq(result.failures, 0);
  expect_peak(result, 900 * MiB + 45);
}
END_TEST

START_TEST(contexts_have_bounds_of_their_own)
{
  script rows = {""};
  for (int context = 1; context <= 3; context++) {
    add_row(&rows, "allocate", 1, 30 * MiB, context, "image", 1);
    add_row(&rows, "free", 1, 30 * MiB, context, "image", 1);
  }
  expect_peak(try_script(&rows, 4), 90 * MiB);
}
END_TEST

/* Held blocks go for room under the limit, and memory that is not pooled does not count. A rounded
 * size of 4095 bytes does not fit beside one of 1023, and 2100 bytes do. */
START_TEST(a_limit_bounds_each_context)
{
  static const size_t sizes[] = {3000, 1000, 2100, 3000};
  static const uint64_t failures[] = {0, 0, 0, 2};
  script rows = {""};
  add_row(&rows, "allocate", 1, 9000, 1, "svm", 1);
  for (int i = 0; i < 4; i++) {
    add_row(&rows, "allocate", 2 + i, sizes[i], 1, "buffer", 1);
    if (i == 0)
      add_row(&rows, "free", 2, sizes[0], 1, "buffer", 1);
    ck_assert_uint_eq(try_limited(&rows, 0, 4200).failures, failures[i]);
  }
  expect_peak(try_limited(&rows, 0, 4200), 9000 + 4095);
  ck_assert_uint_eq(try_limited(&rows, 0, 0).failures, 0);
}
END_TEST

/* Of 1023 and 4095 bytes that are held, 1023 go for 511, and these for 1023 in the second pass. */
START_TEST(at_a_limit_the_oldest_goes_first)
{
  script rows = {""};
  add_row(&rows, "allocate", 1, 1000, 1, "buffer", 1);
  add_row(&rows, "allocate", 2, 3000, 1, "buffer", 1);
  add_row(&rows, "free", 1, 1000, 1, "buffer", 1);
  add_row(&rows, "free", 2, 3000, 1, "buffer", 1);
  add_row(&rows, "allocate", 1, 500, 1, "buffer", 1);
  add_row(&rows, "allocate", 2, 3000, 1, "buffer", 1);
  add_row(&rows, "free", 1, 500, 1, "buffer", 1);
  add_row(&rows, "free", 2, 3000, 1, "buffer", 1);
  ck_assert_uint_eq(try_limited(&rows, 0, 5200).device_allocations, 3 + 2);
}
END_TEST

START_TEST(a_trace_of_nothing_comes_to_nothing)
{
  script rows = {"Action,Pointer,Size,Context\n"};
  ck_assert_uint_eq(try_script(&rows, 0).device_allocations, 0);
}
END_TEST

CLPT_MAIN("layer_pools", clpt_run)
{
  TCase *tests = clpt_case(suite, "layer_pools");
  tcase_add_loop_test(tests, a_held_block_serves_its_kind, 0,
                      (int)(sizeof(pairs) / sizeof(pairs[0])));
  tcase_add_test(tests, what_was_released_first_goes_back);
  tcase_add_loop_test(tests, a_quarter_and_16_mebibytes_more_may_be_held, 0, 2);
  tcase_add_test(tests, what_is_in_use_may_be_more_than_the_bound);
  tcase_add_test(tests, contexts_have_bounds_of_their_own);
  tcase_add_test(tests, a_limit_bounds_each_context);
  tcase_add_test(tests, at_a_limit_the_oldest_goes_first);
  tcase_add_test(tests, a_trace_of_nothing_comes_to_nothing);
}
