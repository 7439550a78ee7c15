/* SPDX-License-Identifier: MIT */
/* What threads that use the same bin take from the device, and the peaks that the pool reports,
 * beside what the threads count for themselves.
 *
 * A thread counts a block as wanted from before it asks for it until after its release, and as used
 * from after it got it until before its release. So at any moment the pool has no fewer blocks in
 * use than are used, and no more than are wanted. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>

enum { BYTES = 65535 /* a bin's size */, MOST_BLOCKS = 256 };

typedef struct tally {
  atomic_size_t now, peak; /* blocks */
} tally;

static clp_allocator *allocator;
static clp_pool *pool;
static unsigned threads, most_blocks; /* most_blocks: of each thread */
static tally wanted, used;

static void setup(void)
{
  wanted = used = (tally){0};
  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  pool = clpt_pool(allocator);
}

static void teardown(void)
{
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}

/* Relaxed, so that no thread waits for another one's memory because of the counts. */
static void add(tally *it)
{
  size_t now = atomic_fetch_add_explicit(&it->now, 1, memory_order_relaxed) + 1;
  size_t peak = atomic_load_explicit(&it->peak, memory_order_relaxed);
  while (now > peak && !atomic_compare_exchange_weak_explicit(
                           &it->peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
    ;
}

static clp_buffer *take(clpt_worker *self)
{
  clp_buffer *buffer = NULL;
  add(&wanted);
  clpt_note_failure(self, "allocate", clp_pool_allocate(pool, BYTES, &buffer));
  add(&used);
  return buffer;
}

static void give(clpt_worker *self, clp_buffer *buffer)
{
  atomic_fetch_sub_explicit(&used.now, 1, memory_order_relaxed);
  clpt_note_failure(self, "release", clp_buffer_release(buffer));
  atomic_fetch_sub_explicit(&wanted.now, 1, memory_order_relaxed);
}

/* The active peak is right within 7 %, or a block. The managed one is at most a tenth, and a block,
 * above what was wanted. */
static void check_peaks(void)
{
  size_t least = used.peak * BYTES, most = wanted.peak * BYTES;
  clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_ge(stats.peak_active_bytes + BYTES + least / 100 * 7, least);
  ck_assert_uint_le(stats.peak_active_bytes, most + BYTES + most / 100 * 7);
  ck_assert_uint_ge(stats.peak_managed_bytes, least);
  ck_assert_uint_le(stats.peak_managed_bytes, most + most / 10 + BYTES);
  ck_assert(threads > 1 || (stats.peak_active_bytes == least && stats.peak_managed_bytes == least));
}

static void rise_and_fall(clpt_worker *self)
{
  clp_buffer *blocks[MOST_BLOCKS] = {NULL};
  for (unsigned round = 0; round < self->rounds; round++) {
    size_t count = 1 + (size_t)clpt_chance_below(&self->chance, most_blocks);
    for (size_t i = 0; i < count; i++)
      blocks[i] = take(self);
    if (clpt_chance_below(&self->chance, 4) == 0)
      (void)sched_yield(); /* so that others rise and fall meanwhile, also on one processor */
    for (size_t i = 0; i < count; i++)
      give(self, blocks[i]);
  }
}

static const unsigned crowds[][3] = {/* threads, blocks, rounds */
                                     {1, 16, 2000}, {2, 16, 8000}, {8, 16, 2000}, {16, 16, 1000},
                                     {2, 256, 500}, {4, 256, 500}, {16, 256, 125}};
enum { CROWDS = sizeof(crowds) / sizeof(crowds[0]) };

START_TEST(threads_at_once_take_little_more_than_they_use)
{
  static const clpt_work work[] = {rise_and_fall};
  static clpt_workers workers;
  threads = crowds[_i][0];
  most_blocks = crowds[_i][1];
  clpt_workers_start(&workers, threads, work, 1, clpt_iterations(crowds[_i][2]), NULL);
  clpt_workers_join(&workers);
  check_peaks();
}
END_TEST

/* --- peaks of a moment --- */

enum { FEW = 10 };

typedef struct lot {
  size_t bytes;
  clp_buffer *few[FEW];
} lot;

static void *take_lot(void *argument)
{
  lot *it = argument;
  for (size_t i = 0; i < FEW; i++)
    clpt_ok(clp_pool_allocate(pool, it->bytes, &it->few[i]));
  return NULL;
}

static void give_lot(lot *it)
{
  for (size_t i = 0; i < FEW; i++)
    clpt_ok(clp_buffer_release(it->few[i]));
}

/* S, s: a small lot is taken here, or on another thread; x: it is given back. L, l: so is a large
 * one. h: another thread releases what this one takes. r: the peaks are reset; t: the pool is
 * trimmed. */
START_TEST(a_short_peak_is_reported)
{
  static const char *const programs[] = {"SLlxrLS", "SxLlhrLS", "sxLltLs"};
  lot large = {.bytes = 1000}, small = {.bytes = 900};
  for (const char *at = programs[_i]; *at; at++) {
    if (*at == 'S' || *at == 'L')
      take_lot(*at == 'S' ? &small : &large);
    else if (*at == 's')
      clpt_aside(take_lot, &small);
    else if (*at == 'x' || *at == 'l')
      give_lot(*at == 'x' ? &small : &large);
    else if (*at != 'h')
      clpt_ok(*at == 't' ? clp_pool_trim_to(pool, 0) : clp_pool_reset_peaks(pool));
    for (int i = 0; *at == 'h' && i < 200; i++)
      clpt_release_aside(clpt_allocate(pool, FEW * 1000));
  }
  clp_buffer *last = large.few[0];
  large.few[0] = NULL;
  give_lot(&large);
  if (_i == 0)
    clpt_release_aside(last);
  else
    clpt_ok(clp_buffer_release(last));
  give_lot(&small);
  ck_assert_uint_eq(clpt_stats(pool).peak_active_bytes, FEW * (1000 + 900));
}
END_TEST

CLPT_SUITE("peaks")
{
  TCase *tests = clpt_case(suite, "peaks");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, threads_at_once_take_little_more_than_they_use, 0, CROWDS);
  tcase_add_loop_test(tests, a_short_peak_is_reported, 0, 3);
}
