/* SPDX-License-Identifier: MIT */
/* Threads that are cancelled inside of the library's calls, and in what these call of the program:
 * they end after the call, and all goes on as if nothing was. CLPT_STRESS_SECONDS says how long
 * threads are cancelled at any time; the default is short. */
#include "support/late_rig.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <clpool/clpool.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1000, BUSY = 4, CANCELLED = 6, CANCELS = 100 };

static clpt_rig rig;
static clpt_recorder seen;
static clp_line_profile *profile;
static clp_hook *trace, *print;
static FILE *nowhere;

/* What the library calls is entered with cancellation disabled: this is no way out then. */

static void testcancel_on_call(clpt_device *device, clpt_call call, size_t bytes)
{
  (void)device, (void)call, (void)bytes;
  pthread_testcancel();
}

static void testcancel_in_hook(clpt_recorder *self, const clp_hook_event *event)
{
  (void)self, (void)event;
  pthread_testcancel();
}

static void testcancel_in_log(clp_log_level level, const char *message, void *user_data)
{
  (void)level, (void)message, (void)user_data;
  pthread_testcancel();
}

static bool testcancel_out_of_memory(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes, (void)user_data;
  pthread_testcancel();
  return false;
}

static void start(void)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.on_out_of_memory = testcancel_out_of_memory;
  clpt_device_init(&rig.device);
  rig.device.capacity = 64 * BYTES;
  rig.device.on_call = testcancel_on_call;
  rig.device.ops.deferred = true;
  clp_set_log(testcancel_in_log, NULL);
  clpt_rig_start_with(&rig, &options);
  clpt_recorder_init(&seen, "seen");
  seen.also = testcancel_in_hook;
  nowhere = fopen("/dev/null", "w");
  clpt_ok(clp_line_profile_create(0, &profile));
  clpt_ok(clp_trace_hook_create("/dev/null", NULL, &trace));
  clpt_ok(clp_debug_print_hook_create(nowhere, &print));
}

static void end(void)
{
  clp_line_profile_destroy(profile);
  clpt_ok(clp_trace_hook_destroy(trace));
  clp_debug_print_hook_destroy(print);
  fclose(nowhere);
  clp_set_log(NULL, NULL);
  rig.device.on_call = NULL;
  clpt_rig_end(&rig);
}

/* --- calls --- */

/* Takes buffers until the device has no more, and releases them. */
static void run_out(void)
{
  clp_buffer *some[128] = {NULL};
  for (size_t i = 0; i < 128 && !clp_pool_allocate(rig.pool, BYTES, &some[i]); i++)
    ;
  for (size_t i = 0; i < 128; i++)
    (void)clp_buffer_release(some[i]);
}

static void run_into_the_limit(void)
{
  (void)clp_pool_set_limit(rig.pool, 8 * BYTES);
  run_out();
  (void)clp_pool_set_limit(rig.pool, 0);
}

static void reclaim(void)
{
  run_out();
  (void)clp_pool_trim_to(rig.pool, BYTES);
  (void)clp_pool_free_held(rig.pool);
}

static void look(void)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  size_t count;
  (void)clp_pool_get_stats(rig.pool, &stats);
  (void)clp_pool_get_bins(rig.pool, NULL, 0, &count);
  (void)clp_pool_reset_peaks(rig.pool);
}

static void make_and_end(void)
{
  clp_allocator *arena = NULL, *host = NULL;
  clp_pool *pool = NULL;
  clp_buffer *buffer = NULL;
  if (!clp_pool_create(rig.allocator, NULL, &pool) && !clp_pool_allocate(pool, BYTES, &buffer))
    (void)clp_buffer_release(buffer);
  clp_pool_release(pool);
  if (!clp_host_allocator_create(0, &host) && !clp_arena_allocator_create(host, NULL, &arena))
    (void)clp_arena_dump(arena, nowhere);
  clp_allocator_release(arena);
  clp_allocator_release(host);
}

static void take_from_the_device(void)
{
  clp_memory memory;
  if (!clp_allocator_allocate(rig.allocator, BYTES, &memory))
    (void)clp_allocator_free(rig.allocator, memory, BYTES);
}

