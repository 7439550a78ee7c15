/* SPDX-License-Identifier: MIT */
/* Forks of a process whose threads are busy with pools: whatever they have locked or half changed,
 * the child can go on with pools of its own, and give up the parent's. A child that hangs is ended
 * by its alarm. CLPT_STRESS_SECONDS says how long to go on; the default is a number of forks. */
#include "support/instrumented.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <clpool/clpool.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BUSY = 5, KEPT = 64, CAPACITY = 1 << 20, HANG_SECONDS = 20, FORKS = 66 };

/* What the parent's threads are busy with. Static: what they have just made is no leak of the
 * child's. */
static clp_allocator *device, *arena;
static clp_pool *pools[2]; /* on the device, at its limit, and on the arena */
static clp_buffer *kept[2][KEPT];
static atomic_bool is_enough;

int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
  return 1; /* the child lacks the threads that had it */
}

static void say(clp_log_level level, const char *message, void *user_data)
{
  (void)level, (void)message, (void)user_data;
}

/* --- the parent --- */

/* Threads are at their limit, so that they look through each other's shards and pools. */
static void *use_for_a_moment(void *pool)
{
  clp_buffer *some[8] = {NULL};
  for (size_t i = 0; i < 8; i++)
    (void)clp_pool_allocate(pool, (size_t)4096 << i % 7, &some[i]);
  for (size_t i = 0; i < 8; i++)
    (void)clp_buffer_release(some[i]);
  return NULL;
}

static void use(clpt_worker *self)
{
  while (!is_enough)
    (void)use_for_a_moment(pools[self->number % 2]);
}

static void reclaim(clpt_worker *self)
{
  for (unsigned i = self->number; !is_enough; i++) {
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    (void)clp_pool_get_stats(pools[i % 2], &stats);
    (void)clp_pool_trim_to(pools[i % 2], CAPACITY / 4);
    clp_set_log(say, NULL);
  }
}

static atomic_bool is_through;

static void *use_and_tell(void *pool)
{
  (void)use_for_a_moment(pool);
  is_through = true;
  return NULL;
}

/* Pools and threads come and go, and both at once: where the pool is the thread's alone. */
static void make_and_end(clpt_worker *self)
{
  for (unsigned i = self->number; !is_enough; i++) {
    clp_pool *own = NULL;
    pthread_t thread;
    (void)clp_pool_create(device, NULL, &own);
    is_through = false;
    if (pthread_create(&thread, NULL, use_and_tell, own && i % 2 ? own : pools[i / 2 % 2]))
      continue;
    while (!is_through)
      (void)sched_yield();
    clp_pool_release(own);
    pthread_join(thread, NULL);
  }
}

/* A checker's malloc may be locked in the child of busy threads, so there are none then. */
static bool has_threads(void)
{
  return !CLPT_SANITIZED && !RUNNING_ON_VALGRIND;
}

static void start(clpt_workers *busy)
{
  static const clpt_work work[BUSY] = {use, use, use, reclaim, make_and_end};
  is_enough = false;
  clpt_ok(clp_simulated_allocator_create(CAPACITY, &device));
  clpt_ok(clp_arena_allocator_create(device, NULL, &arena));
  for (size_t i = 0; i < 2; i++) {
    pools[i] = clpt_pool(i ? arena : device);
    for (size_t j = 0; j < KEPT; j++)
      kept[i][j] = clpt_allocate(pools[i], 64);
  }
  if (has_threads())
    clpt_workers_start(busy, BUSY, work, BUSY, 1, NULL);
}

static void end(clpt_workers *busy)
{
  is_enough = true;
  if (has_threads())
    clpt_workers_join(busy);
  for (size_t i = 0; i < 2; i++) {
    for (size_t j = 0; j < KEPT; j++)
      clpt_ok(clp_buffer_release(kept[i][j]));
    ck_assert_uint_eq(clpt_stats(pools[i]).active_blocks, 0);
    clp_pool_release(pools[i]);
  }
  clp_allocator_release(arena);
  clp_allocator_release(device);
}

/* --- children --- */

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "line %d: does not hold: %s (%s)\n", __LINE__, #condition,                   \
              clp_last_error()->message);                                                          \
      _exit(EXIT_FAILURE);                                                                         \
    }                                                                                              \
  } while (0)

