/* SPDX-License-Identifier: MIT */
/* Surveys: what small traces come to, by hand, and a recorded one, as its replay; their course, in
 * bounded memory; stacks, by which names. */
#include "support/failing_allocator.h"
#include "support/failmalloc.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/survey.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/param.h>

static trace_survey survey;

static void teardown(void)
{
  trace_survey_end(&survey);
}

/* Drops `reader`. */
static clp_status take(trace_reader *reader, size_t capacity, const trace_replay_options *options)
{
  clp_allocator *allocator = clpt_simulated(capacity);
  clp_status status = trace_survey_take(&survey, reader, allocator, options);
  clp_allocator_release(allocator);
  trace_close(reader);
  return status;
}

static clp_status take_rows(const char *rows, size_t capacity)
{
  trace_replay_options options = clpt_pooled();
  return take(clpt_short_trace(rows), capacity, &options);
}

static size_t held_bytes(const trace_bin *bin, trace_bin_count count)
{
  return (count.blocks - count.active_blocks) * bin->block_bytes;
}

static size_t padding_bytes(const trace_bin *bin, trace_bin_count count)
{
  return count.active_blocks * bin->block_bytes - count.active_bytes;
}

/* --- small traces --- */

static void tell_peak(FILE *to, const char *name, const trace_span *peak)
{
  fprintf(to, "%s %d: %zu %zu %zu; ", name, (int)peak->first.row, peak->active_bytes,
          trace_span_padding_bytes(peak), peak->held_bytes);
}

/* The rows of the peaks, and what is active, padding and held then; bins at the second of them:
 * hits, misses, held, padding; how often the largest came, in which block, thread, stream and kind,
 * their first row, the most rows and seconds that one lived, how many stayed; kinds and pools:
 * allocations, bytes active and managed at the end, the peaks of both, active at the peak of all.
 */
static char *tell(void)
{
  char *text;
  size_t length;
  FILE *to = open_memstream(&text, &length);
  tell_peak(to, "active", &survey.active_peak);
  tell_peak(to, "managed", &survey.managed_peak);
  for (size_t i = 0; i < survey.bins.count; i++) {
    const trace_bin *bin = &survey.bins.bins[i];
    trace_bin_count then = trace_bin_at_peak(&survey.bins, bin);
    fprintf(to, "bin %zu: %d %d %zu %zu; ", bin->block_bytes, (int)bin->now.hits,
            (int)bin->now.misses, held_bytes(bin, then), padding_bytes(bin, then));
  }
  for (size_t i = 0; i < survey.largest.count; i++) {
    const trace_large_group *it = &survey.largest.groups[i];
    fprintf(to, "%d*%zu in %zu, %d %d %d, row %d, %d rows %g s, %d left; ", (int)it->times,
            it->kind.bytes, it->block_bytes, (int)it->kind.thread, (int)it->kind.stream,
            (int)it->kind.memory, (int)it->first.row, (int)it->most_rows,
            (double)it->most_nanoseconds / 1e9, (int)it->kept);
  }
  for (size_t i = 0; i < TRACE_KINDS + (survey.pool_count > 1 ? survey.pool_count : 0); i++) {
    const trace_share *it = &survey.shares[i];
    const char *name = i < TRACE_KINDS ? "kind" : survey.pools[i - TRACE_KINDS].name;
    if (it->allocations || i >= TRACE_KINDS)
      fprintf(to, "%s %zu: %d, %zu %zu, %zu %zu, %zu; ", name ? name : "pool", i,
              (int)it->allocations, it->active_bytes, it->managed_bytes, it->peak_active_bytes,
              it->peak_managed_bytes, it->active_bytes_at_peak);
  }
  fclose(to);
  return text;
}

