/* SPDX-License-Identifier: MIT */
/* CLPOOL_TRACE: which file, and what is in it when the process has ended. */
#include "support/cuda_device.h"
#include "support/failmalloc.h"
#include "support/traced_process.h"

#include <clpool/cuda.h>
#include <clpool/trace.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* --- normal ends --- */

START_TEST(all_is_released)
{
  traced_run("trace.csv", traced_use_one_pool);
  traced_assert_trace("trace.csv", 3, 3);
}
END_TEST

static void leave_all(void)
{
  traced_make_pool();
  traced_allocate(4, 100);
  traced_release(1);
}

START_TEST(pools_that_live_at_the_end)
{
  traced_run("trace.csv", leave_all);
  traced_assert_trace("trace.csv", 4, 1);
}
END_TEST

/* One after the other, and two at once whose devices are made up alike. */
static void use_several_pools(void)
{
  traced_use_one_pool();
  traced_make_pool();
  clp_pool *first = traced_pool;
  clp_allocator *its_allocator = traced_allocator;
  traced_allocate(2, 100);
  traced_make_pool();
  clp_buffer *other;
  traced_require(clp_pool_allocate(traced_pool, 100, &other) == CLP_SUCCESS);
  traced_release(2);
  traced_require(clp_buffer_release(other) == CLP_SUCCESS);
  traced_end_pool();
  clp_pool_release(first);
  clp_allocator_release(its_allocator);
}

START_TEST(several_pools_in_one_file)
{
  traced_run("trace.csv", use_several_pools);
  traced_assert_trace("trace.csv", 6, 6);
  ck_assert_uint_eq(traced_replay("trace.csv").peak_active_bytes, 300);
}
END_TEST

enum { THREADS = 3, ROUNDS = 400 };

static void *use_a_pool_often(void *argument)
{
  clp_pool *own = argument;
  for (int i = 0; i < ROUNDS; i++) {
    clp_buffer *some;
    traced_require(clp_pool_allocate(own, 1000, &some) == CLP_SUCCESS);
    traced_require(clp_buffer_release(some) == CLP_SUCCESS);
  }
  return NULL;
}

