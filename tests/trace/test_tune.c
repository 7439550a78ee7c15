/* SPDX-License-Identifier: MIT */
/* Tuning: a setting comes to what two passes of its replay do; what is counted, times what it
 * costs; the rule by which a setting is recommended; and the model of the pools of `clpool run`, of
 * which tests/layer/check-tune.sh tells whether the layer takes as much. */
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/tune.h"

#include <stdio.h>
#include <stdlib.h>

/* Powers of ten tell what was counted how often. */
static const trace_cost_table *costs_of(bool has_parts)
{
  static trace_costs costs; /* large */
  static const double figures[TRACE_COST_OPERATIONS] = {
      [TRACE_COST_ALLOCATE] = 1e6,   [TRACE_COST_FREE] = 1e4,        [TRACE_COST_SUB_BUFFER] = 10,
      [TRACE_COST_FILL_FRESH] = 2e5, [TRACE_COST_FILL_REUSED] = 1e5, [TRACE_COST_POOL_PAIR] = 1,
      [TRACE_COST_ARENA_PAIR] = 100,
  };
  costs = (trace_costs){0};
  for (trace_cost_operation i = 0; i < TRACE_COST_OPERATIONS; i++)
    if (has_parts || i != TRACE_COST_SUB_BUFFER)
      ck_assert(trace_costs_add(&costs, "some", i, 4096, figures[i]));
  return trace_costs_find(&costs, "some");
}
static const double block_ns = 1e6 + 1e5;

static const trace_tune_setting pool = {.leading_bits = 4};
static const trace_tune_setting on_parts = {.leading_bits = 4, .on_arena = true, .slack = 0.1};
static const trace_tune_setting on_addresses = {
    .leading_bits = 4, .on_arena = true, .slack = 0.1, .any_bits = true};

/* Drops `reader`. */
static void add_trace(trace_tune_outcome *outcome, trace_reader *reader, const char *name,
                      bool has_parts, size_t limit)
{
  trace_tune_options options = {.costs = costs_of(has_parts), .limit_bytes = limit};
  trace_batch_source source = {.reader = reader, .scale = 1.0, .is_kept = true};
  clpt_ok(trace_batch_read_all(&source));
  clpt_ok(trace_tune_add(outcome, &source, name, &options));
  trace_batch_source_end(&source);
  trace_close(reader);
}

static trace_tune_outcome try_rows(const char *rows, trace_tune_setting setting, bool has_parts,
                                   size_t limit)
{
  trace_tune_outcome outcome = {.setting = setting};
  add_trace(&outcome, clpt_short_trace(rows), "rows", has_parts, limit);
  return outcome;
}

/* --- what is counted, and its time --- */

/* Two sizes, four allocations, four frees. */
static const char four_pairs[] = "a1=100 f1=100 a1=100 a2=5000 f2=5000 a2=5000 f1=100 f2=5000";

START_TEST(what_is_counted_costs)
{
  /* Blocks in the first pass alone. */
  trace_tune_outcome it = try_rows(four_pairs, pool, true, 0);
  ck_assert_double_eq(it.pass_ns[0], 2 * block_ns + 4);
  ck_assert_double_eq(it.pass_ns[1], 4);
  ck_assert_double_eq(it.first_ns, (2 * block_ns + 4) / 8);
  ck_assert_double_eq(it.result.ns_per_operation, 4.0 / 8);
  /* What an arena carves: where a block of a size was, the next one finds its sub-buffer. */
  it = try_rows(four_pairs, on_parts, true, 0);
  ck_assert_double_eq(it.pass_ns[0],
                      (double)it.result.device_allocations * block_ns + 4 + 2 * (10 + 100));
  it = try_rows(four_pairs, on_addresses, false, 0);
  ck_assert_double_eq(it.pass_ns[1], 4 + 4 * 100);
  /* What goes back. */
  it = try_rows("a1=4000 f1=4000 a1=100 f1=100 a1=2000 f1=2000", pool, true, 5000);
  ck_assert_uint_gt(it.result.device_frees, 0);
  ck_assert_double_eq(it.pass_ns[0] + it.pass_ns[1],
                      (double)it.result.device_allocations * block_ns +
                          (double)it.result.device_frees * 1e4 + 6);
  /* What is refused is told. */
  it = try_rows("a1=100 x0=7 a2=4000 a3=4000 a4=4000 f1=100", pool, true, 5000);
  ck_assert_uint_eq(it.result.failures, 4);
  ck_assert_uint_eq(it.result.first_failure, 4);
  ck_assert_uint_eq(it.result.limit_bytes, 5000);
  ck_assert_uint_eq(it.result.recorded_failures, 1);
}
END_TEST

