/* SPDX-License-Identifier: MIT */
/* on_out_of_memory: when it is called, and what it may do. */
#include "support/ladder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <clpool/hook.h>

START_TEST(the_callback_is_asked_again_for_as_long_as_it_says_yes)
{
  clpt_rig rig;
  clpt_helper helper;
  clp_buffer *buffer = NULL;
  unsigned calls = 0;

  clpt_start_with_helper(&rig, &helper, 1000);
  helper.says_yes = (unsigned)_i;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_uint_eq(helper.says_yes, 0);
  for (const char *c = rig.device.trace; *c != '\0'; c++)
    calls += *c == 'C';
  ck_assert_uint_eq(calls, (unsigned)_i + 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 1);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_callback_that_frees_elsewhere_lets_the_request_succeed)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  clp_pool *other = clpt_pool(rig.allocator);
  helper.says_yes = 1;
  helper.releases[0] = clpt_allocate(other, 500);
  clpt_ok(clp_pool_stop_holding(other)); /* so the release goes to the device */
  clpt_device_clear_trace(&rig.device);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  clpt_device_trace_is(&rig.device, "A1023! D A1023! R A1023! C1023 F511 A1023");
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_a_callback_frees_late_is_waited_for_again)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  rig.device.frees_are_pending = true;
  clp_pool *other = clpt_pool(rig.allocator);
  helper.says_yes = 1;
  helper.releases[0] = clpt_allocate(other, 500);
  clpt_ok(clp_pool_stop_holding(other));
  clpt_assert_served(&rig, "A1023! D A1023! R A1023! C1023 F511 A1023! D A1023");
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_callback_that_releases_a_buffer_of_the_bin_has_it_handed_out)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  helper.says_yes = 1;
  helper.releases[0] = clpt_allocate(rig.pool, 1010); /* 1023 as well */
  clp_memory memory = clp_buffer_memory(helper.releases[0]);
  clpt_device_clear_trace(&rig.device);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(clp_buffer_memory(buffer), memory);
  clpt_device_trace_is(&rig.device, "A1023! D A1023! R A1023! C1023"); /* no free, no new one */
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 1);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_a_callback_releases_into_other_bins_is_freed_for_the_request)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  helper.says_yes = 2;
  helper.releases[0] = clpt_allocate(rig.pool, 100);
  helper.releases[1] = clpt_allocate(rig.pool, 400);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(helper.says_yes, 0);
  ck_assert_uint_eq(helper.released, 2);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_frees, 2);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_callback_may_use_other_pools_and_its_own)
{
  clpt_rig rig, stranger;
  clpt_helper helper;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&stranger);
  for (int own = 0; own < 2; own++) {
    clpt_start_with_helper(&rig, &helper, 1000);
    helper.uses = own ? rig.pool : stranger.pool;
    helper.says_yes = 3;
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
    ck_assert_uint_eq(helper.says_yes, 0);
    clpt_rig_end(&rig);
  }
  ck_assert_uint_eq(clpt_stats(stranger.pool).held_blocks, 1);
  clpt_rig_end(&stranger);
}
END_TEST

START_TEST(a_callback_that_runs_out_of_memory_itself_nests)
{
  clpt_rig rig, inner;
  clpt_helper helper, inner_helper;
  clp_buffer *active, *buffer = NULL;

  clpt_start_with_helper(&inner, &inner_helper, 15);
  active = clpt_allocate(inner.pool, 9); /* leaves no room for 10 bytes */
  inner_helper.says_yes = 1;
  inner_helper.releases[0] = active;
  clpt_start_with_helper(&rig, &helper, 1000);
  helper.uses = inner.pool;
  helper.says_yes = 2;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  clpt_message_has("1023"); /* of the outer request */
  ck_assert_uint_eq(inner_helper.seen_bytes, 10);
  ck_assert_uint_eq(inner_helper.says_yes, 0);
  ck_assert_uint_eq(helper.seen_bytes, 1023);
  ck_assert_uint_eq(helper.says_yes, 0);
  clpt_rig_end(&rig);
  clpt_rig_end(&inner);
}
END_TEST

/* --- callbacks that ask for memory themselves --- */

/* Where pools stand, and what refuses them. */
enum { ON_DEVICE, AT_LIMIT, ON_ARENA, ASKING_EACH_OTHER, KINDS };

typedef struct asker {
  clp_pool *pool, *other; /* whose callback it is; whom it asks */
  clp_status refusal;     /* what that says */
  unsigned depth, calls;
} asker;

static bool ask_for_more(clp_pool *pool, size_t bytes, void *user_data)
{
  asker *self = user_data;
  clp_buffer *staging = NULL;
  (void)bytes;
  ck_assert_ptr_eq(pool, self->pool);
  ck_assert_uint_eq(self->depth++, 0);
  self->calls++;
  clpt_fails(self->refusal, clp_pool_allocate(self->other, 5000, &staging));
  self->depth--;
  return self->calls < 3;
}

