/* SPDX-License-Identifier: MIT */
/* Replays: figures and steps of small traces, known answers for a recorded program, goals of the
 * arena on it, what ends a replay, time, progress, scales. */
#include "core/allocator/allocator.h"
#include "support/failing_allocator.h"
#include "support/late_device.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/batch.h"
#include "trace/metering_allocator.h"
#include "trace/replay.h"

#include <stdio.h>

/* --- small traces --- */

enum { BARE = 1, ON_ARENA = 2, TWICE = 4, NO_LEADING_BITS = 8 };

#define KINDS                                                                                      \
  "Action,Pointer,Size,Context,Kind,Flags\nallocate,0x1,1000,1,buffer,0x1\n"                       \
  "free,0x1,1000,1,buffer,0x1\nallocate,0x2,1000,1,image,0x1\nfree,0x2,1000,1,image,0x1\n"         \
  "allocate,0x2,1000,1,image,0x1\nallocate,0x3,1000,1,buffer,0x2\n"
#define CONTEXTS                                                                                   \
  "Action,Pointer,Size,Context\nallocate,0x1,1000,7\nfree,0x1,1000,7\nallocate,0x2,700,7\n"        \
  "allocate,0x3,1000,0x8\nfree,0x2,700,7\nallocate,0x4,650,8\nallocate failure,0x0,9,9\n"

/* Allocations frees | hits misses | the device's allocations frees | refused, recorded failures |
 * pools | peaks: active managed device bytes. Steps: the bytes of blocks that come and go, then
 * the outcome, its bytes, its slot. */
static const struct example {
  const char *rows;
  unsigned how;
  size_t capacity, limit;
  double scale;
  const char *figures, *steps;
} examples[] = {
    {"", 0, 0, 0, 1, "0 0 | 0 0 | 0 0 | 0 0 | 1 | 0 0 0", ""},
    {"a1=100 f1=100 a2=100 a1=90 f2=100 a3=3000", 0, 0, 0, 1,
     "4 2 | 1 3 | 3 0 | 0 0 | 1 | 3090 3265 3265",
     "+103 m100@0 f100@0 h100@0 +91 m90@1 f100@0 +3071 m3000@0 "},
    {"a1=100 f1=100 a2=100 a1=90 f2=100 a3=3000", BARE, 0, 0, 1,
     "4 2 | 0 4 | 4 2 | 0 0 | 1 | 3090 3090 3090", "m100@0 f100@0 m100@0 m90@1 f100@0 m3000@0 "},
    {"a0=0 a0=0 f0=0 a5=0 f0=0 a0=0 f5=0", 0, 0, 0, 1, "4 3 | 4 0 | 0 0 | 0 0 | 1 | 0 0 0",
     "h0@0 h0@1 f0@1 h0@1 f0@0 h0@0 f0@1 "},
    {"a0=0 a0=0 f0=0 a5=0 f0=0 a0=0 f5=0", BARE, 0, 0, 1, "4 3 | 0 4 | 0 0 | 0 0 | 1 | 0 0 0",
     "h0@0 h0@1 f0@1 h0@1 f0@0 h0@0 f0@1 "},
    {"x0=999 a1=10 x0=5000 f1=10", 0, 0, 0, 1, "1 1 | 0 1 | 1 0 | 0 2 | 1 | 10 10 10",
     "s0@0 +10 m10@0 s0@0 f10@0 "},
    /* Refused: what is freed then is not there. A pool gives back what it holds before. */
    {"a1=600 a2=600 f2=600 f1=600 a2=600 f2=600", BARE, 1000, 0, 1,
     "2 2 | 0 2 | 2 2 | 1 0 | 1 | 600 600 600", ""},
    {"a1=600 a2=600 f2=600 f1=600 a2=600 f2=600", 0, 1000, 0, 1,
     "2 2 | 1 1 | 1 0 | 1 0 | 1 | 600 607 607", ""},
    {"a1=600 f1=600 a2=900 a3=600 f3=600 f2=900", 0, 1000, 0, 1,
     "2 2 | 0 2 | 2 1 | 1 0 | 1 | 900 927 927",
     "+607 m600@0 f600@0 -607 +927 m900@0 r600@1 s600@1 f900@0 "},
    {"a1=600 a2=600 f2=600 f1=600", 0, 0, 1000, 1, "1 1 | 0 1 | 1 0 | 1 0 | 1 | 600 607 607", ""},
    /* Pools by context and kind of memory, whose figures add up. */
    {CONTEXTS, NO_LEADING_BITS, 0, 0, 1, "4 2 | 1 3 | 3 0 | 0 1 | 2 | 1700 3069 3069", ""},
    {CONTEXTS, NO_LEADING_BITS | TWICE, 0, 0, 1, "8 4 | 5 3 | 3 0 | 0 2 | 2 | 1700 3069 3069", ""},
    {CONTEXTS, ON_ARENA, 0, 0, 1, "4 2 | 2 2 | 2 0 | 0 1 | 2 | 1700 2816 8192", ""},
    {KINDS, 0, 0, 0, 1, "4 2 | 2 2 | 2 0 | 0 0 | 2 | 2000 2046 2046", ""},
    {KINDS, BARE | ON_ARENA, 0, 0, 1, "4 2 | 0 4 | 2 0 | 0 0 | 2 | 2000 8192 8192", ""},
    {"Action,Pointer,Size,Context\nallocate,0x1,1,70\nallocate,0x2,1,0x46\nallocate,0x3,1,0\n"
     "allocate,0x4,1,0xffffffffffffffff\nallocate,0x5,1,0x8000000000000000\n"
     "allocate,0x6,1,0x7fffffffffffffff\nallocate,0x7,1,0\n",
     0, 0, 0, 1, "7 0 | 0 7 | 7 0 | 0 0 | 5 | 7 7 7", ""},
    {"a1=400 a2=1 a3=0 f1=400", BARE, 0, 0, 0.25, "3 1 | 0 3 | 2 1 | 0 0 | 1 | 101 101 101",
     "m100@0 m1@1 h0@2 f100@0 "},
};

