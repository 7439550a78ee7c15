/* SPDX-License-Identifier: MIT */
/* Direct pools with a limit (lib/core/pool/direct_path.h): no block passes it, whoever else is
 * about to have one. */
#include "core/pool/pool.h"
#include "core/pool/request.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <clpool/hook.h>
#include <semaphore.h>

/* Of the limit there is room for either of two blocks, but not for both. */
enum { LIMIT = 64 * 1024, ONE = 40000, OTHER = 30000 };

static clp_allocator *arena;
static clp_pool *pool;

/* The arena has room for both. */
static void setup(void)
{
  clp_allocator *device;
  clpt_ok(clp_simulated_allocator_create(0, &device));
  clpt_ok(clp_arena_allocator_create(device, NULL, &arena));
  clp_allocator_release(device);
  clpt_ok(clp_pool_create(arena, NULL, &pool));
  for (size_t i = 0; i < 32; i++)
    clpt_hold(pool, 1000 * (1 + i % 4), 1);
  clp_buffer *one = clpt_allocate(pool, ONE), *other = clpt_allocate(pool, OTHER);
  clpt_ok(clp_buffer_release(one));
  clpt_ok(clp_buffer_release(other));
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 0);
  clpt_ok(clp_pool_set_limit(pool, LIMIT));
}

static void teardown(void)
{
  clp_pool_release(pool);
  clp_allocator_release(arena);
}

START_TEST(it_is_kept)
{
  clp_buffer *refused = NULL;

  clp_buffer *one = clpt_allocate(pool, ONE);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, OTHER, &refused));
  clpt_ok(clp_buffer_release(one));
  clpt_ok(clp_buffer_release(clpt_allocate(pool, OTHER)));
}
END_TEST

static clp_status nested_status;

static void allocate_nested(const clp_hook_event *event, void *user_data)
{
  clp_buffer *nested = NULL;
  (void)event, (void)user_data;
  nested_status = clp_pool_allocate(pool, ONE, &nested);
}

/* A hook's callback may use the pool while the call that it is shown has its block to come. */
START_TEST(what_a_callback_allocates_is_within_it)
{
  clp_hook hook = CLP_HOOK_INIT;

  hook.name = "nested";
  hook.alloc_preprocess = allocate_nested;
  clpt_ok(clp_pool_add_hook(pool, &hook));
  clp_buffer *outer = clpt_allocate(pool, OTHER);
  clpt_ok(clp_pool_remove_hook(pool, &hook));
  ck_assert_int_eq(nested_status, CLP_LIMIT_EXCEEDED);
  clpt_ok(clp_buffer_release(outer));
}
END_TEST

/* --- a thread without a shard --- */

static sem_t has_reserved, may_go_on;
static _Thread_local bool pauses;

/* Between what is reserved and what the arena is asked for. */
clp_status __real_clpi_fit(clpi_request *wanted);
clp_status __wrap_clpi_fit(clpi_request *wanted);

clp_status __wrap_clpi_fit(clpi_request *wanted)
{
  if (pauses) {
    clpt_host_stop();
    sem_post(&has_reserved);
    sem_wait(&may_go_on);
  }
  return __real_clpi_fit(wanted);
}

static void allocate_without_shard(clpt_worker *self)
{
  pauses = true;
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clpt_note_failure(self, "clp_pool_allocate", clp_pool_allocate(pool, OTHER, self->shared));
  if (!clpt_host_failed())
    clpt_wrong(self, "there was a shard");
}

START_TEST(what_a_thread_without_a_shard_allocates_is_within_it)
{
  static const clpt_work works[] = {allocate_without_shard};
  clp_buffer *refused = NULL, *other = NULL;
  clpt_workers workers;

  sem_init(&has_reserved, 0, 0);
  sem_init(&may_go_on, 0, 0);
  clpt_workers_start(&workers, 1, works, 1, 0, &other);
  sem_wait(&has_reserved);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, ONE, &refused));
  sem_post(&may_go_on);
  clpt_workers_join(&workers);
  clpt_ok(clp_buffer_release(other));
}
END_TEST

CLPT_MAIN("limits of direct pools", clpt_run)
{
  TCase *tests = clpt_case(suite, "direct");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, it_is_kept);
  tcase_add_test(tests, what_a_callback_allocates_is_within_it);
  tcase_add_test(tests, what_a_thread_without_a_shard_allocates_is_within_it);
}