START_TEST(inside_its_callback_a_pool_calls_none)
{
  clpt_device device;
  asker askers[2] = {{.calls = 0}};
  clpt_device_init_split(&device);
  clp_allocator *allocator = clpt_device_allocator(&device), *below = allocator;
  if (_i == ON_ARENA)
    clpt_ok(clp_arena_allocator_create(below, NULL, &allocator));
  clp_buffer *active[2], *buffer = NULL;
  for (int i = 0; i < 2; i++) {
    clp_pool_options options = CLP_POOL_OPTIONS_INIT;
    options.on_out_of_memory = ask_for_more;
    options.user_data = &askers[i];
    clpt_ok(clp_pool_create(allocator, &options, &askers[i].pool));
    active[i] = clpt_allocate(askers[i].pool, 4096);
  }
  device.capacity = _i == AT_LIMIT ? 0 : device.live_bytes + 1000;
  if (_i == AT_LIMIT)
    clpt_ok(clp_pool_set_limit(askers[0].pool, 6000));
  clp_status refusal = _i == AT_LIMIT ? CLP_LIMIT_EXCEEDED : CLP_OUT_OF_DEVICE_MEMORY;
  for (int i = 0; i < 2; i++) {
    askers[i].other = askers[_i == ASKING_EACH_OTHER ? !i : i].pool;
    askers[i].refusal = refusal;
  }
  clpt_fails(refusal, clp_pool_allocate(askers[0].pool, 5000, &buffer));
  ck_assert_uint_eq(askers[0].calls, 3);
  ck_assert_uint_eq(askers[1].calls, _i == ASKING_EACH_OTHER ? 5 : 0); /* 3, and 1 each time */
  for (int i = 0; i < 2; i++) {
    clpt_ok(clp_buffer_release(active[i]));
    clp_pool_release(askers[i].pool);
  }
  if (_i == ON_ARENA)
    clp_allocator_release(allocator);
  clp_allocator_release(below);
  clpt_device_assert_ended(&device);
}
END_TEST

static bool end_thread(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes, (void)user_data;
  pthread_exit("in a callback");
}

static clp_status pushed;

static void push_a_hook(void *hook)
{
  pushed = clp_hook_push(hook);
  (void)clp_hook_pop(hook);
}

static void *ask_in_vain(void *pool)
{
  clp_hook hook = CLP_HOOK_INIT;
  clp_buffer *buffer;
  hook.name = "at the end";
  pthread_cleanup_push(push_a_hook, &hook);
  (void)clp_pool_allocate(pool, 1000, &buffer);
  pthread_cleanup_pop(false);
  return NULL;
}

