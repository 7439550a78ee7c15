/* SPDX-License-Identifier: MIT */
/* Blocks that go from thread to thread, and the peaks that the pool reports. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>

enum { BYTES = 65535 /* a bin's size */, PLACES = 32 };

static clp_allocator *allocator;
static clp_pool *pool;
static _Atomic(clp_buffer *) places[PLACES];

static void setup(void)
{
  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  pool = clpt_pool(allocator);
}

static void teardown(void)
{
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}

/* Half of the threads put blocks into places, the other half takes them out of there. */
static void put_or_take(clpt_worker *self)
{
  for (unsigned i = self->number / 2; i < self->rounds; i++) {
    _Atomic(clp_buffer *) *place = &places[i % PLACES];
    clp_buffer *block = NULL, *none = NULL;
    if (self->number % 2 == 0) {
      clpt_note_failure(self, "allocate", clp_pool_allocate(pool, BYTES, &block));
      while (block && !atomic_compare_exchange_weak(place, &none, block)) {
        none = NULL;
        (void)sched_yield();
      }
    } else {
      while (!(block = atomic_exchange(place, NULL)))
        (void)sched_yield();
      clpt_note_failure(self, "release", clp_buffer_release(block));
    }
  }
}

/* The pool may take no new one, and has one more than are in use when a thread asks for one. */
START_TEST(a_block_that_another_thread_holds_is_found)
{
  static const clpt_work work[] = {put_or_take};
  static clpt_workers workers;
  unsigned threads = 1u << _i;

  clpt_hold(pool, BYTES, PLACES + threads);
  clpt_ok(clp_pool_set_limit(pool, 1));
  clpt_workers_start(&workers, threads, work, 1, clpt_iterations(20000), NULL);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(clpt_stats(pool).misses, PLACES + threads);
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

/* One thread's, no higher than one before the reset, which stays when another comes; one of a
 * thread whose blocks others released; and one of two threads, after one that was higher. */
START_TEST(a_short_peak_is_reported)
{
  lot large = {.bytes = 1000}, small = {.bytes = 900};
  clp_buffer *handed;

  take_lot(&large);
  if (_i == 0)
    take_lot(&small);
  give_lot(&large);
  if (_i > 0)
    clpt_aside(take_lot, &small);
  give_lot(&small);
  for (int i = 0; _i == 1 && i < 200; i++) {
    clpt_ok(clp_pool_allocate(pool, FEW * 1000, &handed));
    clpt_release_aside(handed);
  }
  if (_i == 2)
    clpt_ok(clp_pool_trim_to(pool, 0));
  clpt_ok(clp_pool_reset_peaks(pool));
  take_lot(&large);
  if (_i == 2)
    clpt_aside(take_lot, &small);
  else
    take_lot(&small);
  for (size_t i = 1; i < FEW; i++)
    clpt_ok(clp_buffer_release(large.few[i]));
  clpt_release_aside(large.few[0]);
  give_lot(&small);
  ck_assert_uint_eq(clpt_stats(pool).peak_active_bytes, FEW * (1000 + 900));
}
END_TEST

CLPT_SUITE("peaks")
{
  TCase *tests = clpt_case(suite, "peaks");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, a_block_that_another_thread_holds_is_found, 1, 5);
  tcase_add_loop_test(tests, a_short_peak_is_reported, 0, 3);
}