static const char *figures_of(const trace_replay_result *is)
{
  static char text[256];
  (void)snprintf(text, sizeof(text),
                 "%llu %llu | %llu %llu | %llu %llu | %llu %llu | %zu | %zu %zu %zu",
                 (unsigned long long)is->allocations, (unsigned long long)is->frees,
                 (unsigned long long)is->hits, (unsigned long long)is->misses,
                 (unsigned long long)is->device_allocations, (unsigned long long)is->device_frees,
                 (unsigned long long)is->failures, (unsigned long long)is->recorded_failures,
                 is->pools, is->peak_active_bytes, is->peak_managed_bytes, is->peak_device_bytes);
  return text;
}

static void note_block(size_t pool, size_t bytes, bool is_taken, void *steps)
{
  fprintf(steps, "%c%zu ", is_taken ? '+' : '-', bytes);
}

static clp_status note_step(const trace_replay_step *step, void *steps)
{
  fprintf(steps, "%c%zu@%zu ", "hmrfs"[(int)step->outcome], step -> bytes, step -> slot);
  return CLP_SUCCESS;
}

static trace_replay_options options_of(unsigned how)
{
  trace_replay_options options = TRACE_REPLAY_OPTIONS_INIT;
  options.pooled = !(how & BARE);
  options.on_arena = how & ON_ARENA;
  options.passes = how & TWICE ? 2 : 1;
  if (how & NO_LEADING_BITS)
    options.pool_options.leading_bits_in_bin_id = 0;
  return options;
}

