/* SPDX-License-Identifier: MIT */
/* Which blocks of a bin are a run, in which order, and what is left when they go. */
#include "core/store/runs.h"

#include "support/chance.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS = 3, MOST = 64 };
static clpi_stream streams[STREAMS];
static clp_buffer blocks[MOST];
static clpi_block_store store;
static clpi_bin *bin;

static void start(void)
{
  ck_assert(clpi_store_init(&store, 4, 1000));
  bin = clpi_store_use_bin(&store, clpi_bin_parts_of(4, 100));
}

static void put(clp_buffer *block, clpi_use use, uint64_t age)
{
  *block = (clp_buffer){.bin = bin, .use = use, .age = age};
  clpi_store_put(&store, block);
}

/* The run of the block, as the numbers of its blocks, the oldest first. */
static void spell_run(const clp_buffer *block, char *spelt)
{
  while (!block->run.next)
    block = block->run.older;
  const clp_buffer *at = block;
  do {
    *spelt++ = (char)('0' + (at - blocks));
    ck_assert_ptr_eq(at->run.newer->run.older, at);
    ck_assert(at == block || !at->run.next);
    at = at->run.newer;
  } while (at != block);
  *spelt = '\0';
}

static size_t count_runs(void)
{
  size_t count = 0;
  clpi_each_run (bin, oldest)
    count++;
  return count;
}

static void check_run(const char *what, const clp_buffer *block, const char *expected)
{
  char spelt[MOST + 1];
  spell_run(block, spelt);
  if (strcmp(spelt, expected) != 0)
    ck_abort_msg("%s: a run of %s, not %s", what, spelt, expected);
}

/* --- one stream a block --- */

/* Blocks as they come: the stream, the epoch, the age; each a digit. The runs by the stream. */
static const struct {
  const char *what, *blocks, *runs[STREAMS];
} orders[] = {
    {"by age", "011 012 013", {"012"}},
    {"older ones come late", "013 012 011", {"210"}},
    {"streams take turns", "011 112 013 114 015", {"024", "13"}},
    {"the use decides, not the age", "021 012 023", {"102"}},
    {"one that goes back before all", "013 114 225 011", {"30", "1", "2"}},
    {"one that goes back into the middle", "011 115 116 117 118 119 019 014", {"076", "12345"}},
    {"done ones are not the stream's", "001 012 003 014", {"02"}},
};

START_TEST(a_run_has_the_blocks_of_a_stream_in_the_order_of_their_uses)
{
  size_t count = (strlen(orders[_i].blocks) + 1) / 4;

  start();
  for (size_t i = 0; i < count; i++) {
    const char *block = &orders[_i].blocks[4 * i];
    put(&blocks[i], (clpi_use){&streams[block[0] - '0'], (uint64_t)(block[1] - '0')},
        (uint64_t)(block[2] - '0'));
  }
  for (size_t i = 0; i < STREAMS && orders[_i].runs[i]; i++)
    check_run(orders[_i].what, &blocks[orders[_i].runs[i][0] - '0'], orders[_i].runs[i]);
  while (clpi_store_take(&store, bin))
    continue;
  ck_assert_ptr_null(bin->runs);
  clpi_store_end(&store);
}
END_TEST

START_TEST(runs_end_with_their_blocks)
{
  static const size_t gone[] = {1, 0, 4,
                                5, 2, 3}; /* from the middle, the ends, and the last ones */
  static const size_t runs[] = {2, 2, 2, 1, 1, 0};

  start();
  for (size_t i = 0; i < 6; i++)
    put(&blocks[i], (clpi_use){&streams[i > 3], 1}, i + 1);
  for (size_t i = 0; i < 6; i++) {
    clpi_store_remove(&store, &blocks[gone[i]]);
    ck_assert_uint_eq(count_runs(), runs[i]);
  }
  clpi_store_end(&store);
}
END_TEST

