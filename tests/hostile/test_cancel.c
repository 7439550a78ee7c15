/* SPDX-License-Identifier: MIT */
/* A thread that is to be cancelled calls hooks that write, and what calls the program: it ends
 * after the call, which did all of its work. The crowd (tests/model) cancels threads that allocate,
 * release and use streams. */
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/clpool.h>

enum { BYTES = 1000 };

static clp_allocator *device;
static clp_pool *pool;
static clp_hook *trace, *print;
static clp_line_profile *profile;
static FILE *nowhere;
static unsigned logged, asked;

/* The library calls these with cancellation disabled: this is no way out then. */

static void testcancel_in_log(clp_log_level level, const char *message, void *user_data)
{
  (void)level, (void)message, (void)user_data;
  logged++;
  pthread_testcancel();
}

static bool testcancel_out_of_memory(clp_pool *full, size_t bytes, void *user_data)
{
  (void)full, (void)bytes, (void)user_data;
  asked++;
  pthread_testcancel();
  return false;
}

/* Takes buffers until the device has no more, and releases them. */
static void run_out(void)
{
  clp_buffer *some[8] = {NULL};
  for (size_t i = 0; i < 8 && !clp_pool_allocate(pool, BYTES, &some[i]); i++)
    ;
  for (size_t i = 0; i < 8; i++)
    (void)clp_buffer_release(some[i]);
}

static void be_seen(void)
{
  const clp_hook *hooks[] = {trace, print, clp_line_profile_hook(profile)};
  for (size_t i = 0; i < 3; i++)
    (void)clp_hook_push(hooks[i]);
  run_out();
  (void)clp_pool_free_held(pool);
  for (size_t i = 0; i < 3; i++)
    (void)clp_hook_pop(hooks[i]);
  (void)clp_trace_hook_flush(trace);
  (void)clp_line_profile_print(profile, nowhere);
  (void)clp_line_profile_write_folded(profile, nowhere);
}

/* The log has a warning where a trace cannot be written. */
static void trace_to(const char *path)
{
  clp_hook *own = NULL;
  clp_set_log(testcancel_in_log, NULL);
  (void)clp_trace_hook_create(path, NULL, &own);
  (void)clp_hook_push(own);
  run_out();
  (void)clp_hook_pop(own);
  (void)clp_trace_hook_flush(own);
  (void)clp_trace_hook_destroy(own);
  clp_set_log(NULL, NULL);
}

static void make_a_trace(void)
{
  trace_to("/dev/null");
}

static void fill_the_disk(void)
{
  trace_to("/dev/full");
}

static void dump_an_arena(void)
{
  clp_allocator *arena = NULL;
  (void)clp_arena_allocator_create(device, NULL, &arena);
  (void)clp_arena_dump(arena, nowhere);
  clp_allocator_release(arena);
}

static void (*const calls[])(void) = {run_out, be_seen, make_a_trace, fill_the_disk, dump_an_arena};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };
static bool has_returned;

static void *call_while_cancelled(void *call)
{
  pthread_cancel(pthread_self());
  calls[*(int *)call]();
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
  clpt_ok(clp_simulated_allocator_create((size_t)4 * BYTES, &device));
  clpt_ok(clp_pool_create(device, &options, &pool));
  nowhere = fopen("/dev/null", "w");
  clpt_ok(clp_line_profile_create(0, &profile));
  clpt_ok(clp_trace_hook_create("/dev/null", NULL, &trace));
  clpt_ok(clp_debug_print_hook_create(nowhere, &print));
  ck_assert_int_eq(pthread_create(&thread, NULL, call_while_cancelled, &_i), 0);
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  ck_assert(has_returned);
  ck_assert_ptr_eq(result, PTHREAD_CANCELED);
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  ck_assert_int_eq(asked > 0, calls[_i] != dump_an_arena);
  ck_assert_int_eq(logged > 0, calls[_i] == fill_the_disk);
  clp_line_profile_destroy(profile);
  clpt_ok(clp_trace_hook_destroy(trace));
  clp_debug_print_hook_destroy(print);
  fclose(nowhere);
  clp_pool_release(pool);
  clp_allocator_release(device);
}
END_TEST

CLPT_MAIN("cancel", clpt_run_apart)
{
  tcase_add_loop_test(clpt_case(suite, "threads"), no_call_is_a_cancellation_point, 0, CALLS);
}
