/* SPDX-License-Identifier: MIT */
/* A thread that is to be cancelled calls hooks that write, and what calls the program: it ends
 * after the calls, which did all of their work. The crowd (tests/model) cancels threads that
 * allocate, release and use streams. */
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/clpool.h>

enum { BYTES = 1000, MOST = 8 };

static clp_allocator *device;
static clp_pool *pool;
static FILE *nowhere;
static unsigned logged, asked;
static bool has_returned;

/* The library calls these with cancellation disabled: this is no way out then. */

static void testcancel_in_log(clp_log_level level, const char *message, void *user_data)
{
  logged++;
  pthread_testcancel();
}

static bool testcancel_out_of_memory(clp_pool *full, size_t bytes, void *user_data)
{
  asked++;
  pthread_testcancel();
  return false;
}

static void dump_an_arena(void)
{
  clp_allocator *arena = NULL;
  (void)clp_arena_allocator_create(device, NULL, &arena);
  (void)clp_arena_dump(arena, nowhere);
  clp_allocator_release(arena);
}

/* Takes buffers until the device has no more, and releases them. */
static void run_out(void)
{
  clp_buffer *some[MOST] = {NULL};
  for (size_t i = 0; i < MOST && !clp_pool_allocate(pool, BYTES, &some[i]); i++)
    ;
  for (size_t i = 0; i < MOST; i++)
    (void)clp_buffer_release(some[i]);
  (void)clp_pool_free_held(pool);
}

static void be_seen(const char *trace_path)
{
  clp_hook *trace = NULL, *print = NULL;
  clp_line_profile *profile = NULL;
  (void)clp_trace_hook_create(trace_path, NULL, &trace);
  (void)clp_debug_print_hook_create(nowhere, &print);
  (void)clp_line_profile_create(0, &profile);
  const clp_hook *hooks[] = {trace, print, clp_line_profile_hook(profile)};
  for (size_t i = 0; i < 3; i++)
    (void)clp_hook_push(hooks[i]);
  run_out();
  for (size_t i = 0; i < 3; i++)
    (void)clp_hook_pop(hooks[i]);
  (void)clp_trace_hook_flush(trace);
  (void)clp_trace_hook_destroy(trace);
  clp_debug_print_hook_destroy(print);
  (void)clp_line_profile_print(profile, nowhere);
  (void)clp_line_profile_write_folded(profile, nowhere);
  clp_line_profile_destroy(profile);
}

static void *call_while_cancelled(void *trace_path)
{
  pthread_cancel(pthread_self());
  dump_an_arena();
  be_seen(trace_path);
  has_returned = true;
  pthread_testcancel();
  return NULL;
}

START_TEST(no_call_is_a_cancellation_point)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  pthread_t thread;
  void *result;
  options.on_out_of_memory = testcancel_out_of_memory;
  nowhere = fopen("/dev/null", "w");
  clp_set_log(testcancel_in_log, NULL);
  clpt_ok(clp_simulated_allocator_create((size_t)4 * BYTES, &device));
  clpt_ok(clp_pool_create(device, &options, &pool));
  ck_assert_int_eq(
      pthread_create(&thread, NULL, call_while_cancelled, _i ? "/dev/full" : "/dev/null"), 0);
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  ck_assert(has_returned);
  ck_assert_ptr_eq(result, PTHREAD_CANCELED);
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  ck_assert(asked && !!logged == _i); /* a trace that cannot be written is a warning */
  clp_pool_release(pool);
  clp_allocator_release(device);
  fclose(nowhere);
}
END_TEST

CLPT_MAIN("cancel", clpt_run_apart)
{
  tcase_add_loop_test(clpt_case(suite, "threads"), no_call_is_a_cancellation_point, 0, 2);
}
