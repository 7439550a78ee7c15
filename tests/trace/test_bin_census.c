/* SPDX-License-Identifier: MIT */
/* The bins' figures at the peak, against copies made at each peak. */
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/suite.h"
#include "trace/bin_census.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static clp_status take(trace_bin_census *census, size_t block_bytes)
{
  return trace_bin_census_add(census, block_bytes, (trace_bin_count){.blocks = 1});
}

static void give_back(trace_bin_census *census, size_t block_bytes)
{
  clpt_ok(trace_bin_census_add(census, block_bytes, (trace_bin_count){.blocks = (size_t)-1}));
}

static void activate(trace_bin_census *census, size_t block_bytes, size_t bytes, bool is_hit)
{
  trace_bin_count change = {
      .active_blocks = 1, .active_bytes = bytes, .hits = is_hit, .misses = !is_hit};
  clpt_ok(trace_bin_census_add(census, block_bytes, change));
}

static void release(trace_bin_census *census, size_t block_bytes, size_t bytes)
{
  trace_bin_count change = {.active_blocks = (size_t)-1, .active_bytes = -bytes};
  clpt_ok(trace_bin_census_add(census, block_bytes, change));
}

static const trace_bin *bin_of(const trace_bin_census *census, size_t block_bytes)
{
  for (size_t i = 0; i < census->count; i++)
    if (census->bins[i].block_bytes == block_bytes)
      return &census->bins[i];
  ck_abort_msg("no bin of %zu bytes", block_bytes);
}

static void assert_count(trace_bin_count count, size_t blocks, size_t active_blocks,
                         size_t active_bytes)
{
  ck_assert_uint_eq(count.blocks, blocks);
  ck_assert_uint_eq(count.active_blocks, active_blocks);
  ck_assert_uint_eq(count.active_bytes, active_bytes);
}

START_TEST(a_bin)
{
  trace_bin_census census = {0};
  clpt_ok(take(&census, 100));
  activate(&census, 100, 90, false);
  clpt_ok(take(&census, 100));
  activate(&census, 100, 95, false);
  release(&census, 100, 90);
  const trace_bin *bin = bin_of(&census, 100);
  assert_count(bin->now, 2, 1, 95);
  activate(&census, 100, 91, true);
  release(&census, 100, 91);
  give_back(&census, 100);
  assert_count(bin->now, 1, 1, 95);
  ck_assert_uint_eq(bin->now.hits, 1);
  ck_assert_uint_eq(bin->now.misses, 2);
  free(census.bins);
}
END_TEST

START_TEST(what_was_at_the_peak_stays)
{
  trace_bin_census census = {0};
  clpt_ok(take(&census, 100));
  clpt_ok(take(&census, 200));
  activate(&census, 200, 150, false);
  census.peaks++;
  release(&census, 200, 150);
  give_back(&census, 200);
  clpt_ok(take(&census, 50));
  assert_count(trace_bin_at_peak(&census, bin_of(&census, 100)), 1, 0, 0);
  assert_count(trace_bin_at_peak(&census, bin_of(&census, 200)), 1, 1, 150);
  assert_count(trace_bin_at_peak(&census, bin_of(&census, 50)), 0, 0, 0);
  census.peaks++;
  assert_count(trace_bin_at_peak(&census, bin_of(&census, 200)), 0, 0, 0);
  assert_count(trace_bin_at_peak(&census, bin_of(&census, 50)), 1, 0, 0);
  free(census.bins);
}
END_TEST

START_TEST(before_any_peak_there_was_nothing)
{
  trace_bin_census census = {0};
  clpt_ok(take(&census, 100));
  assert_count(trace_bin_at_peak(&census, bin_of(&census, 100)), 0, 0, 0);
  free(census.bins);
}
END_TEST

enum { BINS = 200 };

/* One event of chance on bin number `i`, whose blocks have 10 (i + 1) bytes. */
static void change_something(trace_bin_census *census, trace_bin_count counts[BINS],
                             clpt_chance *chance)
{
  size_t i = clpt_chance_below(chance, BINS), block_bytes = 10 * (i + 1);
  trace_bin_count *count = &counts[i];
  switch (clpt_chance_below(chance, 4)) {
  case 0:
    clpt_ok(take(census, block_bytes));
    count->blocks++;
    break;
  case 1:
    if (count->blocks > count->active_blocks) {
      give_back(census, block_bytes);
      count->blocks--;
    }
    break;
  case 2:
    if (count->blocks > count->active_blocks) {
      activate(census, block_bytes, block_bytes - 3, true);
      count->active_blocks++;
      count->active_bytes += block_bytes - 3;
    }
    break;
  default:
    if (count->active_blocks > 0) {
      release(census, block_bytes, block_bytes - 3);
      count->active_blocks--;
      count->active_bytes -= block_bytes - 3;
    }
  }
}

START_TEST(like_copies)
{
  trace_bin_census census = {0};
  trace_bin_count counts[BINS] = {{0}}, copies[BINS] = {{0}};
  clpt_chance chance = clpt_chance_seed(1);
  for (unsigned i = 0; i < clpt_iterations(100000); i++) {
    change_something(&census, counts, &chance);
    if (clpt_chance_below(&chance, 50) == 0) {
      census.peaks++;
      memcpy(copies, counts, sizeof(copies));
    }
  }
  for (size_t i = 0; i < census.count; i++) {
    const trace_bin *bin = &census.bins[i];
    if (i > 0)
      ck_assert_uint_gt(bin->block_bytes, bin[-1].block_bytes);
    trace_bin_count now = counts[bin->block_bytes / 10 - 1];
    trace_bin_count then = copies[bin->block_bytes / 10 - 1];
    assert_count(bin->now, now.blocks, now.active_blocks, now.active_bytes);
    assert_count(trace_bin_at_peak(&census, bin), then.blocks, then.active_blocks,
                 then.active_bytes);
  }
  free(census.bins);
}
END_TEST

START_TEST(without_host_memory)
{
  trace_bin_census census = {0};
  size_t blocks = 0;
  clp_status status = CLP_SUCCESS;
  clpt_host_start(CLPT_HOST_STAYS_OUT, 1);
  while (!status)
    status = take(&census, ++blocks);
  clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_uint_eq(census.count, blocks - 1);
  clpt_ok(take(&census, blocks));
  ck_assert_uint_eq(census.count, blocks);
  free(census.bins);
}
END_TEST

CLPT_MAIN("bin census", clpt_run)
{
  TCase *tests = clpt_case(suite, "bin census");
  tcase_add_test(tests, a_bin);
  tcase_add_test(tests, what_was_at_the_peak_stays);
  tcase_add_test(tests, before_any_peak_there_was_nothing);
  tcase_add_test(tests, like_copies);
  tcase_add_test(tests, without_host_memory);
}