static const struct example {
  const char *rows;
  size_t capacity;
  const char *told;
} examples[] = {
    {"", 0, "active 0: 0 0 0; managed 0: 0 0 0; "},
    {"a1=103 f1=103 a1=103 f1=103", 0,
     "active 1: 103 0 0; managed 1: 103 0 0; bin 103: 1 1 0 0; "
     "2*103 in 103, 1 0 0, row 1, 1 rows 0 s, 0 left; kind 0: 2, 0 0, 103 0, 103; "},
    {"a1=100 f1=100 a2=100 a1=90 f2=100 a3=3000 f3=3000 a3=3050 a0=0", 0,
     "active 8: 3140 22 103; managed 6: 3090 72 103; bin 91: 0 1 0 1; bin 103: 1 1 103 0; "
     "bin 3071: 1 1 0 71; 1*3050 in 3071, 1 0 0, row 8, 1 rows 0 s, 1 left; "
     "1*3000 in 3071, 1 0 0, row 6, 1 rows 0 s, 0 left; "
     "2*100 in 103, 1 0 0, row 1, 2 rows 0 s, 0 left; "
     "1*90 in 91, 1 0 0, row 4, 5 rows 0 s, 1 left; 1*0 in 0, 1 0 0, row 9, 0 rows 0 s, 1 left; "
     "kind 0: 6, 3140 0, 3140 0, 3140; "},
    {"a1=600 f1=600 a2=900 a3=600 f3=600 x0=5 f2=900", 1000,
     "active 3: 900 27 0; managed 3: 900 27 0; bin 607: 0 1 0 0; bin 927: 0 1 0 27; "
     "1*900 in 927, 1 0 0, row 3, 4 rows 0 s, 0 left; "
     "1*600 in 607, 1 0 0, row 1, 1 rows 0 s, 0 left; kind 0: 2, 0 0, 900 0, 900; "},
    {"Action,Thread,Time,Pointer,Size,Stream\nallocate,1,23:59:59.0,0x1,500,5\n"
     "allocate,2,23:59:59.5,0x2,500,0\nfree,1,00:00:01.0,0x1,500,5\n"
     "allocate,1,00:00:01.25,0x1,500,5\nallocate,3,00:00:02.0,0x3,900,0\n"
     "allocate,3,00:00:02.0,0x4,900,1\n",
     0,
     "active 6: 2800 76 0; managed 6: 2800 76 0; bin 511: 1 2 0 22; bin 927: 0 2 0 54; "
     "1*900 in 927, 3 0 0, row 5, 1 rows 0 s, 1 left; "
     "1*900 in 927, 3 1 0, row 6, 0 rows 0 s, 1 left; "
     "2*500 in 511, 1 5 0, row 1, 2 rows 2 s, 1 left; "
     "1*500 in 511, 2 0 0, row 2, 4 rows 2.5 s, 1 left; kind 0: 5, 2800 0, 2800 0, 2800; "},
    {"Action,Pointer,Size,Pool\nallocate failure,(nil),9,none\nallocate,0x1,100,one\n"
     "allocate,0x2,3000,\nfree,0x1,100,one\nallocate,0x3,100,\n",
     0,
     "active 3: 3100 74 0; managed 5: 3100 74 103; bin 103: 0 2 103 3; bin 3071: 0 1 0 71; "
     "1*3000 in 3071, 0 0 0, row 3, 2 rows 0 s, 1 left; "
     "2*100 in 103, 0 0 0, row 2, 2 rows 0 s, 1 left; kind 0: 3, 3100 0, 3100 0, 3100; "
     "one 5: 0, 0 103, 100 103, 100;  6: 0, 3100 3174, 3100 3174, 3000; "},
    {"Action,Pointer,Size,Kind\nallocate,0x1,700,\nfree,0x1,700,\nallocate,0x1,100,buffer\n"
     "allocate,0x2,1000,image\nallocate,0x3,2000,image\nfree,0x1,100,buffer\n"
     "allocate,0x1,50,buffer\n",
     0,
     "active 5: 3100 73 703; managed 7: 3050 71 806; bin 51: 0 1 0 1; bin 103: 0 1 103 0; "
     "bin 703: 0 1 703 0; bin 1023: 0 1 0 23; bin 2047: 0 1 0 47; "
     "1*2000 in 2047, 0 0 2, row 5, 2 rows 0 s, 1 left; "
     "1*1000 in 1023, 0 0 2, row 4, 3 rows 0 s, 1 left; "
     "1*700 in 703, 0 0 0, row 1, 1 rows 0 s, 0 left; "
     "1*100 in 103, 0 0 1, row 3, 3 rows 0 s, 0 left; "
     "1*50 in 51, 0 0 1, row 7, 0 rows 0 s, 1 left; kind 0: 1, 0 0, 700 0, 0; "
     "kind 1: 2, 50 0, 100 0, 100; kind 2: 2, 3000 0, 3000 0, 3000; "
     "pool 5: 0, 0 703, 700 703, 0; pool 6: 0, 50 154, 100 154, 100; "
     "pool 7: 0, 3000 3070, 3000 3070, 3000; "},
};