static clp_status replay(trace_reader *reader, size_t capacity, const trace_replay_options *options,
                         trace_replay_result *result)
{
  clp_allocator *allocator = clpt_simulated(capacity);
  clp_status status = trace_replay(reader, allocator, options, result);
  clp_allocator_release(allocator);
  trace_close(reader);
  return status;
}

/* Observed or not, the figures are the same. */
START_TEST(a_small_trace)
{
  const struct example *it = &examples[_i];
  char steps[512] = "";
  FILE *file = fmemopen(steps, sizeof(steps), "w");
  trace_replay_observer observer = {note_step, note_block, file};
  trace_replay_options options = options_of(it->how);
  options.has_limit = true;
  options.limit_bytes = it->limit;
  options.scale = it->scale;
  for (int i = 0; i < 2; i++) {
    trace_replay_result result;
    clpt_ok(replay(clpt_short_trace(it->rows), it->capacity, &options, &result));
    ck_assert_str_eq(figures_of(&result), it->figures);
    ck_assert_uint_eq(result.limit_bytes, it->how & BARE ? 0 : it->limit);
    if (result.peak_active_bytes)
      ck_assert_double_eq_tol(result.footprint * (double)result.peak_active_bytes,
                              (double)result.peak_device_bytes, 1e-6);
    options.observer = it->how & TWICE ? NULL : &observer;
  }
  fclose(file);
  if (*it->steps)
    ck_assert_str_eq(steps, it->steps);
}
END_TEST

#define NOT_LIVE " (--lenient skips such frees)"

static const struct wrong {
  const char *rows, *message;
  double scale;
} wrong[] = {
    {"a1=7 a2=7 f1=7 f1=7", "5:24: expected a pointer that is live, found 0x1" NOT_LIVE, 1},
    {"f10=5", "2:24: expected a pointer that is live, found 0x10" NOT_LIVE, 1},
    {"a0=0 f0=0 f0=0", "4:24: expected a pointer that is live, found 0x0" NOT_LIVE, 1},
    {"a10=5 a20=6 f10=6", "4:29: expected the size 5 that line 2 allocated, found 6", 1},
    {"a0=0 f0=1", "3:28: expected the size 0 that line 2 allocated, found 1", 1},
    {"a1=1 f1=1 a2=2",
     "4:32: expected a size of at most 18446744073709551615 bytes when scaled by 1e+19, found 2",
     1e19},
};

START_TEST(a_trace_that_cannot_be)
{
  char message[256];
  trace_replay_options options = options_of(0);
  trace_replay_result result;
  options.scale = wrong[_i].scale;
  clpt_fails(CLP_INVALID_ARGUMENT, replay(clpt_short_trace(wrong[_i].rows), 0, &options, &result));
  (void)snprintf(message, sizeof(message), "trace:%s", wrong[_i].message);
  ck_assert_str_eq(clp_last_error()->message, message);
}
END_TEST

/* --- devices --- */

/* All that was taken must have come back to the device. */
static clp_status replay_on(clpt_device *device, const char *rows, unsigned how,
                            trace_replay_result *result)
{
  trace_replay_options options = options_of(how);
  trace_reader *reader = clpt_short_trace(rows);
  clp_allocator *allocator = clpt_device_allocator(device);
  clp_status status = trace_replay(reader, allocator, &options, result);
  clp_allocator_release(allocator);
  trace_close(reader);
  clpt_device_assert_ended(device);
  return status;
}

START_TEST(a_device_that_fails)
{
  static const clpt_fault gone = {.after = 1,
                                  .count = 1,
                                  .status = CLP_BACKEND_ERROR,
                                  .native_code = -36,
                                  .message = "the device is gone"};
  clpt_device device;
  trace_replay_result result;
  clpt_device_init(&device);
  *(_i < 2 ? &device.allocate_fault : &device.free_fault) = gone;
  clpt_fails(CLP_BACKEND_ERROR,
             replay_on(&device, "a1=10 f1=10 a2=2000 f2=2000", _i ? BARE : 0, &result));
  ck_assert_str_eq(clp_last_error()->message,
                   _i < 2 ? "trace:4: allocation of 2000 bytes: the device is gone"
                          : "trace:5: free of 2000 bytes: the device is gone");
  ck_assert_int_eq(clp_last_error()->native_code, -36);
}
END_TEST

