/* SPDX-License-Identifier: MIT */
/* clp_pool_try_allocate and clp_buffer_try_release: what they serve, and what they leave alone.
 * Meanwhile the pool's lock is taken, so a call that waits for it hangs. */
#include "core/pool/pool.h"
#include "support/late_rig.h"
#include "support/suite.h"

#include <clpool/hook.h>

static clpt_late_rig rig;
static clp_pool *other;
static clp_hook hook = {.struct_size = sizeof(hook), .name = "hook"};

typedef enum where { HOME, S, T } where;

static clp_status begin_warm(void)
{
  return CLP_SUCCESS;
}

static clp_status begin_miss(void)
{
  return clp_pool_free_held(rig.pool);
}

static clp_status begin_thread_hook(void)
{
  return clp_hook_push(&hook);
}

static clp_status begin_pool_hook(void)
{
  return clp_pool_add_hook(rig.pool, &hook);
}

static clp_status begin_other_pools_hook(void)
{
  return clp_pool_add_hook(other, &hook);
}

static clp_status begin_limit(void)
{
  return clp_pool_set_limit(rig.pool, 1);
}

static clp_status begin_no_holding(void)
{
  return clp_pool_stop_holding(rig.pool);
}

static const struct {
  clp_status (*begin)(void); /* with a block held of home's, and one of s */
  where stream;
  bool allocates, releases;
} situations[] = {
    {begin_warm, HOME, true, true},
    {begin_warm, S, true, true},
    {begin_warm, T, false, true}, /* held blocks were released on other streams */
    {begin_miss, HOME, false, true},
    {begin_miss, S, false, true},
    {begin_thread_hook, HOME, false, false},
    {begin_pool_hook, S, false, false},
    {begin_other_pools_hook, HOME, true, true},
    {begin_limit, HOME, true, true},
    {begin_no_holding, HOME, false, false},
};
enum { SITUATIONS = sizeof(situations) / sizeof(situations[0]) };

static clp_buffer *take(where at)
{
  clp_stream stream = at == S ? rig.s : rig.t;
  clp_buffer *buffer = NULL;

  clpt_ok(at == HOME ? clp_pool_allocate(rig.pool, CLPT_LATE_BYTES, &buffer)
                     : clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, stream, &buffer));
  return buffer;
}

static void give(clp_buffer *buffer, where at)
{
  clpt_ok(at == HOME ? clp_buffer_release(buffer)
                     : clp_buffer_release_on(buffer, at == S ? rig.s : rig.t));
}

START_TEST(hits_are_served_without_the_pools_lock_and_the_rest_is_left_alone)
{
  where at = situations[_i].stream;
  clp_buffer *buffer = (clp_buffer *)&rig;

  clpt_late_rig_start_with_home(&rig, CLPT_REUSE_NEVER);
  clp_stream stream = at == S ? rig.s : rig.t;
  other = clpt_late_pool(&rig, CLPT_REUSE_NEVER);
  clp_buffer *buffers[] = {take(HOME), take(S)};
  give(take(T), T); /* the pool and the thread's shard know the streams */
  clpt_ok(clp_pool_free_held(rig.pool));
  give(buffers[HOME], HOME);
  give(buffers[S], S);
  clpt_ok(situations[_i].begin());
  (void)clp_set_last_error(CLP_INVALID_ARGUMENT, 0, "before");
  clp_pool_stats before = clpt_stats(rig.pool);

  pthread_mutex_lock(&rig.pool->shards.lock);
  bool allocated = at == HOME
                       ? clp_pool_try_allocate(rig.pool, CLPT_LATE_BYTES, &buffer)
                       : clp_pool_try_allocate_on(rig.pool, CLPT_LATE_BYTES, stream, &buffer);
  pthread_mutex_unlock(&rig.pool->shards.lock);
  ck_assert_int_eq(allocated, situations[_i].allocates);
  ck_assert_int_eq(allocated, buffer != NULL);
  clp_pool_stats after = clpt_stats(rig.pool);
  ck_assert_uint_eq(after.hits, before.hits + allocated);
  if (!allocated) {
    clpt_assert_same_figures(&before, &after);
    buffer = take(at);
  }

  size_t active = clpt_stats(rig.pool).active_blocks;
  pthread_mutex_lock(&rig.pool->shards.lock);
  bool released =
      at == HOME ? clp_buffer_try_release(buffer) : clp_buffer_try_release_on(buffer, stream);
  pthread_mutex_unlock(&rig.pool->shards.lock);
  ck_assert_int_eq(released, situations[_i].releases);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, active - released);
  ck_assert_str_eq(clp_last_error()->message, "before");
  if (!released)
    give(buffer, at);
  (void)clp_hook_pop(&hook);
  (void)clp_pool_remove_hook(rig.pool, &hook);
  (void)clp_pool_remove_hook(other, &hook);
  clp_pool_release(other);
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_SUITE("try")
{
  tcase_add_loop_test(clpt_case(suite, "try"),
                      hits_are_served_without_the_pools_lock_and_the_rest_is_left_alone, 0,
                      SITUATIONS);
}
