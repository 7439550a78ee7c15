/* SPDX-License-Identifier: MIT */
/* CLPOOL_TRACE: what becomes of the file in the child of a fork. */
#include "support/traced_process.h"

#include <clpool/trace.h>
#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 3 };

/* --- forks --- */

static void do_nothing(void)
{
}

static void use_the_parents_pool_and_another(void)
{
  static clp_pool *the_parents;
  static clp_allocator *its_allocator;
  clp_buffer *none;
  traced_require(clp_pool_allocate(traced_pool, 1000, &none) == CLP_NOT_SUPPORTED);
  traced_release(1);
  the_parents = traced_pool;
  its_allocator = traced_allocator;
  traced_use_one_pool();
  traced_pool = the_parents; /* what it still has is no leak of the child's */
  traced_allocator = its_allocator;
}

static void (*work_of_child)(void);

/* What is buffered when the process forks must not come twice. */
static void fork_in_the_middle(void)
{
  traced_make_pool();
  traced_allocate(2, 100);
  traced_require(traced_succeeds(traced_spawn(work_of_child)));
  traced_release(2);
  traced_end_pool();
}

START_TEST(child_that_uses_nothing)
{
  work_of_child = do_nothing;
  traced_run("trace.csv", fork_in_the_middle);
  traced_run("trace-%p.csv", fork_in_the_middle);
  ck_assert_uint_eq(traced_files_in_folder(), 2);
  traced_assert_trace("trace.csv", 2, 2);
}
END_TEST

START_TEST(child_without_a_file_of_its_own)
{
  work_of_child = use_the_parents_pool_and_another;
  traced_run("trace.csv", fork_in_the_middle);
  traced_assert_trace("trace.csv", 2, 2);
  ck_assert_uint_eq(traced_files_in_folder(), 1);
}
END_TEST

static void fork_and_tell_ids(void)
{
  char path[128];
  traced_make_pool();
  traced_allocate(2, 100);
  pid_t id = traced_spawn(use_the_parents_pool_and_another);
  traced_require(traced_succeeds(id));
  traced_release(2);
  traced_end_pool();
  snprintf(path, sizeof(path), "%s/%ld.csv", traced_folder, (long)id);
  traced_require(rename(path, traced_path_of("child.csv")) == 0);
}

START_TEST(child_with_a_file_of_its_own)
{
  char name[32];
  pid_t id = traced_run("%p.csv", fork_and_tell_ids);
  snprintf(name, sizeof(name), "%ld.csv", (long)id);
  traced_assert_trace(name, 2, 2);
  traced_assert_trace("child.csv", 3, 3);
  ck_assert_uint_eq(traced_files_in_folder(), 2);
}
END_TEST

/* Whoever forks before the first pool has a trace as any process. */
static void fork_before_the_first_pool(void)
{
  traced_require(traced_succeeds(traced_spawn(traced_use_one_pool)));
}

START_TEST(child_with_the_first_pool)
{
  traced_run("trace.csv", fork_before_the_first_pool);
  traced_assert_trace("trace.csv", 3, 3);
}
END_TEST

static void end_the_parents_pool(void)
{
  traced_require(traced_open_in_folder() == 1);
  traced_release(2);
  traced_end_pool();
  traced_require(traced_open_in_folder() == 0);
}

START_TEST(child_that_ends_the_parents_pool)
{
  work_of_child = end_the_parents_pool;
  traced_run("trace.csv", fork_in_the_middle);
  traced_assert_trace("trace.csv", 2, 2);
  ck_assert_uint_eq(traced_files_in_folder(), 1);
}
END_TEST

static clp_pool *older;
static clp_allocator *its_allocator;

static void end_both_pools(void)
{
  traced_require(traced_open_in_folder() == 2);
  traced_end_pool();
  traced_require(traced_open_in_folder() == 1);
  traced_release(2);
  clp_pool_release(older);
  clp_allocator_release(its_allocator);
  traced_require(traced_open_in_folder() == 0);
}

static void fork_again(void)
{
  older = traced_pool;
  its_allocator = traced_allocator;
  traced_make_pool();
  traced_require(traced_succeeds(traced_spawn(end_both_pools)));
  traced_end_pool();
  traced_require(traced_open_in_folder() == 2); /* its own stays until it ends */
  traced_pool = older;
  traced_allocator = its_allocator;
}

START_TEST(grandchild_that_ends_the_pools_of_both)
{
  work_of_child = fork_again;
  traced_run("%p.csv", fork_in_the_middle);
  ck_assert_uint_eq(traced_files_in_folder(), 2);
}
END_TEST

/* --- forks among threads --- */

static void use_a_pool_of_ones_own(void)
{
  clp_allocator *device;
  clp_pool *own;
  clp_buffer *some;
  traced_require(clp_simulated_allocator_create(0, &device) == CLP_SUCCESS);
  traced_require(clp_pool_create(device, NULL, &own) == CLP_SUCCESS);
  traced_require(clp_pool_allocate(own, 100, &some) == CLP_SUCCESS);
  traced_require(clp_buffer_release(some) == CLP_SUCCESS);
  clp_pool_release(own);
  clp_allocator_release(device);
}

/* LeakSanitizer asks at the end of a process: what a thread has that the child of a fork lacks is
 * no leak. */