/* Bytes are of the trace that takes most, counts and times of all. */
START_TEST(several_traces)
{
  static const char *const names[] = {"small", "large", "middle"};
  static const char *const rows[] = {"a1=100 f1=100", "a1=9000 a2=9000 f1=9000", "a1=9000"};
  trace_tune_outcome outcome = {.setting = pool};
  for (int i = 0; i < 3; i++)
    add_trace(&outcome, clpt_short_trace(rows[i]), names[i], true, 0);
  ck_assert_str_eq(outcome.worst, "large");
  ck_assert_uint_eq(outcome.result.peak_active_bytes, 18000);
  ck_assert_uint_ge(outcome.result.peak_device_bytes, 18000);
  ck_assert_uint_lt(outcome.result.peak_device_bytes, 20000);
  ck_assert_uint_eq(outcome.result.allocations, 2 * 4);
  ck_assert_double_eq(outcome.pass_ns[0], 4 * block_ns + 4);
  ck_assert_double_eq(outcome.result.ns_per_operation, 4.0 / 6);
}
END_TEST

/* --- the rule --- */

static trace_tune_outcome outcome_of(double ns, size_t bytes, unsigned bits, bool arena)
{
  return (trace_tune_outcome){
      .setting = {.leading_bits = bits, .on_arena = arena},
      .result = {.ns_per_operation = ns, .peak_device_bytes = bytes, .device_allocations = 7}};
}

/* What ran out of memory is never recommended. */
START_TEST(the_least_memory_near_the_quickest)
{
  trace_tune_outcome it[] = {outcome_of(10, 9000, 0, false), outcome_of(510, 2000, 4, true),
                             outcome_of(510.5, 1000, 8, true), outcome_of(20, 4000, 4, false)};
  ck_assert_ptr_eq(trace_tune_recommend(it, 4, 500), &it[1]);
  ck_assert_ptr_eq(trace_tune_recommend(it, 4, 501), &it[2]);
  ck_assert_ptr_eq(trace_tune_recommend(it, 4, 499), &it[3]);
  ck_assert_ptr_eq(trace_tune_recommend(it, 4, 0), &it[0]);
  for (size_t i = 0; i < 4; i++)
    ck_assert(!trace_tune_is_beaten(it, 4, i));
  it[2].result.failures = it[0].result.failures = 1;
  ck_assert_ptr_eq(trace_tune_recommend(it, 4, 501), &it[1]);
  ck_assert_ptr_eq(trace_tune_recommend(it, 4, 0), &it[3]);
  ck_assert(trace_tune_is_beaten(it, 4, 0));
  ck_assert(!trace_tune_is_beaten(it, 4, 1));
  ck_assert_ptr_null(trace_tune_recommend(it, 1, 500));
  ck_assert_ptr_null(trace_tune_recommend(it, 0, 500));
}
END_TEST

