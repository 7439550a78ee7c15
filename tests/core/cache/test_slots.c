/* SPDX-License-Identifier: MIT */
/* The slots of a cache: as many as the bins that its owner uses, and what they cost. */
#include "core/cache/slots.h"

#include "core/cache/warm_path.h"
#include "core/pool/pool.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/sleeper.h"
#include "support/suite.h"

enum { BINS = 1000, STEP = 1024 };

/* A thread that uses every `stride`th of the pool's bins. */
typedef struct user {
  clp_pool *pool;
  size_t stride;
  unsigned long allocations; /* of host memory */
  size_t slots;              /* that its cache then has */
  bool failed;
} user;

static bool use_bins(clp_pool *pool, size_t stride)
{
  bool used = true;
  for (size_t i = BINS; used && i >= stride; i -= stride)
    used = clpt_take_and_release(pool, i * STEP, 1);
  return used;
}

static void *use(void *argument)
{
  user *it = argument;

  clpt_host_start(CLPT_HOST_COUNTS, 0);
  it->failed = !use_bins(it->pool, it->stride);
  it->allocations = clpt_host_stop();
  clpi_each_slot(clpi_cache_find(&it->pool->stock), i, slot) it->slots++;
  return NULL;
}

/* A pool whose bins all have an index already. */
static clp_pool *make_pool(clpt_rig *rig)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;

  options.leading_bits_in_bin_id = 10;
  clpt_rig_start(rig);
  clpt_ok(clp_pool_create(rig->allocator, &options, &pool));
  ck_assert(use_bins(pool, 1));
  return pool;
}

/* Runs the thread, which has a cache of its own. */
static user run(clp_pool *pool, size_t stride)
{
  user it = {.pool = pool, .stride = stride};
  pthread_t thread;

  ck_assert_int_eq(pthread_create(&thread, NULL, use, &it), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert(!it.failed);
  return it;
}

START_TEST(a_thread_has_slots_of_the_bins_that_it_uses)
{
  clpt_rig rig;
  clp_pool *pool = make_pool(&rig);

  ck_assert_uint_eq(run(pool, BINS / 4).slots, 4);
  clp_pool_release(pool);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_thread_with_few_bins_takes_a_cache_and_little_more)
{
  clpt_rig rig;
  clp_pool *pool = make_pool(&rig);

  ck_assert_uint_le(sizeof(clpi_cache), 9500);
  /* Its place, its cache, two far slots at once, and a table of these that is once too small. */
  ck_assert_uint_le(run(pool, BINS / 3).allocations, 5);
  clp_pool_release(pool);
  clpt_rig_end(&rig);
}
END_TEST

/* The thread that goes on with a cache finds its slots. */
START_TEST(slots_stay_with_the_cache)
{
  clpt_rig rig;
  clp_pool *pool = make_pool(&rig);

  ck_assert_uint_eq(run(pool, BINS / 4).slots, 4);
  user next = run(pool, BINS / 2);
  ck_assert_uint_eq(next.slots, 4);
  ck_assert_uint_eq(next.allocations, 0);
  clp_pool_release(pool);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("slots", clpt_run)
{
  TCase *tests = clpt_case(suite, "slots");

  tcase_add_test(tests, a_thread_has_slots_of_the_bins_that_it_uses);
  tcase_add_test(tests, a_thread_with_few_bins_takes_a_cache_and_little_more);
  tcase_add_test(tests, slots_stay_with_the_cache);
}