START_TEST(a_small_trace)
{
  clpt_ok(take_rows(examples[_i].rows, examples[_i].capacity));
  char *told = tell();
  ck_assert_str_eq(told, examples[_i].told);
  free(told);
}
END_TEST

/* Rows have the time of day. Time passes midnight, a leap second is the next day's first, and a
 * time that is up to an hour earlier is one of a thread that was overtaken. */
START_TEST(time_since_the_first_row)
{
  static const struct {
    const char *time;
    uint64_t seconds;
  } rows[] = {{"23:59:58", 0}, {"23:59:60", 2},     {"00:00:03", 5},     {"00:00:01", 5},
              {"00:00:04", 6}, {"22:00:04", 79206}, {"21:00:05", 79206}, {"20:59:00", 161942}};
  enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
  char text[1024] = "Action,Time,Pointer,Size\n", *to = text + strlen(text);
  for (unsigned i = 0; i < ROWS; i++)
    to += sprintf(to, "allocate,%s.0,0x%x,1\n", rows[i].time, i + 1);
  clpt_ok(take_rows(text, 0));
  for (unsigned i = 0; i < ROWS; i++)
    ck_assert_uint_eq(survey.timeline.spans[i].first.nanoseconds, rows[i].seconds * 1000000000);
}
END_TEST

/* More pools than are looked at one by one: the others count in all. */
START_TEST(many_pools)
{
  enum { POOLS = TRACE_SURVEYED_POOLS + 3 };
  char text[4096] = "Action,Pointer,Size,Context\n", *to = text + strlen(text);
  for (unsigned i = 0; i < POOLS; i++)
    to += sprintf(to, "allocate,0x%x,100,%u\n", i + 1, i);
  sprintf(to, "free,0x%x,100,0\n", POOLS - 1);
  clpt_ok(take_rows(text, 0));
  ck_assert_uint_eq(survey.pool_count, TRACE_SURVEYED_POOLS);
  ck_assert_ptr_null(survey.pools[1].name);
  ck_assert_uint_eq(survey.pools[1].context, 1);
  ck_assert_uint_eq(survey.managed_peak.active_bytes, POOLS * 100);
  ck_assert_uint_eq(trace_span_padding_bytes(&survey.managed_peak), POOLS * 3);
}
END_TEST

/* The largest are counted whole, whatever was pushed out in between. */
START_TEST(the_largest_of_many)
{
  enum { SIZES = 500, TIMES = 40 };
  static trace_largest largest;
  static uint64_t first[SIZES];
  for (uint64_t row = SIZES * TIMES; row > 0; row--)
    first[row * 7919 % SIZES] = row;
  for (uint64_t row = 1; row <= SIZES * TIMES; row++) {
    trace_large_kind kind = {.bytes = row * 7919 % SIZES};
    trace_largest_add(&largest, &kind, kind.bytes, (trace_moment){row, 0});
  }
  ck_assert_uint_eq(largest.count, TRACE_LARGEST_GROUPS);
  for (size_t i = 0, bytes = SIZES - 1; i < largest.count; i++, bytes--) {
    ck_assert_uint_eq(largest.groups[i].kind.bytes, bytes);
    ck_assert_uint_eq(largest.groups[i].times, TIMES);
    ck_assert_uint_eq(largest.groups[i].first.row, first[bytes]);
  }
}
END_TEST

/* --- a recorded program --- */