static clp_status forget(void *self, clp_stream stream)
{
  return self == stream ? CLP_BUSY : CLP_SUCCESS;
}

/* What the replay needs of a device's order, it asks that device: an arena of several threads whose
 * parts are exclusive asks whether what used them is done, and splits; a pool drains. */
START_TEST(a_device_that_orders_streams)
{
  clpt_late_device device;
  trace_replay_result result;
  trace_replay_options options = options_of(ON_ARENA);
  options.arena_options.one_thread = !_i;
  options.arena_options.min_segment_bytes = 512;
  clpt_late_init(&device);
  clpt_late_set_freeing(&device, CLPT_LATE_FREES_IN_ORDER);
  device.opaque = true;
  device.capacity = 3000;
  device.ops.exclusive_parts = true;
  device.ops.forget_stream = forget;
  clp_stream home = clpt_late_stream_new(&device);
  device.ops.home_stream = home;
  clp_allocator *allocator = clpt_late_allocator(&device);
  trace_reader *reader =
      clpt_short_trace("a1=400 f1=400 a2=500 f2=500 a3=300 f3=300 a4=1900 a5=1900");
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(result.failures, 1);
  ck_assert_int_eq(device.calls[CLPT_LATE_MARK_IS_DONE] > 0, _i);
  ck_assert_uint_gt(device.calls[CLPT_LATE_SPLIT], 0);
  ck_assert_uint_gt(device.calls[CLPT_LATE_UNSPLIT], 0);
  ck_assert_uint_gt(device.calls[CLPT_LATE_DRAIN], 0);
  clp_allocator *metering = NULL;
  clpt_ok(trace_metering_allocator_create(allocator, &metering));
  ck_assert_int_eq(metering->ops.forget_stream(metering->self, &device), CLP_BUSY);
  clp_allocator_release(metering);
  trace_close(reader);
  clp_allocator_release(allocator);
  clpt_late_stream_drop(&device, home);
  clpt_late_assert_ended(&device);
}
END_TEST

/* --- a recorded program --- */

enum { RESNET_ALLOCATIONS = 8662, RESNET_FREES = 8659, BITS = 9 };
static const size_t resnet_peak_active_bytes = 8631411487;

/* By leading bits, from an independent simulation: bins, a stack of blocks in each, nothing else;
 * and bare. */
static const struct answer {
  uint64_t misses;
  size_t peak_bytes;
} answers[BITS + 1] = {
    {939, 18291958717},  {1092, 22614829642}, {1106, 21078198991}, {1129, 22527748867},
    {1235, 25909273321}, {1355, 30453947857}, {1456, 35537346940}, {1476, 36535375680},
    {1490, 37480951966}, {8662, 8631411487},
};

START_TEST(a_recorded_program)
{
  const struct answer *it = &answers[_i];
  const bool bare = _i == BITS;
  trace_replay_options options = options_of(bare ? BARE : 0);
  trace_replay_result result;
  char expected[256];
  options.pool_options.leading_bits_in_bin_id = bare ? 4 : (unsigned)_i;
  clpt_ok(replay(clpt_resnet_trace(), 0, &options, &result));
  (void)snprintf(expected, sizeof(expected), "%d %d | %d %d | %d %d | 0 0 | 1 | %zu %zu %zu",
                 RESNET_ALLOCATIONS, RESNET_FREES, bare ? 0 : RESNET_ALLOCATIONS - (int)it->misses,
                 (int)it->misses, (int)it->misses, bare ? RESNET_FREES : 0,
                 resnet_peak_active_bytes, it->peak_bytes, it->peak_bytes);
  ck_assert_str_eq(figures_of(&result), expected);
}
END_TEST