static bool has_lost_threads;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
  return has_lost_threads;
}

static int arrived[2], go_on[2]; /* pipes: a thread is in fopen; it may return */

static void wait_in_fopen(void)
{
  char byte = 0;
  traced_before_fopen = NULL;
  traced_require(write(arrived[1], &byte, 1) == 1);
  traced_require(read(go_on[0], &byte, 1) == 1);
}

static void *make_the_first_pool(void *unused)
{
  (void)unused;
  use_a_pool_of_ones_own();
  return NULL;
}

static pthread_t have_a_thread_in_fopen(void)
{
  char byte;
  pthread_t thread;
  traced_require(pipe(arrived) == 0 && pipe(go_on) == 0);
  has_lost_threads = true;
  traced_before_fopen = wait_in_fopen;
  traced_require(pthread_create(&thread, NULL, make_the_first_pool, NULL) == 0);
  traced_require(read(arrived[0], &byte, 1) == 1);
  return thread;
}

static void fork_while_a_thread_opens(void)
{
  pthread_t thread = have_a_thread_in_fopen();
  traced_require(traced_succeeds(traced_spawn(do_nothing)));
  traced_require(traced_succeeds(traced_spawn(use_a_pool_of_ones_own)));
  traced_require(write(go_on[1], "", 1) == 1);
  traced_require(pthread_join(thread, NULL) == 0);
  has_lost_threads = false;
}

/* What a thread that is lost had is no leak of the child's. */
START_TEST(fork_while_the_file_is_opened)
{
  if (clpt_is_on_valgrind())
    return;
  traced_run("trace.csv", fork_while_a_thread_opens);
  traced_assert_trace("trace.csv", 1, 1);
}
END_TEST

static void end_while_a_thread_opens(void)
{
  pthread_detach(have_a_thread_in_fopen());
}

START_TEST(end_while_the_file_is_opened)
{
  traced_run("trace.csv", end_while_a_thread_opens);
  ck_assert(!traced_exists("trace.csv"));
}
END_TEST

static atomic_bool is_enough;

static void *make_pools(void *unused)
{
  (void)unused;
  while (!is_enough)
    use_a_pool_of_ones_own();
  return NULL;
}

/* What its threads have just made is lost to the child: no leak of its own. */
static void use_a_pool_and_leave(void)
{
  use_a_pool_of_ones_own();
  _exit(EXIT_SUCCESS);
}

static void fork_while_threads_make_pools(void)
{
  pthread_t makers[THREADS];
  use_a_pool_of_ones_own(); /* ThreadSanitizer's pthread_once does not survive a fork inside it */
  for (int i = 0; i < THREADS; i++)
    traced_require(pthread_create(&makers[i], NULL, make_pools, NULL) == 0);
  for (unsigned i = clpt_iterations(200); i > 0; i--)
    traced_require(traced_succeeds(traced_spawn(use_a_pool_and_leave)));
  is_enough = true;
  for (int i = 0; i < THREADS; i++)
    pthread_join(makers[i], NULL);
}

/* AddressSanitizer's own locks may stay so in a child, by a thread that is lost. */
START_TEST(forks_while_pools_are_made)
{
#ifdef __SANITIZE_ADDRESS__
  return;
#endif
  if (clpt_is_on_valgrind())
    return;
  unsetenv(TRACED_VARIABLE);
  ck_assert(traced_succeeds(traced_spawn(fork_while_threads_make_pools)));
  traced_run("trace-%p.csv", fork_while_threads_make_pools);
}
END_TEST

static clp_hook *hook;

static void use_the_parents_hook(void)
{
  traced_require(clp_hook_push(hook) == CLP_SUCCESS);
  traced_use_one_pool();
  traced_require(clp_hook_pop(hook) == CLP_SUCCESS);
  traced_require(clp_trace_hook_flush(hook) == CLP_SUCCESS);
  traced_require(clp_trace_hook_destroy(hook) == CLP_SUCCESS);
}

START_TEST(hooks_of_the_parent)
{
  unsetenv(TRACED_VARIABLE);
  clpt_ok(clp_trace_hook_create(traced_path_of("trace.csv"), NULL, &hook));
  clpt_ok(clp_hook_push(hook));
  traced_use_one_pool();
  clpt_ok(clp_hook_pop(hook));
  ck_assert(traced_succeeds(traced_spawn(use_the_parents_hook)));
  clpt_ok(clp_trace_hook_destroy(hook));
  traced_assert_trace("trace.csv", 3, 3);
}
END_TEST

CLPT_MAIN("trace environment: forks", clpt_run_apart)
{
  TCase *forks = traced_case(suite, "forks");
  tcase_add_test(forks, child_that_uses_nothing);
  tcase_add_test(forks, child_without_a_file_of_its_own);
  tcase_add_test(forks, child_with_a_file_of_its_own);
  tcase_add_test(forks, child_with_the_first_pool);
  tcase_add_test(forks, child_that_ends_the_parents_pool);
  tcase_add_test(forks, grandchild_that_ends_the_pools_of_both);
  tcase_add_test(forks, fork_while_the_file_is_opened);
  tcase_add_test(forks, end_while_the_file_is_opened);
  tcase_add_test(forks, forks_while_pools_are_made);
  tcase_add_test(forks, hooks_of_the_parent);
}