/* Each figure is the replay's; bins at the peak add up to it, and spans have each peak. */
static void assert_adds_up(const trace_replay_result *replayed)
{
  trace_replay_result result = survey.result;
  trace_bin_count bins = {0};
  size_t padding = 0, held = 0, active = 0, managed = 0, taken = 0;
  uint64_t hits = 0, misses = 0, refused = 0, nanoseconds = 0;
  result.ns_per_operation = replayed->ns_per_operation;
  ck_assert_mem_eq(&result, replayed, sizeof(result));
  for (size_t i = 0; i < survey.bins.count; i++) {
    const trace_bin *bin = &survey.bins.bins[i];
    trace_bin_count count = trace_bin_at_peak(&survey.bins, bin);
    ck_assert(i == 0 || bin->block_bytes > bin[-1].block_bytes);
    bins.active_bytes += count.active_bytes;
    bins.hits += bin->now.hits;
    bins.misses += bin->now.misses;
    padding += padding_bytes(bin, count);
    held += held_bytes(bin, count);
  }
  ck_assert_uint_eq(survey.managed_peak.active_bytes, bins.active_bytes);
  ck_assert_uint_eq(trace_span_padding_bytes(&survey.managed_peak), padding);
  ck_assert_uint_eq(survey.managed_peak.held_bytes, held);
  for (size_t i = 0; i < survey.timeline.count; i++) {
    const trace_span *span = &survey.timeline.spans[i];
    ck_assert_uint_ge(span->first.nanoseconds, nanoseconds);
    nanoseconds = span->last.nanoseconds;
    active = MAX(active, span->active_bytes);
    managed = MAX(managed, span->managed_bytes);
    taken = MAX(taken, span->device_bytes);
    hits += span->hits;
    misses += span->misses;
    refused += span->refused;
  }
  ck_assert(hits == replayed->hits && bins.hits == hits);
  ck_assert(misses == replayed->misses && bins.misses == misses);
  ck_assert_uint_eq(refused, replayed->failures);
  ck_assert(active == replayed->peak_active_bytes && survey.active_peak.active_bytes == active);
  ck_assert(managed == replayed->peak_managed_bytes &&
            survey.managed_peak.managed_bytes == managed);
  ck_assert_uint_eq(taken, replayed->peak_device_bytes);
}

/* Several bits, a limit, a small device, smaller sizes, an arena. */
static const struct setting {
  unsigned leading_bits;
  size_t limit, capacity;
  double scale;
  bool on_arena;
} settings[] = {{4, 0, 0, 1, false},
                {0, 0, 0, 1, false},
                {4, (size_t)6 << 30, 0, 1, false},
                {2, 0, (size_t)5 << 30, 1, false},
                {4, 0, 0, 0.001, false},
                {6, 0, 0, 1, true},
                {4, (size_t)6 << 30, 0, 1, true}};

START_TEST(like_a_replay)
{
  const struct setting *setting = &settings[_i];
  trace_replay_options options = clpt_pooled();
  options.pool_options.leading_bits_in_bin_id = setting->leading_bits;
  options.on_arena = setting->on_arena;
  options.has_limit = true;
  options.limit_bytes = setting->limit;
  options.scale = setting->scale;
  trace_replay_result replayed;
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *allocator = clpt_simulated(setting->capacity);
  clpt_ok(trace_replay(reader, allocator, &options, &replayed));
  clp_allocator_release(allocator);
  trace_close(reader);
  clpt_ok(take(clpt_resnet_trace(), setting->capacity, &options));
  assert_adds_up(&replayed);
}
END_TEST

/* --- the course of a long trace --- */

enum { SPANS = TRACE_TIMELINE_SPANS };
static const uint64_t lengths[] = {
    0, 1, SPANS - 1, SPANS, SPANS + 1, 2 * SPANS + 1, 3 * SPANS + 7, 100000};

/* The spans follow one another without a gap, and of all that are joined, a row that is higher and
 * one that is lower show in their spans alone. */
static void assert_whole(const trace_span *spans, size_t count, uint64_t high, uint64_t rows)
{
  uint64_t next = 1, hits = 0;
  for (size_t i = 0; i < count; i++) {
    const trace_span *span = &spans[i];
    bool is_high = span->first.row <= high && high <= span->last.row;
    ck_assert_uint_eq(span->first.row, next);
    ck_assert_uint_eq(span->first.nanoseconds, (span->first.row - 1) * 1000);
    ck_assert_uint_eq(span->last.nanoseconds, (span->last.row - 1) * 1000);
    ck_assert_uint_eq(span->active_bytes, is_high ? 5000 : 10);
    ck_assert_uint_eq(span->least_active_bytes,
                      is_high && span->first.row == span->last.row ? 5000 : 10);
    ck_assert_uint_eq(span->held_bytes, is_high ? 6000 : 30);
    ck_assert_uint_eq(span->managed_bytes, is_high ? 11002 : 42);
    ck_assert_uint_eq(span->device_bytes, is_high ? 12000 : 50);
    next = span->last.row + 1;
    hits += span->hits;
  }
  ck_assert_uint_eq(next, rows + 1);
  ck_assert_uint_eq(hits, rows / 3);
}