/* Goals of the arena, with some room. Several scales, so that none is met by chance; a program that
 * repeats does not grow for ever, nor go on to call the device; more slack is fewer calls. */
static const struct goal {
  double scale, slack, footprint;
  unsigned passes;
} goals[] = {{1, 0.016, 1.06, 1},    {1.0 / 64, 0.016, 1.10, 1}, {0.9, 0.016, 1.06, 1},
             {1.03, 0.016, 1.06, 1}, {1.1, 0.016, 1.06, 1},      {4, 0.016, 1.06, 1},
             {1, 0.016, 1.06, 5},    {1, 0.016, 1.06, 20},       {1, 0, 1.02, 1},
             {1, 0.001, 1.062, 1},   {1, 0.016, 1.092, 1},       {1, 0.1, 1.26, 1},
             {1, 1, 3.06, 1}};

START_TEST(an_arena_is_close_to_what_is_used)
{
  enum { MANY_PASSES = 7, LEAST_SLACK = 8 };
  trace_replay_result before = {0};
  for (int i = 0; i < (int)(sizeof(goals) / sizeof(goals[0])); i++) {
    trace_replay_options options = options_of(ON_ARENA);
    trace_replay_result result;
    options.scale = goals[i].scale;
    options.arena_options.slack = goals[i].slack;
    options.passes = goals[i].passes;
    options.pool_options.leading_bits_in_bin_id = i % 2 ? 1 : 12; /* which do not matter */
    clpt_ok(replay(clpt_resnet_trace(), 0, &options, &result));
    ck_assert_uint_eq(result.failures, 0);
    ck_assert_uint_eq(result.allocations, RESNET_ALLOCATIONS * goals[i].passes);
    ck_assert_double_le(result.footprint, goals[i].footprint);
    if (i == MANY_PASSES)
      ck_assert_uint_eq(result.device_allocations, before.device_allocations);
    if (i > LEAST_SLACK)
      ck_assert_uint_lt(result.device_allocations, before.device_allocations);
    before = result;
  }
}
END_TEST

/* --- time --- */

static unsigned clock_reads;

/* Each look takes a microsecond. */
static uint64_t ticking_clock(void)
{
  return 1000 * (uint64_t)++clock_reads;
}

/* What failed is an operation; its free, which is left out, is none. */
START_TEST(the_clock_runs_while_a_batch_runs)
{
  enum { PAIRS = TRACE_BATCH_ROWS + 10, OPERATIONS = 2 * PAIRS, BATCHES = 3 };
  char *text = clpt_trace_text("a1=100 f1=100", PAIRS);
  trace_replay_options options = options_of(0), bare = options_of(BARE);
  trace_replay_result result;
  options.clock = bare.clock = ticking_clock;
  clpt_ok(replay(clpt_trace(text), 0, &options, &result));
  ck_assert_uint_eq(clock_reads, 2 * BATCHES);
  ck_assert_double_eq(result.ns_per_operation, 1000.0 * BATCHES / OPERATIONS);
  free(text);
  clpt_ok(replay(clpt_short_trace("a1=100 a2=100 f2=100 f1=100"), 150, &bare, &result));
  ck_assert_double_eq(result.ns_per_operation, 1000.0 / 3);
}
END_TEST

/* --- scales --- */

/* SIZE_MAX expected of what is not SIZE_MAX: it cannot be. */
static const struct scaled {
  uint64_t bytes;
  double scale;
  size_t expected;
} scaled[] = {
    {0, 3, 0},
    {1, 0.001, 1},
    {3, 0.5, 2},
    {5, 0.5, 3},
    {100, 0.125, 13},
    {99, 0.125, 12},
    {7, 3, 21},
    {7, 1, 7},
    {SIZE_MAX - 1, 1, SIZE_MAX - 1},
    {1, 1e-300, 1},
    {UINT64_MAX, 1, SIZE_MAX},
    {SIZE_MAX / 4 + 1, 2, SIZE_MAX / 2 + 1},
    {UINT64_MAX, 0x1p-64, 1},
    {UINT64_MAX, 2, SIZE_MAX},
    {UINT64_MAX / 2 + 1, 2, SIZE_MAX},
    {1, 1e300, SIZE_MAX},
    {1, 0x1p64, SIZE_MAX},
    {1, 0x1p63, (size_t)1 << 63},
};