/* Hooks of the thread alone: seen is, to be one at a time. */
static void be_seen(void)
{
  const clp_hook *hooks[] = {&seen.hook, trace, print, clp_line_profile_hook(profile)};
  enum { HOOKS = sizeof(hooks) / sizeof(hooks[0]) };
  for (size_t i = 0; i < HOOKS; i++)
    (void)clp_hook_push(hooks[i]);
  run_out();
  (void)clp_pool_free_held(rig.pool);
  for (size_t i = 0; i < HOOKS; i++)
    (void)clp_hook_pop(hooks[i]);
}

static void add_and_remove_a_hook(void)
{
  clp_hook own = CLP_HOOK_INIT;
  char name[32];
  snprintf(name, sizeof(name), "%lx", (unsigned long)pthread_self());
  own.name = name;
  (void)clp_pool_add_hook(rig.pool, &own);
  run_out();
  (void)clp_pool_remove_hook(rig.pool, &own);
}

static void write_out(void)
{
  be_seen();
  (void)clp_trace_hook_flush(trace);
  (void)clp_line_profile_print(profile, nowhere);
  (void)clp_line_profile_write_folded(profile, nowhere);
}

static void make_a_trace(void)
{
  clp_hook *own = NULL;
  (void)clp_trace_hook_create("/dev/null", NULL, &own);
  (void)clp_trace_hook_destroy(own);
}

static void testcancel_on_late_call(clpt_late_device *device, clpt_late_call call)
{
  (void)device, (void)call;
  pthread_testcancel();
}

static void use_streams(void)
{
  clpt_late_rig late;
  clpt_late_rig_start(&late, CLPT_REUSE_EITHER);
  late.device.on_call = testcancel_on_late_call;
  clpt_late_hold(&late, late.s);
  clpt_late_hold(&late, late.t);
  late.device.on_call = NULL;
  clpt_late_rig_end(&late);
}

static void (*const calls[])(void) = {run_out,      run_into_the_limit,    reclaim,    look,
                                      make_and_end, take_from_the_device,  be_seen,    write_out,
                                      make_a_trace, add_and_remove_a_hook, use_streams};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

/* --- with a cancellation pending --- */

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
  pthread_t thread;
  void *result;
  start();
  has_returned = false;
  ck_assert_int_eq(pthread_create(&thread, NULL, call_while_cancelled, &_i), 0);
  ck_assert_int_eq(pthread_join(thread, &result), 0);
  ck_assert(has_returned);
  ck_assert_ptr_eq(result, PTHREAD_CANCELED);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 0);
  end();
}
END_TEST

/* --- at any time --- */

static atomic_bool is_enough;

static void use(clpt_worker *self)
{
  while (!is_enough) {
    run_out();
    if (self->number == 0)
      reclaim();
  }
}

static void *call_for_ever(void *unused)
{
  static atomic_uint threads;
  clpt_chance chance = clpt_chance_seed(++threads);
  (void)unused;
  while (!is_enough) {
    calls[clpt_chance_below(&chance, CALLS)]();
    pthread_testcancel();
  }
  return NULL;
}

static void cancel_some(useconds_t after)
{
  pthread_t threads[CANCELLED];
  for (int i = 0; i < CANCELLED; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, call_for_ever, NULL), 0);
  usleep(after);
  for (int i = 0; i < CANCELLED; i++)
    pthread_cancel(threads[i]);
  for (int i = 0; i < CANCELLED; i++)
    pthread_join(threads[i], NULL);
}

START_TEST(threads_that_are_cancelled_leave_all_as_it_was)
{
  static const clpt_work work[] = {use};
  const char *seconds = getenv("CLPT_STRESS_SECONDS");
  time_t last = time(NULL) + (seconds ? atoi(seconds) : 0);
  unsigned cancels = clpt_iterations(CANCELS) / CANCELLED + 1;
  clpt_workers busy;
  start();
  seen.also = NULL; /* it keeps a log, of one thread */
  clpt_workers_start(&busy, BUSY, work, 1, 1, NULL);
  for (unsigned i = 0; i < cancels || time(NULL) < last; i++)
    cancel_some(i % 16 * 100);
  is_enough = true;
  clpt_workers_join(&busy);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 0);
  end();
}
END_TEST

CLPT_MAIN("cancel", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "threads");
  tcase_add_loop_test(tests, no_call_is_a_cancellation_point, 0, CALLS);
  tcase_add_test(tests, threads_that_are_cancelled_leave_all_as_it_was);
}