START_TEST(no_peak_is_lost)
{
  enum { MOST = 100 };
  const uint64_t rows = lengths[_i], high = rows * 7 / 9;
  static trace_span windows[MOST];
  static trace_timeline timeline;
  timeline = (trace_timeline){0};
  for (uint64_t row = 1; row <= rows; row++) {
    trace_moment moment = {row, (row - 1) * 1000};
    trace_span span = {moment, moment, 10, 10, 42, 30, 50, row % 3 == 0, 0, 0};
    if (row == high)
      span = (trace_span){moment, moment, 5000, 5000, 11002, 6000, 12000, row % 3 == 0, 0, 0};
    trace_timeline_add(&timeline, &span);
  }
  ck_assert_uint_eq(trace_timeline_rows(&timeline), rows);
  ck_assert_uint_le(timeline.count, SPANS);
  ck_assert_uint_ge(timeline.count, MIN(rows, SPANS / 2 + 1));
  assert_whole(timeline.spans, timeline.count, high, rows);
  size_t count = trace_timeline_widen(&timeline, MOST, windows);
  ck_assert_uint_le(count, MOST);
  ck_assert_uint_ge(count, MIN(rows, MOST / 2 + 1));
  assert_whole(windows, count, high, rows);
  ck_assert_uint_eq(trace_timeline_nanoseconds(&timeline, 0), 0);
  for (uint64_t row = 1; row <= rows; row += 333)
    ck_assert_uint_eq(trace_timeline_nanoseconds(&timeline, row), (row - 1) * 1000);
}
END_TEST

/* --- stacks --- */

#define STACKS "Action,Pointer,Size,Stack\n"

/* The peak is 1500 bytes, of all but `free`; at the end there are those of `load` and `keep`. */
#define PROGRAM                                                                                    \
  STACKS "#frame 1 0 /x/app.py:10:<module>\n#frame 2 1 /x/app.py:6:load\nallocate,0x1,1000,2\n"    \
         "#frame 3 1 /x/app.py:7:step\n#frame 4 3 inner\nallocate,0x2,300,4\n# a note\n"           \
         "allocate,0x3,200,0\nfree,0x2,300,0\nfree,0x3,200,0\nallocate,0x4,50,4\n"                 \
         "free,0x4,50,0\n#frame 5 0 keep\nallocate,0x5,7,5\n"

/* Two positions in a line of Python, or two calls in a line of C, are frames of their own. An
 * address says nothing below a line of source; where there is nothing else, all of it is shown. */
static const struct folded {
  const char *trace;
  clp_line_profile_view view;
  const char *lines;
} folded[] = {
    {PROGRAM, CLP_VIEW_PEAK,
     "_root 200\n/x/app.py:10:<module>;/x/app.py:6:load 1000\n"
     "/x/app.py:10:<module>;/x/app.py:7:step;inner 300\n"},
    {PROGRAM, CLP_VIEW_NOW, "/x/app.py:10:<module>;/x/app.py:6:load 1000\nkeep 7\n"},
    {PROGRAM, CLP_VIEW_SUMS,
     "_root 200\n/x/app.py:10:<module>;/x/app.py:6:load 1000\n"
     "/x/app.py:10:<module>;/x/app.py:7:step;inner 350\nkeep 7\n"},
    {STACKS "#frame 1 0 a.py:1:f\n#frame 2 1 a.py:2:g\nallocate,0x1,5,2\n#frame 3 0 a.py:1:f\n"
            "#frame 4 3 a.py:2:g\nallocate,0x2,6,4\n",
     CLP_VIEW_PEAK, "a.py:1:f;a.py:2:g 11\n"},
    {STACKS "#frame 1 0 a.py:1:f\n#frame 2 1 /no/such/lib.so+0x1f\n"
            "#frame 3 2 /no/such/lib.so+0x2f\nallocate,0x1,5,3\n"
            "#frame 4 0 /no/such/program+0x1f\n#frame 5 4 /no/such/lib.so+0x3f\n"
            "#frame 6 5 a.py:2:g\nallocate,0x2,6,6\n",
     CLP_VIEW_PEAK, "a.py:1:f 5\nprogram+0x1f;lib.so+0x3f;a.py:2:g 6\n"},
};

