/* SPDX-License-Identifier: MIT */
/* Contexts of a trace: dense numbers, and replays in which each has a pool of its own. */
#include "support/chance.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/batch.h"

#include <inttypes.h>
#include <stdio.h>

START_TEST(numbers_are_dense_and_stay)
{
  static const struct {
    uint32_t owner, context;
  } numbers[] = {{0, 0}, {0, 0}, {1, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 6}, {1, 1}, {0, 2}};
  trace_batch_source source = {.reader = clpt_trace("Action,Pointer,Size,Context,Kind\n"
                                                    "allocate,0x1,1,70,\nallocate,0x2,1,0x46,\n"
                                                    "allocate,0x3,1,0,\nallocate,0x4,1,70,image\n"
                                                    "allocate,0x5,1,0,buffer\n"
                                                    "allocate,0x6,1,0xffffffffffffffff,\n"
                                                    "allocate,0x7,1,0x8000000000000000,\n"
                                                    "allocate,0x8,1,0x7fffffffffffffff,\n"
                                                    "allocate,0x9,1,0,\nallocate,0xa,1,70,image\n"),
                               .scale = 1.0,
                               .is_kept = true};
  for (int pass = 0; pass < 2; pass++) {
    clpt_ok(trace_batch_read(&source, TRACE_BATCH_ROWS));
    ck_assert_uint_eq(source.batch->count, 10);
    for (size_t i = 0; i < source.batch->count; i++) {
      ck_assert_uint_eq(source.batch->operations[i].owner, numbers[i].owner);
      ck_assert_uint_eq(source.batch->operations[i].context, numbers[i].context);
    }
    ck_assert_uint_eq(source.owners, 5);
    ck_assert_uint_eq(source.contexts, 7);
  }
  trace_close(source.reader);
  trace_batch_source_end(&source);
}
END_TEST

/* --- Replays --------------------------------------------------------------------------------- */

#define HEADER "Thread,Time,Action,Pointer,Size,Stream,Context\n"
#define ROW    "1,00:00:00.000000,"

enum { PAIRS = 2000, ROW_BYTES = 80, LIVE = 16 };

/* Rows of `first` to `last`: each context has blocks live of its own, at random; its rows are the
 * same whichever others there are. */
static trace_reader *random_trace(unsigned first, unsigned last)
{
  char *text = malloc(sizeof(HEADER) + (size_t)2 * PAIRS * ROW_BYTES), *to = text;
  clpt_chance chance = clpt_chance_seed(1);
  size_t live[3][LIVE] = {0};
  to += sprintf(to, HEADER);
  for (unsigned i = 0; i < PAIRS; i++) {
    unsigned context = 1 + (unsigned)clpt_chance_below(&chance, 2);
    size_t at = clpt_chance_below(&chance, LIVE), bytes = 1 + clpt_chance_below(&chance, 5000);
    uint64_t pointer = context * 100 + at;
    size_t *there = &live[context][at];
    if (context < first || context > last)
      continue;
    if (*there)
      to += sprintf(to, ROW "free,0x%" PRIx64 ",%zu,0,%u\n", pointer, *there, context);
    else
      to += sprintf(to, ROW "allocate,0x%" PRIx64 ",%zu,0,%u\n", pointer, bytes, context);
    *there = *there ? 0 : bytes;
  }
  trace_reader *reader = clpt_trace(text);
  free(text);
  return reader;
}

static trace_replay_result replay(unsigned first, unsigned last,
                                  const trace_replay_options *options)
{
  clp_allocator *allocator = clpt_simulated(0);
  trace_reader *reader = random_trace(first, last);
  trace_replay_result result;
  clpt_ok(trace_replay(reader, allocator, options, &result));
  trace_close(reader);
  clp_allocator_release(allocator);
  return result;
}

static const struct setting {
  bool pooled, on_arena;
  unsigned passes;
} settings[] = {{true, false, 1}, {true, false, 3}, {true, true, 1}, {false, true, 1}};