/* The first of each pair comes first, by what decides last in the order of ties. */
START_TEST(ties_are_broken)
{
  trace_tune_outcome pairs[][2] = {
      {outcome_of(10, 100, 9, true), outcome_of(10, 100, 0, false)},
      {outcome_of(10, 100, 9, false), outcome_of(10, 100, 0, true)},
      {outcome_of(10, 100, 3, true), outcome_of(10, 100, 4, true)},
      {outcome_of(10, 100, 4, true), outcome_of(10, 100, 4, true)},
  };
  pairs[0][0].result.device_allocations = 6;
  pairs[2][0].setting.slack = 1;
  pairs[3][1].setting.slack = 1;
  const trace_tune_outcome forth[] = {pairs[_i][0], pairs[_i][1]};
  const trace_tune_outcome back[] = {pairs[_i][1], pairs[_i][0]};
  ck_assert_ptr_eq(trace_tune_recommend(forth, 2, 500), &forth[0]);
  ck_assert_ptr_eq(trace_tune_recommend(back, 2, 500), &back[1]);
  ck_assert(!trace_tune_is_beaten(forth, 2, 0));
  ck_assert(trace_tune_is_beaten(forth, 2, 1));
}
END_TEST

/* Programs by chance: a few sizes or many, few blocks live or many. */
static char *random_rows(unsigned seed)
{
  enum { OPERATIONS = 600, ROW_BYTES = 32, MOST_LIVE = 64 };
  clpt_chance chance = clpt_chance_seed(seed);
  size_t live[MOST_LIVE] = {0}, count = 1 + clpt_chance_below(&chance, MOST_LIVE - 1);
  uint64_t most = UINT64_C(1) << (8 + clpt_chance_below(&chance, 16));
  char *rows = calloc(OPERATIONS, ROW_BYTES), *to = rows;
  for (int i = 0; i < OPERATIONS; i++) {
    size_t k = clpt_chance_below(&chance, count);
    char action = live[k] ? 'f' : 'a';
    size_t bytes = live[k] ? live[k] : 1 + clpt_chance_below(&chance, most);
    to += sprintf(to, "%s%c%zx=%zu", i ? " " : "", action, k + 1, bytes);
    live[k] = action == 'a' ? bytes : 0;
  }
  return rows;
}

/* A setting comes to what its replay does twice. A pool without an arena asks the device for
 * nothing in the second pass, so it is near enough to the quickest: what takes more memory is not
 * recommended. */
START_TEST(settings_of_a_program)
{
  const bool has_parts = _i % 2;
  trace_tune_outcome outcomes[TRACE_TUNE_SETTINGS] = {0};
  char *rows = random_rows((unsigned)_i);
  for (size_t i = 0; i < TRACE_TUNE_SETTINGS; i++) {
    trace_replay_options options = clpt_pooled();
    trace_replay_result expected, result;
    trace_reader *reader = clpt_short_trace(rows);
    clp_allocator *device = clpt_simulated(0);
    outcomes[i].setting = trace_tune_settings[i];
    outcomes[i].setting.any_bits = outcomes[i].setting.on_arena && !has_parts;
    add_trace(&outcomes[i], clpt_short_trace(rows), "rows", has_parts, 0);
    options.passes = 2;
    options.pool_options.leading_bits_in_bin_id = outcomes[i].setting.leading_bits;
    options.on_arena = outcomes[i].setting.on_arena;
    options.arena_options.slack = outcomes[i].setting.slack;
    clpt_ok(trace_replay(reader, device, &options, &expected));
    clp_allocator_release(device);
    trace_close(reader);
    if (options.on_arena && has_parts)
      continue; /* an arena of addresses is another */
    result = outcomes[i].result;
    result.ns_per_operation = expected.ns_per_operation;
    memcpy(result.kinds, expected.kinds, sizeof(result.kinds));
    ck_assert_mem_eq(&result, &expected, sizeof(result));
  }
  free(rows);
  const trace_tune_outcome *best = trace_tune_recommend(outcomes, TRACE_TUNE_SETTINGS, 500);
  ck_assert_ptr_nonnull(best);
  for (size_t i = 0; i < TRACE_TUNE_SETTINGS; i++)
    if (!outcomes[i].setting.on_arena)
      ck_assert_uint_le(best->result.peak_device_bytes, outcomes[i].result.peak_device_bytes);
}
END_TEST