/* Blocks whose uses are noted as done belong together from then on. */
START_TEST(runs_are_made_anew_when_uses_change)
{
  start();
  for (size_t i = 0; i < 6; i++)
    put(&blocks[i], (clpi_use){&streams[i % 2], i + 1}, i + 1);
  for (size_t i = 0; i < 4; i++)
    blocks[i].use = (clpi_use){&streams[2], 0};
  clpi_store_sort_uses(&store);
  ck_assert_uint_eq(count_runs(), 3);
  check_run("done", &blocks[0], "0123");
  check_run("of a stream", &blocks[4], "4");
  check_run("of the other", &blocks[5], "5");
  while (clpi_store_take_oldest(&store))
    continue;
  clpi_store_end(&store);
}
END_TEST

/* --- several streams a block --- */

static void put_noted(size_t i, clpi_noted_uses *noted, size_t first, size_t second)
{
  noted->count = noted->capacity = 2;
  noted->uses[0] = (clpi_use){&streams[first], i + 1};
  noted->uses[1] = (clpi_use){&streams[second], i + 1};
  blocks[i] = (clp_buffer){.bin = bin, .age = i + 1, .noted = noted};
  clpi_store_put(&store, &blocks[i]);
}

START_TEST(blocks_of_the_same_several_streams_are_a_run)
{
  clpi_noted_uses *noted[4];

  start();
  for (size_t i = 0; i < 4; i++) {
    noted[i] = malloc(sizeof(**noted) + 2 * sizeof(clpi_use));
    ck_assert_ptr_nonnull(noted[i]);
    put_noted(i, noted[i], 0, 1 + i % 2);
  }
  put(&blocks[4], (clpi_use){&streams[0], 9}, 9);
  ck_assert_uint_eq(count_runs(), 3);
  check_run("0 and 1", &blocks[0], "02");
  check_run("0 and 2", &blocks[1], "13");
  check_run("0", &blocks[4], "4");
  while (clpi_store_take(&store, bin))
    continue;
  for (size_t i = 0; i < 4; i++)
    free(noted[i]);
  clpi_store_end(&store);
}
END_TEST

/* --- any blocks in any order --- */

static void check_all(size_t listed)
{
  size_t count = 0;
  clpi_each_run (bin, oldest) {
    const clp_buffer *at = oldest;
    for (; ++count && !at->run.newer->run.next; at = at->run.newer) {
      ck_assert_ptr_eq(at->run.newer->use.stream, at->use.stream);
      ck_assert_uint_le(at->use.epoch, at->run.newer->use.epoch);
    }
    ck_assert_ptr_eq(at, clpi_run_newest(oldest));
  }
  ck_assert_uint_eq(count, listed);
}

START_TEST(runs_are_sorted_whatever_comes_and_goes)
{
  clpt_chance chance = clpt_chance_seed(1);
  bool is_listed[MOST] = {false};
  size_t listed = 0;

  start();
  for (unsigned step = 0; step < 5000; step++) {
    size_t i = clpt_chance_below(&chance, MOST);
    if (is_listed[i])
      clpi_store_remove(&store, &blocks[i]);
    else
      put(&blocks[i],
          (clpi_use){&streams[clpt_chance_below(&chance, STREAMS)],
                     1 + clpt_chance_below(&chance, 9)},
          clpt_chance_below(&chance, 99));
    is_listed[i] = !is_listed[i];
    listed += is_listed[i] ? 1 : -(size_t)1;
    check_all(listed);
  }
  while (clpi_store_take_largest(&store))
    continue;
  clpi_store_end(&store);
}
END_TEST

CLPT_MAIN("runs", clpt_run)
{
  TCase *tests = clpt_case(suite, "runs");

  tcase_add_loop_test(tests, a_run_has_the_blocks_of_a_stream_in_the_order_of_their_uses, 0,
                      sizeof(orders) / sizeof(orders[0]));
  tcase_add_test(tests, runs_end_with_their_blocks);
  tcase_add_test(tests, runs_are_made_anew_when_uses_change);
  tcase_add_test(tests, blocks_of_the_same_several_streams_are_a_run);
  tcase_add_test(tests, runs_are_sorted_whatever_comes_and_goes);
}