START_TEST(scaled_sizes)
{
  for (size_t i = 0; i < sizeof(scaled) / sizeof(scaled[0]); i++) {
    size_t size = SIZE_MAX;
    bool is_size = scaled[i].expected < SIZE_MAX || scaled[i].scale == 1;
    ck_assert(trace_scale_size(scaled[i].bytes, scaled[i].scale, &size) == is_size);
    if (is_size)
      ck_assert_uint_eq(size, scaled[i].expected);
  }
}
END_TEST

/* 1000 bytes become a block of 1023, at 1, 1/2, 1/4. A limit does not count, nor is the device of
 * its per cent known. */
static const struct fit {
  const char *rows;
  size_t device_bytes;
  double scale;
  unsigned how;
} fits[] = {{"a1=1000", 0, 1, 0},
            {"a1=1000", SIZE_MAX, 1, 0},
            {"a1=1000", 4 * 1023, 1, 0},
            {"a1=1000", 4 * 1023 - 1, 0.5, 0},
            {"a1=1000", 2 * 1023, 0.5, 0},
            {"a1=1000", 2 * 1023 - 1, 0.25, 0},
            {"a1=1000 f1=1000 a2=2000", 4 * 1023, 0.25, 0},
            {"a1=1", 1, 0.25, 0},
            {"a1=1000 f1=1000 a2=2000", 4 * 2048, 1, ON_ARENA}, /* nothing is held there */
            {"a1=1000", 1000, 0.125, 0},
            {"f1=1", 1000, 0, 0}};

START_TEST(the_scale_that_fits)
{
  const struct fit *it = &fits[_i];
  trace_batch_source source = {.reader = clpt_short_trace(it->rows)};
  clp_allocator *allocator = clpt_simulated(it->device_bytes);
  trace_replay_options options = options_of(it->how);
  double scale = 0;
  if (it->device_bytes == 1000)
    ck_assert_int_eq(setenv("CLPOOL_MEMORY_LIMIT", "40%", 1), 0);
  clp_status status = trace_replay_fit_scale(&source, allocator, &options, &scale);
  ck_assert_int_eq(unsetenv("CLPOOL_MEMORY_LIMIT"), 0);
  ck_assert_int_eq(status, it->scale > 0 ? CLP_SUCCESS : CLP_INVALID_ARGUMENT);
  ck_assert_double_eq(scale, it->scale);
  if (!status)
    clpt_ok(trace_batch_read(&source, 1)); /* it begins again */
  ck_assert(status || source.batch->operations[0].line == 2);
  clp_allocator_release(allocator);
  trace_close(source.reader);
  trace_batch_source_end(&source);
}
END_TEST

CLPT_MAIN("replay", clpt_run)
{
  TCase *tests = clpt_case(suite, "replay");
  clpt_add_table(tests, a_small_trace, examples);
  clpt_add_table(tests, a_trace_that_cannot_be, wrong);
  tcase_add_loop_test(tests, a_device_that_fails, 0, 3);
  tcase_add_loop_test(tests, a_device_that_orders_streams, 0, 2);
  clpt_add_table(tests, a_recorded_program, answers);
  tcase_add_test(tests, an_arena_is_close_to_what_is_used);
  tcase_add_test(tests, the_clock_runs_while_a_batch_runs);
  tcase_add_test(tests, scaled_sizes);
  clpt_add_table(tests, the_scale_that_fits, fits);
}