/* --- the pools of clpool run --- */

#define M 1048576

/* "a1=1000@2b3" allocates 1000 bytes in context 2, a buffer (i: an image, s: SVM) with flags 3;
 * "f1" frees them. Blocks are those that two passes take and give back. */
static const struct run {
  const char *rows;
  unsigned bits;
  size_t limit;
  uint64_t blocks, frees, refused;
  size_t peak; /* 0: not looked at */
} runs[] = {
    {"", 0, 0, 0, 0, 0, 0},
    /* A held block serves its kind. */
    {"a1=1000@1b1 f1 a1=1000@1b1 f1", 4, 0, 1, 0, 0, 0},
    {"a1=1000@1b1 f1 a1=1001@1b1 f1", 4, 0, 1, 0, 0, 0}, /* the same bin */
    {"a1=1000@1b1 f1 a1=1100@1b1 f1", 4, 0, 2, 0, 0, 0},
    {"a1=1000@1b1 f1 a1=1000@1b4 f1", 4, 0, 2, 0, 0, 0},
    {"a1=1000@1b1 f1 a1=1000@2b1 f1", 4, 0, 2, 0, 0, 0},
    {"a1=1000@1b1 f1 a1=1000@1i1 f1", 4, 0, 2, 0, 0, 0},
    {"a1=1000@1i1 f1 a1=1000@1i1 f1", 4, 0, 1, 0, 0, 0},
    {"a1=1000@1i1 f1 a1=1001@1i1 f1", 4, 0, 2, 0, 0, 0},
    {"a1=1000@1i1 f1 a1=1000@1i4 f1", 4, 0, 2, 0, 0, 0},
    {"a1=1000@1s1 f1 a1=1000@1s1 f1", 4, 0, 4, 4, 0, 0},
    {"a1=1000@1b33 f1 a1=1000@1b33 f1", 4, 0, 4, 4, 0, 0}, /* CL_MEM_COPY_HOST_PTR */
    {"a1=1000000@1b1 f1 a1=1015000@1b1 f1", 4, 0, 1, 0, 0, 0},
    {"a1=3145728@1b1 f1 a1=3205728@1b1 f1", 4, 0, 2, 0, 0, 0}, /* 6 leading bits */
    {"a1=3145728@1b1 f1 a1=3175728@1b1 f1", 4, 0, 1, 0, 0, 0},
    /* The most in use is 31 MiB, so blocks of 54.75 MiB may be taken. A new one makes the one go
     * that was released first: 25 MiB that of 12, and in the second pass 12 MiB that of 25. */
    {"a1=12M@1i1 a2=10M@1i1 a3=9M@1i1 f1 f2 f3 a1=25M@1i1 f1 a2=10M@1i1 f2 a3=9M@1i1 f3", 4, 0, 6,
     3, 0, 44 * M},
    /* A quarter and 16 MiB more: of 40 MiB, 66. */
    {"a1=40M@1i1 f1 a1=25M@1i1 f1", 4, 0, 2, 0, 0, 65 * M},
    {"a1=40M@1i1 f1 a1=27M@1i1 f1", 4, 0, 4, 3, 0, 40 * M},
    /* What is in use may be more than the bound, and each context has its own. */
    {"a1=30M@1i1 f1 a1=30M@2i1 f1 a1=30M@3i1 f1", 4, 0, 3, 0, 0, 90 * M},
    {"a1=100M@1i1 a2=101M@1i1 a3=102M@1i1 a4=103M@1i1", 4, 0, 4, 0, 0, 406 * M},
    /* At a limit the oldest go: of 1023 and 4095 bytes that are held, 1023 for 511, and these for
     * 1023 in the second pass. Memory that is not pooled does not count. A rounded size of 4095
     * bytes does not fit beside one of 1023, and 2100 bytes do. */
    {"a1=1000@1b1 a2=3000@1b1 f1 f2 a1=500@1b1 a2=3000@1b1 f1 f2", 0, 5200, 5, 3, 0, 0},
    {"a1=9000@1s1 a2=3000@1b1 f2 a3=1000@1b1 a4=2100@1b1", 0, 4200, 8, 5, 0, 13095},
    {"a1=9000@1s1 a2=3000@1b1 f2 a3=1000@1b1 a4=2100@1b1 a5=3000@1b1", 0, 4200, 8, 5, 2, 13095},
    {"a1=9000@1s1 a2=3000@1b1 f2 a3=1000@1b1 a4=2100@1b1 a5=3000@1b1", 0, 0, 5, 1, 0, 0},
};