/* What the thread does then is not done inside of the callback. The pool never ends. */
START_TEST(a_callback_that_ends_its_thread_is_over)
{
  static clpt_device device;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;
  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
  options.on_out_of_memory = end_thread;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  device.capacity = 1;
  pushed = CLP_BUSY;
  ck_assert_str_eq(clpt_aside(ask_in_vain, pool), "in a callback");
  ck_assert_int_eq(pushed, CLP_SUCCESS);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

typedef struct promiser {
  bool is_limited, takes, is_on_arena; /* takes: and releases, memory of the same pool */
  unsigned calls;
} promiser;

static bool promise(clp_pool *pool, size_t bytes, void *user_data)
{
  promiser *self = user_data;
  (void)bytes;
  ck_assert_uint_le(++self->calls, 1000);
  if (self->takes)
    clpt_ok(clp_buffer_release(clpt_allocate(pool, 10)));
  return true;
}

static const promiser promisers[] = {
    {.is_limited = true},
    {.is_limited = false},
    {.is_limited = true, .takes = true},
    {.is_limited = false, .takes = true},
    {.is_limited = true, .takes = true, .is_on_arena = true},
};
enum { PROMISERS = sizeof(promisers) / sizeof(promisers[0]) };

START_TEST(a_callback_that_only_promises_is_not_asked_for_ever)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  promiser it = promisers[_i];
  clpt_rig rig;
  clp_buffer *buffer = NULL;
  clpt_device_init_split(&rig.device);
  rig.device.ops.alignment = 1;
  options.on_out_of_memory = promise;
  options.user_data = &it;
  options.arena = it.is_on_arena;
  clpt_rig_start_with(&rig, &options);
  clp_buffer *active = clpt_allocate(rig.pool, 500);
  if (it.is_limited)
    clpt_ok(clp_pool_set_limit(rig.pool, 1100));
  else
    rig.device.capacity = 1100;
  clpt_fails(it.is_limited ? CLP_LIMIT_EXCEEDED : CLP_OUT_OF_DEVICE_MEMORY,
             clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_uint_eq(it.calls, 64);
  clpt_message_has("on_out_of_memory");
  clpt_message_has("64 times");
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

/* A callback that gives back one piece each time, of a pool or the allocator, with promises
 * between. */
typedef struct pieces {
  clp_allocator *allocator;
  clp_buffer *buffers[200];
  clp_memory memories[200];
  size_t count, calls;
} pieces;

static bool free_a_piece(clp_pool *pool, size_t bytes, void *user_data)
{
  pieces *self = user_data;
  (void)pool, (void)bytes;
  if (self->calls++ % 3 || !self->count)
    return true;
  self->count--;
  if (self->allocator)
    clpt_ok(clp_allocator_free(self->allocator, self->memories[self->count], 1000));
  else
    clpt_ok(clp_buffer_release(self->buffers[self->count]));
  return true;
}

START_TEST(a_callback_that_frees_in_pieces_is_asked_on)
{
  enum { OF_THE_ALLOCATOR, OF_THE_POOL, OF_AN_ARENA, OF_ANOTHER_POOL };
  clpt_device device;
  pieces them = {.count = 200};
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_device_init_split(&device);
  clp_allocator *allocator = clpt_device_allocator(&device), *below = allocator;
  if (_i == OF_AN_ARENA)
    clpt_ok(clp_arena_allocator_create(below, NULL, &allocator));
  clp_pool *pool, *other = clpt_pool(allocator);
  options.leading_bits_in_bin_id = 16;
  options.on_out_of_memory = free_a_piece;
  options.user_data = &them;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  them.allocator = _i == OF_THE_ALLOCATOR ? allocator : NULL;
  for (size_t i = 0; i < them.count; i++)
    if (them.allocator)
      them.memories[i] = clpt_memory(allocator, 1000);
    else
      them.buffers[i] = clpt_allocate(_i == OF_ANOTHER_POOL ? other : pool, 1000);
  device.capacity = device.live_bytes;
  clp_buffer *buffer = clpt_allocate(pool, 200 * 1000);
  ck_assert_uint_lt(them.count, 5); /* an arena rounds each up */
  clpt_ok(clp_buffer_release(buffer));
  while (them.count > 0)
    clpt_ok(clp_buffer_release(them.buffers[--them.count]));
  clp_pool_release(other);
  clp_pool_release(pool);
  if (_i == OF_AN_ARENA)
    clp_allocator_release(allocator);
  clp_allocator_release(below);
  clpt_device_assert_ended(&device);
}
END_TEST

/* --- a limit that refuses --- */

static const struct {
  size_t limit, releases[3]; /* sizes of what it releases, one a call */
  unsigned says_yes;
  clp_status status;
  const char *trace; /* of an allocation of 1000 bytes, with all of them active */
} limits[] = {
    {1023, {0}, 0, CLP_LIMIT_EXCEEDED, "C1023"},
    {1022, {0}, 1, CLP_LIMIT_EXCEEDED, ""}, /* nothing could help */
    {1100, {400}, 1, CLP_SUCCESS, "C1023 F415 A1023"},
    {1100, {400, 200}, 2, CLP_SUCCESS, "C1023 F415 C1023 F207 A1023"},
    {1100, {1010}, 1, CLP_SUCCESS, "C1023"}, /* which is handed out */
    {1030, {0}, 3, CLP_LIMIT_EXCEEDED, "C1023 C1023 C1023 C1023"},
};
enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

START_TEST(the_callback_is_asked_when_a_limit_refuses)
{
  clpt_rig rig;
  clpt_helper helper;
  clp_buffer *buffer = NULL;

  clpt_start_with_helper(&rig, &helper, 0);
  clp_buffer *active = clpt_allocate(rig.pool, 10);
  for (size_t i = 0; limits[_i].releases[i] != 0; i++)
    helper.releases[i] = clpt_allocate(rig.pool, limits[_i].releases[i]);
  helper.says_yes = limits[_i].says_yes;
  clpt_ok(clp_pool_set_limit(rig.pool, limits[_i].limit));
  clpt_device_clear_trace(&rig.device);
  ck_assert_int_eq(clp_pool_allocate(rig.pool, 1000, &buffer), limits[_i].status);
  clpt_device_trace_is(&rig.device, limits[_i].trace);
  ck_assert(limits[_i].status == CLP_SUCCESS || clp_last_error()->status == CLP_LIMIT_EXCEEDED);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("out of memory callback", clpt_run)
{
  TCase *tests = clpt_case(suite, "callback");

  tcase_add_loop_test(tests, the_callback_is_asked_again_for_as_long_as_it_says_yes, 0, 5);
  tcase_add_test(tests, a_callback_that_frees_elsewhere_lets_the_request_succeed);
  tcase_add_test(tests, what_a_callback_frees_late_is_waited_for_again);
  tcase_add_test(tests, a_callback_that_releases_a_buffer_of_the_bin_has_it_handed_out);
  tcase_add_test(tests, what_a_callback_releases_into_other_bins_is_freed_for_the_request);
  tcase_add_test(tests, a_callback_may_use_other_pools_and_its_own);
  tcase_add_test(tests, a_callback_that_runs_out_of_memory_itself_nests);

  tcase_add_loop_test(tests, inside_its_callback_a_pool_calls_none, 0, KINDS);
  tcase_add_test(tests, a_callback_that_ends_its_thread_is_over);
  tcase_add_loop_test(tests, a_callback_that_only_promises_is_not_asked_for_ever, 0, PROMISERS);
  tcase_add_loop_test(tests, a_callback_that_frees_in_pieces_is_asked_on, 0, 4);

  tests = clpt_case(suite, "limit");
  tcase_add_loop_test(tests, the_callback_is_asked_when_a_limit_refuses, 0, LIMITS);
}