/* More than the trace's buffer. */
static void use_threads(void)
{
  pthread_t threads[THREADS];
  traced_make_pool();
  for (int i = 0; i < THREADS; i++)
    traced_require(pthread_create(&threads[i], NULL, use_a_pool_often, traced_pool) == 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  traced_end_pool();
}

START_TEST(threads)
{
  struct stat file;
  traced_run("trace.csv", use_threads);
  traced_assert_trace("trace.csv", THREADS * ROUNDS, THREADS * ROUNDS);
  ck_assert_int_eq(stat(traced_path_of("trace.csv"), &file), 0);
  ck_assert_int_gt(file.st_size, 64 * 1024);
}
END_TEST

static void use_an_asynchronous_pool(void)
{
  clp_cuda_async_pool *async;
  unsigned long long first, second;
  traced_require(clp_cuda_async_pool_create(NULL, &async) == CLP_SUCCESS);
  traced_require(clp_cuda_async_pool_malloc(async, 1000, NULL, &first) == CLP_SUCCESS);
  traced_require(clp_cuda_async_pool_malloc(async, 2000, NULL, &second) == CLP_SUCCESS);
  traced_require(clp_cuda_async_pool_free(async, first, NULL) == CLP_SUCCESS);
  traced_require(clp_cuda_async_pool_free(async, second, NULL) == CLP_SUCCESS);
  clp_cuda_async_pool_release(async);
  fakecuda_reset();
}

START_TEST(asynchronous_pools)
{
  traced_run("trace.csv", use_an_asynchronous_pool);
  traced_assert_trace("trace.csv", 2, 2);
  ck_assert_uint_eq(traced_replay("trace.csv").peak_active_bytes, 3000);
}
END_TEST

static void make_a_pool_of_ones_own(const clp_hook_event *event, void *user_data)
{
  bool *is_done = user_data;
  clp_pool *own;
  clp_buffer *buffer;
  if (*is_done)
    return;
  *is_done = true;
  traced_require(clp_pool_create(clp_pool_allocator(event->pool), NULL, &own) == CLP_SUCCESS);
  traced_require(clp_pool_allocate(own, 100, &buffer) == CLP_SUCCESS);
  traced_require(clp_buffer_release(buffer) == CLP_SUCCESS);
  clp_pool_release(own);
}

/* What a callback does is shown to no hook, but it can do it. */
static void use_a_pool_in_a_callback(void)
{
  bool is_done = false;
  clp_hook maker = CLP_HOOK_INIT;
  maker.name = "maker";
  maker.alloc_preprocess = make_a_pool_of_ones_own;
  maker.user_data = &is_done;
  traced_require(clp_hook_push(&maker) == CLP_SUCCESS);
  use_several_pools();
  traced_require(clp_hook_pop(&maker) == CLP_SUCCESS);
  traced_require(is_done);
}

START_TEST(pools_made_in_callbacks)
{
  traced_run("trace.csv", use_a_pool_in_a_callback);
  traced_assert_trace("trace.csv", 6, 6);
}
END_TEST

static void close_the_library(void)
{
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/.libs/libclpool.so", getenv("top_builddir"));
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  traced_require(library);
  clp_status (*create_allocator)(size_t, clp_allocator **);
  clp_status (*create_pool)(clp_allocator *, const clp_pool_options *, clp_pool **);
  clp_status (*allocate_buffer)(clp_pool *, size_t, clp_buffer **);
  *(void **)&create_allocator = dlsym(library, "clp_simulated_allocator_create");
  *(void **)&create_pool = dlsym(library, "clp_pool_create");
  *(void **)&allocate_buffer = dlsym(library, "clp_pool_allocate");
  traced_require(create_allocator && create_pool && allocate_buffer);
  traced_require(create_allocator(0, &traced_allocator) == CLP_SUCCESS);
  traced_require(create_pool(traced_allocator, NULL, &traced_pool) == CLP_SUCCESS);
  traced_require(allocate_buffer(traced_pool, 100, &traced_buffers[0]) == CLP_SUCCESS);
  traced_require(dlclose(library) == 0);
  _exit(EXIT_SUCCESS); /* so what was written, dlclose wrote */
}

/* What the pool has is lost with the library: no leak of its own. */
START_TEST(library_that_is_closed)
{
  if (clpt_is_on_valgrind())
    return;
  traced_run("trace.csv", close_the_library);
  traced_assert_trace("trace.csv", 1, 0);
}
END_TEST

/* --- full disks --- */

static unsigned warnings;

static void count_warning(clp_log_level level, const char *message, void *why)
{
  traced_require(level == CLP_LOG_WARNING);
  traced_require(strstr(message, "not all could be written: "));
  traced_require(strstr(message, why));
  warnings++;
}

static void write_to_a_full_disk(void)
{
  setenv(TRACED_VARIABLE, "/dev/full", 1);
  clp_set_log(count_warning, strerror(ENOSPC));
  traced_require(clp_set_last_error(CLP_BUSY, 5, "from before") == CLP_BUSY);
  traced_make_pool();
  traced_require(warnings == 1);
  traced_require(clp_last_error()->status == CLP_BUSY);
  traced_end_pool();
  use_threads();
  traced_require(warnings == 1);
  traced_require(clp_last_error()->status == CLP_BUSY);
}

START_TEST(full_disk)
{
  if (access("/dev/full", W_OK) == 0)
    traced_run("unused", write_to_a_full_disk);
}
END_TEST

/* The file has room for its header and a row or two. */
static void limit_the_file(void)
{
  static struct rlimit limit = {150, 150};
  signal(SIGXFSZ, SIG_IGN);
  traced_require(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  clp_set_log(count_warning, strerror(EFBIG));
  traced_make_pool();
  traced_require(warnings == 0);
}

static void fill_the_disk_at_the_last_pools_end(void)
{
  limit_the_file();
  traced_allocate(4, 100);
  traced_release(4);
  traced_require(warnings == 0);
  traced_end_pool();
  traced_require(warnings == 1);
}

static void fill_the_disk_while_pools_are_used(void)
{
  limit_the_file();
  for (int i = 0; i < THREADS; i++)
    use_a_pool_often(traced_pool);
  traced_require(warnings == 1);
  traced_end_pool();
  traced_require(warnings == 1);
}

/* The callback may be gone by then. */
static void fill_the_disk_at_the_end(void)
{
  limit_the_file();
  clp_set_log(count_warning, (void *)(uintptr_t) "no such message");
  traced_allocate(4, 100);
}

START_TEST(disk_that_gets_full)
{
  static void (*const fill[])(void) = {fill_the_disk_at_the_last_pools_end,
                                       fill_the_disk_while_pools_are_used,
                                       fill_the_disk_at_the_end};
  traced_run("trace.csv", fill[_i]);
  struct stat file;
  ck_assert_int_eq(stat(traced_path_of("trace.csv"), &file), 0);
  ck_assert_int_le(file.st_size, 150);
  traced_replay("trace.csv");
}
END_TEST

/* --- without --- */

static void use_without_the_variable(void)
{
  traced_use_one_pool();
  setenv(TRACED_VARIABLE, traced_path_of("late.csv"), 1);
  use_several_pools();
}

/* Once the first pool is there, the variable is not looked at. */
START_TEST(variable_that_is_unset)
{
  unsetenv(TRACED_VARIABLE);
  ck_assert(traced_succeeds(traced_spawn(use_without_the_variable)));
  ck_assert_uint_eq(traced_files_in_folder(), 0);
}
END_TEST

static void run_out_of_host_memory(void)
{
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  unsigned long nth = 0;
  traced_require(clp_simulated_allocator_create(0, &traced_allocator) == CLP_SUCCESS);
  for (; status == CLP_OUT_OF_HOST_MEMORY; nth++) {
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    status = clp_pool_create(traced_allocator, NULL, &traced_pool);
    clpt_host_stop();
    traced_require((status == CLP_OUT_OF_HOST_MEMORY) == clpt_host_failed());
    traced_require(!status == !!traced_pool);
  }
  traced_require(status == CLP_SUCCESS);
  traced_require(nth >= 5); /* the pool, the trace, its hook, its registration, and none */
  traced_allocate(1, 100);
  traced_release(1);
  traced_end_pool();
}

START_TEST(without_host_memory)
{
  traced_run("trace.csv", run_out_of_host_memory);
  traced_assert_trace("trace.csv", 1, 1);
}
END_TEST

static int working_atforks;

static void watch_no_forks(void)
{
  clp_status made = clp_simulated_allocator_create(0, &traced_allocator);
  traced_require(made == (working_atforks ? CLP_SUCCESS : CLP_OUT_OF_HOST_MEMORY));
  if (made)
    return;
  traced_require(clp_pool_create(traced_allocator, NULL, &traced_pool) == CLP_OUT_OF_HOST_MEMORY);
  traced_require(!traced_pool && clp_last_error()->status == CLP_OUT_OF_HOST_MEMORY);
  traced_require(strstr(clp_last_error()->message, TRACED_VARIABLE));
  clp_hook *none = (clp_hook *)1;
  traced_require(clp_trace_hook_create("/dev/null", NULL, &none) == CLP_SUCCESS && none);
  traced_require(clp_trace_hook_destroy(none) == CLP_SUCCESS);
  clp_allocator_release(traced_allocator);
}

/* A child would use what the parent has locked, and write its rows. The first call is the one that
 * has forks counted, the second that of the list of pools. */
START_TEST(without_memory_to_watch_forks)
{
  working_atforks = traced_atforks = _i;
  traced_run("trace.csv", watch_no_forks);
  ck_assert_uint_eq(traced_files_in_folder(), 0);
}
END_TEST

/* --- the hook itself, whoever registers it --- */

static clp_hook *hook;

START_TEST(flushed_rows_are_in_the_file)
{
  unsetenv(TRACED_VARIABLE);
  clpt_ok(clp_trace_hook_flush(NULL));
  FILE *file = fopen(traced_path_of("caller.csv"), "w");
  for (int i = 0; i < 2; i++) {
    clpt_ok(clp_trace_hook_create(i ? NULL : traced_path_of("own.csv"), i ? file : NULL, &hook));
    for (uint64_t rows = 3; rows <= 6; rows += 3) {
      clpt_ok(clp_hook_push(hook));
      traced_use_one_pool();
      clpt_ok(clp_hook_pop(hook));
      clpt_ok(clp_trace_hook_flush(hook));
      traced_assert_trace(i ? "caller.csv" : "own.csv", rows, rows);
    }
    clpt_ok(clp_trace_hook_destroy(hook));
    traced_assert_trace(i ? "caller.csv" : "own.csv", 6, 6);
  }
  fclose(file);
}
END_TEST

START_TEST(flush_tells_what_could_not_be_written)
{
  unsetenv(TRACED_VARIABLE);
  if (access("/dev/full", W_OK))
    return;
  clpt_ok(clp_trace_hook_create("/dev/full", NULL, &hook));
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_flush(hook));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  clpt_fails(CLP_IO_ERROR, clp_trace_hook_destroy(hook));
}
END_TEST

CLPT_MAIN("trace environment", clpt_run_apart)
{
  clpt_cuda_use_fake();
  TCase *ends = traced_case(suite, "ends");
  tcase_add_test(ends, all_is_released);
  tcase_add_test(ends, pools_that_live_at_the_end);
  tcase_add_test(ends, several_pools_in_one_file);
  tcase_add_test(ends, threads);
  tcase_add_test(ends, asynchronous_pools);
  tcase_add_test(ends, pools_made_in_callbacks);
  tcase_add_test(ends, library_that_is_closed);
  TCase *disks = traced_case(suite, "disks");
  tcase_add_test(disks, full_disk);
  tcase_add_loop_test(disks, disk_that_gets_full, 0, 3);
  TCase *without = traced_case(suite, "without");
  tcase_add_test(without, variable_that_is_unset);
  tcase_add_test(without, without_host_memory);
  tcase_add_loop_test(without, without_memory_to_watch_forks, 0, 3);
  TCase *hooks = traced_case(suite, "hooks");
  tcase_add_test(hooks, flushed_rows_are_in_the_file);
  tcase_add_test(hooks, flush_tells_what_could_not_be_written);
}