static void folds(clp_line_profile_view view, const char *expected)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  survey.stacks.report.view = view;
  clpt_ok(clpi_line_report_write_folded(&survey.stacks.report, file));
  (void)fclose(file);
  ck_assert_str_eq(text, expected);
  free(text);
}

START_TEST(lines_of_stacks)
{
  clpt_ok(take_rows(folded[_i].trace, 0));
  folds(folded[_i].view, folded[_i].lines);
}
END_TEST

static const struct {
  const char *rows, *message;
} wrong[] = {
    {"#frame 2 0 a\n",
     "trace:2:8: expected the number after that of the frame before, and a caller "
     "above, found \"#frame 2 0 a\""},
    {"#frame 1 1 a\n", "and a caller above, found"},
    {"#frame 1 0 a\n#frame 1 0 b\n", "trace:3:8: expected the number after"},
    {"#frame 1\n", "trace:2:8: expected a number, that of the caller, and a text, found"},
    {"#frame 99999999999999999999 0 a\n", "trace:2:8: expected"},
    {"#frame 4294967297 0 a\n", "trace:2:8: expected"}, /* 1, in 32 bits */
    {"#frame 0000000010 a\n", "trace:2:8: expected a number"},
    {"allocate,0x1,5,1\n", "trace:2:16: expected a frame that is defined above, found 1"},
    {"#frame 1 0 a\nfree,0x1,5,2\n", "trace:3:12: expected a frame that is defined above, found 2"},
    {"allocate,0x1,-5,0\n", "trace:2:14: expected a size"},
};

START_TEST(what_is_wrong_is_told_with_its_line)
{
  char text[512];
  (void)snprintf(text, sizeof(text), STACKS "%s", wrong[_i].rows);
  clpt_fails(CLP_INVALID_ARGUMENT, take_rows(text, 0));
  clpt_message_has(wrong[_i].message);
}
END_TEST

/* Each allocation of host memory fails in turn: the survey ends with that, or the pool did without.
 * More blocks are live than a first table of them holds, in more bins than one of those holds. */
START_TEST(without_host_memory)
{
  enum { ROWS = 600 };
  char rows[ROWS * 16];
  size_t length = 0;
  for (unsigned i = 1; i <= ROWS; i++)
    length += (size_t)snprintf(rows + length, sizeof(rows) - length, "%sa%x=%u", i > 1 ? " " : "",
                               i, i * 1000);
  clpt_host_failures each = {.stride = _i ? 5 : 17, .may_do_without = true};
  while (!each.is_over) {
    clpt_device device;
    clpt_device_init(&device);
    clp_allocator *allocator = clpt_device_allocator(&device);
    trace_reader *reader = clpt_short_trace(_i ? PROGRAM : rows);
    trace_replay_options options = clpt_pooled();
    clpt_host_fail_next(&each);
    clp_status status = trace_survey_take(&survey, reader, allocator, &options);
    if (status)
      trace_survey_end(&survey);
    clpt_host_check(&each, status);
    if (!status)
      assert_adds_up(&survey.result);
    trace_survey_end(&survey);
    clp_allocator_release(allocator);
    trace_close(reader);
    clpt_device_assert_ended(&device);
  }
}
END_TEST

CLPT_MAIN("survey", clpt_run)
{
  TCase *tests = clpt_case(suite, "survey");
  tcase_add_checked_fixture(tests, NULL, teardown);
  clpt_add_table(tests, a_small_trace, examples);
  tcase_add_test(tests, time_since_the_first_row);
  tcase_add_test(tests, many_pools);
  tcase_add_test(tests, the_largest_of_many);
  clpt_add_table(tests, like_a_replay, settings);
  clpt_add_table(tests, no_peak_is_lost, lengths);
  clpt_add_table(tests, lines_of_stacks, folded);
  clpt_add_table(tests, what_is_wrong_is_told_with_its_line, wrong);
  tcase_add_loop_test(tests, without_host_memory, 0, 2);
}