/* The text of a recorded trace. */
static void write_run(const char *rows, char *text)
{
  static const char *const kinds[] = {['b'] = "buffer", ['i'] = "image", ['s'] = "svm"};
  char ends[10][64], action, unit, kind;
  int pointer, length, context;
  unsigned bytes, flags;
  text += sprintf(text, "Action,Pointer,Size,Context,Kind,Flags\n");
  for (; sscanf(rows, " %c%d%n", &action, &pointer, &length) == 2; rows += length) {
    if (action == 'a') {
      int read = sscanf(rows + length, "=%u%c%*[@]", &bytes, &unit);
      ck_assert_int_eq(read, 2);
      rows = strchr(rows, '@') + 1;
      ck_assert_int_eq(sscanf(rows, "%d%c%u%n", &context, &kind, &flags, &length), 3);
      sprintf(ends[pointer], "%u,%d,%s,%u", unit == 'M' ? bytes * M : bytes, context,
              kinds[(int)kind], flags);
    }
    text +=
        sprintf(text, "%s,0x%d,%s\n", action == 'a' ? "allocate" : "free", pointer, ends[pointer]);
  }
  ck_assert_str_eq(rows, "");
}

START_TEST(pools_of_clpool_run)
{
  const struct run *it = &runs[_i];
  char text[2048];
  write_run(it->rows, text);
  trace_tune_setting setting = {.leading_bits = it->bits, .in_layer = true};
  trace_replay_result result = try_rows(text, setting, true, it->limit).result;
  ck_assert_uint_eq(result.device_allocations, it->blocks);
  ck_assert_uint_eq(result.device_frees, it->frees);
  ck_assert_uint_eq(result.failures, it->refused);
  if (it->peak > 0) { /* kinds are told by a few bytes in a thousand */
    ck_assert_uint_ge(result.peak_device_bytes, it->peak);
    ck_assert_uint_le(result.peak_device_bytes, it->peak + it->peak / 250);
  }
}
END_TEST

START_TEST(without_host_memory_it_fails)
{
  trace_tune_options options = {.costs = costs_of(true)};
  trace_tune_outcome outcome = {.setting = on_parts};
  trace_reader *reader = clpt_short_trace(four_pairs);
  trace_batch_source source = {.reader = reader, .scale = 1.0, .is_kept = true};
  clpt_host_failures each = {0};
  outcome.setting.in_layer = _i > 0;
  clpt_ok(trace_batch_read_all(&source));
  while (!each.is_over) {
    clpt_host_fail_next(&each);
    clpt_host_check(&each, trace_tune_add(&outcome, &source, "rows", &options));
  }
  ck_assert_uint_ge(each.count, 4);
  trace_batch_source_end(&source);
  trace_close(reader);
}
END_TEST

CLPT_MAIN("tune", clpt_run)
{
  TCase *tests = clpt_case(suite, "tune");
  tcase_add_test(tests, what_is_counted_costs);
  tcase_add_test(tests, several_traces);
  tcase_add_test(tests, the_least_memory_near_the_quickest);
  tcase_add_loop_test(tests, ties_are_broken, 0, 4);
  tcase_add_loop_test(tests, settings_of_a_program, 0, 16);
  clpt_add_table(tests, pools_of_clpool_run, runs);
  tcase_add_loop_test(tests, without_host_memory_it_fails, 0, 2);
}