/* What the contexts come to together is what they come to one by one. */
START_TEST(contexts_have_pools_of_their_own)
{
  trace_replay_options options = TRACE_REPLAY_OPTIONS_INIT;
  options.pooled = settings[_i].pooled;
  options.on_arena = settings[_i].on_arena;
  options.passes = settings[_i].passes;
  trace_replay_result both = replay(1, 2, &options), one = replay(1, 1, &options),
                      other = replay(2, 2, &options);
  ck_assert_uint_eq(both.pools, 2);
  ck_assert_uint_eq(one.pools, 1);
  ck_assert_uint_gt(both.allocations, PAIRS / 3);
  ck_assert_uint_eq(both.allocations, one.allocations + other.allocations);
  ck_assert_uint_eq(both.hits, one.hits + other.hits);
  ck_assert_uint_eq(both.misses, one.misses + other.misses);
  ck_assert_uint_eq(both.device_allocations, one.device_allocations + other.device_allocations);
  size_t least = one.peak_active_bytes > other.peak_active_bytes ? one.peak_active_bytes
                                                                 : other.peak_active_bytes;
  ck_assert_uint_ge(both.peak_active_bytes, least);
  ck_assert_uint_le(both.peak_active_bytes, one.peak_active_bytes + other.peak_active_bytes);
  ck_assert_uint_le(both.peak_managed_bytes, one.peak_managed_bytes + other.peak_managed_bytes);
}
END_TEST

START_TEST(what_is_active_is_counted_over_all_pools)
{
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  clp_allocator *device = clpt_simulated(0);
  trace_reader *reader = clpt_trace(HEADER ROW "allocate,0x1,1000,0,7\n" /* 1000 */
                                    ROW "free,0x1,1000,0,7\n"            /* 0 */
                                    ROW "allocate,0x2,700,0,7\n"         /* 700, a hit */
                                    ROW "allocate,0x3,1000,0,0x8\n"      /* 1700, a miss */
                                    ROW "free,0x2,700,0,7\n"             /* 1000 */
                                    ROW "allocate,0x4,650,0,8\n"         /* 1650 */
                                    ROW "allocate failure,0x0,9,0,9\n");
  options.pool_options.leading_bits_in_bin_id = 0;
  clpt_ok(trace_replay(reader, device, &options, &result));
  ck_assert_uint_eq(result.pools, 2);
  ck_assert_uint_eq(result.hits, 1);
  ck_assert_uint_eq(result.misses, 3);
  ck_assert_uint_eq(result.peak_active_bytes, 1700);
  ck_assert_uint_eq(result.peak_managed_bytes, 3 * 1023);
  ck_assert_uint_eq(result.peak_device_bytes, 3 * 1023);
  clp_allocator_release(device);
  trace_close(reader);
}
END_TEST

/* Memory of one kind cannot serve another: a released buffer is no image. */
START_TEST(kinds_have_pools_of_their_own)
{
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  clp_allocator *device = clpt_simulated(0);
  trace_reader *reader = clpt_trace("Action,Pointer,Size,Context,Kind,Flags\n"
                                    "allocate,0x1,1000,1,buffer,0x1\n"
                                    "free,0x1,1000,1,buffer,0x1\n"
                                    "allocate,0x2,1000,1,image,0x1\n"
                                    "free,0x2,1000,1,image,0x1\n"
                                    "allocate,0x2,1000,1,image,0x1\n"
                                    "allocate,0x3,1000,1,buffer,0x2\n");
  clpt_ok(trace_replay(reader, device, &options, &result));
  ck_assert_uint_eq(result.pools, 2);
  ck_assert_uint_eq(result.hits, 2);
  ck_assert_uint_eq(result.misses, 2);
  clp_allocator_release(device);
  trace_close(reader);
}
END_TEST

CLPT_MAIN("contexts", clpt_run)
{
  TCase *numbers = clpt_case(suite, "numbers");
  tcase_add_test(numbers, numbers_are_dense_and_stay);
  TCase *replays = clpt_case(suite, "replays");
  clpt_add_table(replays, contexts_have_pools_of_their_own, settings);
  tcase_add_test(replays, what_is_active_is_counted_over_all_pools);
  tcase_add_test(replays, kinds_have_pools_of_their_own);
}