static void require_use(clp_pool *pool)
{
  clp_buffer *some[16];
  for (size_t i = 0; i < 16; i++)
    REQUIRE(clp_pool_allocate(pool, (size_t)1 << i, &some[i]) == CLP_SUCCESS);
  for (size_t i = 0; i < 16; i++)
    REQUIRE(clp_buffer_release(some[i]) == CLP_SUCCESS);
}

static void *use_own_pool(void *pool)
{
  require_use(pool);
  return NULL;
}

/* Threads of the child use pools of its own and end. */
static void use_own_pools(void)
{
  for (int i = 0; i < 2; i++) {
    clp_allocator *own;
    clp_pool *pool;
    pthread_t thread;
    clp_set_log(i ? say : NULL, NULL);
    REQUIRE((i ? clp_host_allocator_create(0, &own) : clp_simulated_allocator_create(0, &own)) ==
            CLP_SUCCESS);
    REQUIRE(clp_pool_create(own, NULL, &pool) == CLP_SUCCESS);
    require_use(pool);
    REQUIRE(pthread_create(&thread, NULL, use_own_pool, pool) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(clp_pool_free_held(pool) == CLP_SUCCESS);
    clp_pool_release(pool);
    clp_allocator_release(own);
  }
}

static void use_the_parents(void)
{
  clp_buffer *some;
  clp_pool *pool;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  for (size_t i = 0; i < 2; i++) {
    REQUIRE(clp_pool_allocate(pools[i], CAPACITY, &some) == CLP_NOT_SUPPORTED && !some);
    REQUIRE(clp_pool_get_stats(pools[i], &stats) == CLP_NOT_SUPPORTED);
    REQUIRE(clp_pool_free_held(pools[i]) == CLP_NOT_SUPPORTED);
  }
  REQUIRE(clp_pool_create(device, NULL, &pool) == CLP_NOT_SUPPORTED && !pool);
  REQUIRE(clp_pool_create(arena, NULL, &pool) == CLP_NOT_SUPPORTED && !pool);
}

/* As a garbage collector does. */
static void give_up_the_parents(void)
{
  for (size_t i = 0; i < 2; i++) {
    for (size_t j = 0; j < KEPT; j++)
      REQUIRE(clp_buffer_release(kept[i][j]) == CLP_SUCCESS);
    clp_pool_release(pools[i]);
  }
  clp_allocator_release(arena);
  clp_allocator_release(device);
}

static void leave_at_once(void)
{
  give_up_the_parents();
  _exit(EXIT_SUCCESS);
}

static void leave_by_the_threads_end(void)
{
  use_own_pools();
  pthread_exit(NULL);
}

static void (*const children[])(void) = {use_own_pools, use_the_parents, give_up_the_parents,
                                         leave_at_once, leave_by_the_threads_end};
enum { CHILDREN = sizeof(children) / sizeof(children[0]) };

/* --- forks --- */

static void fork_once(void (*work)(void))
{
  int status = 0;
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    signal(SIGALRM, SIG_DFL); /* Check has a handler */
    alarm(HANG_SECONDS);
    work();
    exit(EXIT_SUCCESS);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(!WIFSIGNALED(status), "the child ended by signal %d", WTERMSIG(status));
  ck_assert_int_eq(WEXITSTATUS(status), EXIT_SUCCESS);
}

START_TEST(children_of_busy_threads_do_not_hang)
{
  const char *seconds = getenv("CLPT_STRESS_SECONDS");
  time_t last = time(NULL) + (seconds ? atoi(seconds) : 0);
  unsigned forks = clpt_iterations(FORKS);
  clpt_workers busy;
  start(&busy);
  for (unsigned i = 0; i < forks || time(NULL) < last; i++)
    fork_once(children[_i]);
  end(&busy);
}
END_TEST

CLPT_MAIN("forks", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "children");
  /* A sanitizer's own threads outlive the last of the program's, and valgrind misses what the first
   * had on its stack: the last child ends that. */
  int count = has_threads() ? CHILDREN : CHILDREN - 1;
  tcase_add_loop_test(tests, children_of_busy_threads_do_not_hang, 0, count);
}
