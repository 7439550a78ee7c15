/* SPDX-License-Identifier: MIT */
/* What the child of a fork may do with what its parent has made: lib/core/base/fork.c. */
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>
#include <clpool/clpool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1000 };

/* The parent's, and what the child is given: nothing. */
static clp_allocator *device, *arena, *no_allocator;
static clp_pool *pool, *no_pool;
static clp_buffer *buffer, *no_buffer;
static clp_memory memory, no_memory;
static clp_line_profile *profile;
static clp_hook hook = {.struct_size = sizeof(hook), .name = "none"};
static clp_pool_stats stats = CLP_POOL_STATS_INIT;
static clp_bin_stats bin_stats = CLP_BIN_STATS_INIT;
static clp_arena_stats arena_stats = CLP_ARENA_STATS_INIT;
static size_t count;

/* A call in the child comes to this, and if it fails the message says why. */
#define GIVES(expected, call)                                                                      \
  do {                                                                                             \
    (void)clp_set_last_error(CLP_SUCCESS, 0, "");                                                  \
    if ((call) != (expected) || clp_last_error()->status != (expected) ||                          \
        !strstr(clp_last_error()->message, (expected) ? "before fork()" : "")) {                   \
      fprintf(stderr, "%s: %s\n", #call, clp_last_error()->message);                               \
      _exit(EXIT_FAILURE);                                                                         \
    }                                                                                              \
  } while (0)

#define REFUSES(call)  GIVES(CLP_NOT_SUPPORTED, call)
#define SUCCEEDS(call) GIVES(CLP_SUCCESS, call)

static void call_all(void)
{
  REFUSES(clp_pool_allocate(pool, BYTES, &no_buffer));
  REFUSES(clp_pool_allocate(pool, 0, &no_buffer));
  REFUSES(clp_pool_allocate_on(pool, BYTES, &count, &no_buffer));
  REFUSES(clp_pool_free_held(pool));
  SUCCEEDS(clp_free_all_held());
  REFUSES(clp_pool_trim_idle(pool, 0));
  REFUSES(clp_pool_stop_holding(pool));
  REFUSES(clp_pool_trim_to(pool, 0));
  REFUSES(clp_pool_set_limit(pool, BYTES));
  REFUSES(clp_pool_set_limit_fraction(pool, 0.5));
  REFUSES(clp_pool_get_stats(pool, &stats));
  REFUSES(clp_pool_reset_peaks(pool));
  REFUSES(clp_pool_get_bins(pool, NULL, 0, &count));
  REFUSES(clp_pool_get_bin_stats(pool, 0, &bin_stats));
  REFUSES(clp_pool_forget_stream(pool, &count));
  REFUSES(clp_pool_mark_stream(pool, &count));
  REFUSES(clp_pool_add_hook(pool, &hook));
  REFUSES(clp_pool_remove_hook(pool, &hook));
  REFUSES(clp_buffer_record_use(buffer, &count));
  REFUSES(clp_buffer_bind(buffer, &count));
  REFUSES(clp_buffer_unbind(buffer));
  REFUSES(clp_pool_create(device, NULL, &no_pool));
  REFUSES(clp_arena_allocator_create(device, NULL, &no_allocator));
  REFUSES(clp_allocator_allocate(device, BYTES, &no_memory));
  REFUSES(clp_arena_get_stats(arena, &arena_stats));
  REFUSES(clp_arena_reserve(arena, 0));
  REFUSES(clp_arena_dump(arena, stdout));
  REFUSES(clp_line_profile_print(profile, stdout));
  REFUSES(clp_line_profile_write_folded(profile, stdout));
  REFUSES(clp_line_profile_print_view(profile, CLP_VIEW_NOW, stdout));
  REFUSES(clp_line_profile_reset(profile));
  SUCCEEDS(clp_allocator_free(device, memory, BYTES));
  SUCCEEDS(clp_buffer_release_on(buffer, &count));
  SUCCEEDS(clp_buffer_release(buffer));
  SUCCEEDS(clp_buffer_release(buffer));
}

/* First uses a pool of its own, so that the thread has a shard in every pool. */
static int be_child(void)
{
  clp_allocator *own;
  clp_pool *its;
  SUCCEEDS(clp_host_allocator_create(0, &own));
  SUCCEEDS(clp_pool_create(own, NULL, &its));
  SUCCEEDS(clp_pool_allocate(its, BYTES, &no_buffer));
  SUCCEEDS(clp_buffer_release(no_buffer));
  clp_pool_release(its);
  clp_allocator_release(own);
  call_all();
  clp_line_profile_destroy(profile);
  clp_pool_release(clp_pool_retain(pool));
  clp_pool_release(pool);
  bool ok = !no_buffer && !no_pool && !no_allocator && !no_memory && clp_buffer_memory(buffer) &&
            clp_buffer_pool(buffer) == pool;
  clp_allocator_release(clp_allocator_retain(device));
  clp_allocator_release(arena);
  clp_allocator_release(device);
  return !ok;
}

static void touch(clpt_device *touched, clpt_call call, size_t bytes)
{
  _exit(EXIT_FAILURE); /* no device is called */
}

START_TEST(nothing_of_the_parents_is_used_or_waited_for)
{
  int status = -1;
  clpt_rig rig;
  clpt_device_init_split(&rig.device);
  clpt_rig_start_with(&rig, NULL);
  device = rig.allocator;
  pool = rig.pool;
  clpt_ok(clp_arena_allocator_create(device, NULL, &arena));
  clpt_ok(clp_line_profile_create(0, &profile));
  if (_i)
    clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  buffer = clpt_allocate(pool, BYTES);
  clpt_hold(pool, BYTES, 3);
  memory = clpt_memory(device, BYTES);
  pthread_mutex_lock(&pool->shards.lock); /* as another thread might have, at that moment */
  pid_t child = fork();
  if (child == 0) {
    rig.device.on_call = touch;
    clpt_leave(be_child());
  }
  pthread_mutex_unlock(&pool->shards.lock);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  if (_i)
    clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  clp_line_profile_destroy(profile);
  clp_allocator_release(arena);
  clpt_ok(clp_allocator_free(device, memory, BYTES));
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("inherited", clpt_run_apart)
{
  tcase_add_loop_test(clpt_case(suite, "children"), nothing_of_the_parents_is_used_or_waited_for, 0,
                      2);
}
