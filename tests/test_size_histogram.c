/* SPDX-License-Identifier: MIT */
/* Looks at the sizes of blocks: what they find, and how often there are some. */
#include "core/stats.h"
#include "core/thread_cache.h"
#include "support/pools.h"
#include "support/sleeper.h"
#include "support/suite.h"

/* One more look, from the thread of the test. */
static const clpi_size_histogram *look(clp_pool *pool)
{
  clp_pool *locked = clpi_lock_all(pool);

  clpi_size_histogram_look_locked(locked, clpi_cache_find(locked));
  clpi_unlock_all(locked);
  return &pool->sizes;
}

/* The most that was in use at once, of those that share the bits with `size`. */
static unsigned most(const clpi_size_histogram *sizes, unsigned bits, size_t size)
{
  clpi_bin_place place = clpi_bin_place_of(bits, size);
  const clpi_size_level *level = sizes->levels[place.level];

  return level ? level->most[((size_t)1 << bits) + place.index] : 0;
}

START_TEST(sizes_in_a_bin_are_told_apart)
{
  const clpi_size_histogram *sizes;
  clp_buffer *buffers[6];
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (size_t i = 0; i < 6; i++)
    buffers[i] = clpt_allocate(rig.pool, i < 2 ? 65536 : 65536 + 3000); /* a bin of 4 bits */
  sizes = look(rig.pool);
  ck_assert_uint_eq(sizes->blocks, 6);
  ck_assert_uint_eq(most(sizes, 4, 65536), 6);
  ck_assert_uint_eq(most(sizes, 0, 70000), 6);
  ck_assert_uint_eq(most(sizes, 6, 65536), 2);
  ck_assert_uint_eq(most(sizes, 6, 65536 + 3000), 4);
  ck_assert_uint_eq(most(sizes, 6, 70000), 0);
  ck_assert_double_eq(sizes->peak_requested, 6 * 65536.0 + 4 * 3000.0);
  ck_assert_double_eq(sizes->peak_padded[0], 6 * 131071.0);
  ck_assert_double_eq(sizes->peak_padded[4], 6 * 69631.0);
  for (size_t i = 0; i < 6; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_most_at_one_look_stays)
{
  const clpi_size_histogram *sizes;
  clp_buffer *first, *second;
  clpt_rig rig;

  clpt_rig_start(&rig);
  first = clpt_allocate(rig.pool, 1000);
  second = clpt_allocate(rig.pool, 1000);
  look(rig.pool);
  clpt_ok(clp_buffer_release(first));
  clpt_ok(clp_buffer_release(second));
  sizes = look(rig.pool);
  ck_assert_uint_eq(most(sizes, 6, 1000), 2);
  ck_assert_uint_eq(sizes->blocks, 2);
  clpt_ok(clp_pool_reset_peaks(rig.pool));
  sizes = look(rig.pool);
  ck_assert_uint_eq(most(sizes, 6, 1000), 1); /* it was there, if not in use */
  ck_assert_double_eq(sizes->peak_requested, 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_a_block_was_last_used_for_goes_with_it)
{
  clpt_sleeper sleeper;
  clp_buffer *buffer;
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_sleeper_start(&sleeper, rig.pool, 1000, 3);
  ck_assert_uint_eq(most(look(rig.pool), 6, 1000), 3);
  buffer = clpt_allocate(rig.pool, 1020); /* of a bin with 1000, but not of a class */
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, 1);
  ck_assert_uint_eq(most(look(rig.pool), 4, 1000), 3);
  ck_assert_uint_eq(most(look(rig.pool), 6, 1020), 1);
  ck_assert_uint_eq(rig.pool->sizes.blocks, 3);
  clpt_ok(clp_buffer_release(buffer));
  clpt_sleeper_end(&sleeper);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(looks_become_rare)
{
  enum { PAIRS = 10000 };
  clpi_size_histogram *sizes;
  uint64_t looks;
  clpt_rig rig;

  clpt_rig_start(&rig);
  sizes = &rig.pool->sizes;
  for (int i = 0; i < PAIRS; i++)
    ck_assert(clpt_take_and_release(rig.pool, 1000, 1));
  looks = sizes->looks;
  ck_assert_uint_gt(looks, 50);
  ck_assert_uint_lt(looks, 100);
  ck_assert_double_gt(sizes->requests, 0.95 * PAIRS);
  ck_assert_double_gt(sizes->found[0], 0.95 * sizes->requests);
  for (int i = 0; i < PAIRS; i++)
    ck_assert(clpt_take_and_release(rig.pool, 1000, 1));
  ck_assert_uint_gt(sizes->looks, looks + 10);
  ck_assert_uint_lt(sizes->looks, looks + 30);
  clpt_rig_end(&rig);
}
END_TEST

/* Each claim costs; with so many, more than there may be credit for otherwise. */
START_TEST(many_threads_make_looks_rare_but_not_none)
{
  enum { THREADS = 70, RELEASES = 1 << 22 };
  clpt_sleeper sleepers[THREADS];
  clp_buffer *buffer;
  uint64_t looks;
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (size_t i = 0; i < THREADS; i++)
    clpt_sleeper_start(&sleepers[i], rig.pool, 1000, 1);
  buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(clpt_count_caches(rig.pool), THREADS + 1);
  looks = rig.pool->sizes.looks;
  pthread_mutex_lock(&rig.pool->lock);
  for (int i = 0; i < 3; i++)
    clpi_size_histogram_note_releases_locked(rig.pool, clpi_cache_find(rig.pool), RELEASES);
  pthread_mutex_unlock(&rig.pool->lock);
  ck_assert_uint_eq(rig.pool->sizes.looks, looks + 3);
  clpt_ok(clp_buffer_release(buffer));
  for (size_t i = 0; i < THREADS; i++)
    clpt_sleeper_end(&sleepers[i]);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_pool_that_holds_nothing_is_not_looked_at)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_ok(clp_pool_stop_holding(rig.pool));
  for (int i = 0; i < 200; i++) {
    clp_buffer *buffer = clpt_allocate(rig.pool, 1000);

    clpt_ok(clp_buffer_release(buffer));
  }
  ck_assert_uint_eq(rig.pool->sizes.looks, 0);
  clpt_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("size histogram");
  TCase *tests = clpt_case(suite, "looks");

  tcase_add_test(tests, sizes_in_a_bin_are_told_apart);
  tcase_add_test(tests, the_most_at_one_look_stays);
  tcase_add_test(tests, what_a_block_was_last_used_for_goes_with_it);
  tcase_add_test(tests, looks_become_rare);
  tcase_add_test(tests, many_threads_make_looks_rare_but_not_none);
  tcase_add_test(tests, a_pool_that_holds_nothing_is_not_looked_at);
  return clpt_run(suite);
}
