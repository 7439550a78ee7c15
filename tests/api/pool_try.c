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

/* What is done first, with a block held of home's, and one of s. */
enum { NOTHING, FREE, HOOK_THREAD, HOOK_POOL, HOOK_OTHER_POOL, LIMIT, STOP };

static clp_status begin(int what)
{
  return what == FREE              ? clp_pool_free_held(rig.pool)
         : what == HOOK_THREAD     ? clp_hook_push(&hook)
         : what == HOOK_POOL       ? clp_pool_add_hook(rig.pool, &hook)
         : what == HOOK_OTHER_POOL ? clp_pool_add_hook(other, &hook)
         : what == LIMIT           ? clp_pool_set_limit(rig.pool, 1)
         : what == STOP            ? clp_pool_stop_holding(rig.pool)
                                   : CLP_SUCCESS;
}

static const struct {
  int what;
  where stream;
  bool allocates, releases;
} situations[] = {{NOTHING, HOME, true, true},         {NOTHING, S, true, true},
                  {NOTHING, T, false, true}, /* held blocks were released on other streams */
                  {FREE, HOME, false, true},           {FREE, S, false, true},
                  {HOOK_THREAD, HOME, false, false},   {HOOK_POOL, S, false, false},
                  {HOOK_OTHER_POOL, HOME, true, true}, {LIMIT, HOME, true, true},
                  {STOP, HOME, false, false}};
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
  clpt_ok(begin(situations[_i].what));
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
