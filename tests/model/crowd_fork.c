/* SPDX-License-Identifier: MIT */
/* A fork in the midst of a program: the child is refused its parent's pools, and a pool of its own
 * works, with the right figures.
 *
 * Not under a sanitizer or valgrind: the child of a process with threads has what these keep for
 * themselves, such as the locks of their malloc, as it was at the fork, and may wait for ever. */
#include "crowd.h"

#include "support/instrumented.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANG_SECONDS = 20, BINS = 16, MOST_FORKS = 4 /* in a program */ };

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: a child: does not hold: %s (%s)\n", __FILE__, __LINE__, #condition,  \
              clp_last_error()->message);                                                          \
      _exit(EXIT_FAILURE);                                                                         \
    }                                                                                              \
  } while (0)

static void require_refusals(clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_buffer *buffer = NULL;

  REQUIRE(!clp_pool_try_allocate(pool, 100, &buffer) && buffer == NULL);
  REQUIRE(clp_pool_allocate(pool, 100, &buffer) == CLP_NOT_SUPPORTED && buffer == NULL);
  REQUIRE(clp_pool_get_stats(pool, &stats) == CLP_NOT_SUPPORTED);
  REQUIRE(clp_pool_free_held(pool) == CLP_NOT_SUPPORTED);
}

static void require_own_pool(void)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_allocator *allocator;
  clp_buffer *buffer;
  clp_pool *pool;

  REQUIRE(clp_simulated_allocator_create(0, &allocator) == CLP_SUCCESS);
  REQUIRE(clp_pool_create(allocator, NULL, &pool) == CLP_SUCCESS);
  for (size_t i = 0; i < (size_t)2 * BINS; i++) {
    REQUIRE(clp_pool_allocate(pool, (size_t)1 << i % BINS, &buffer) == CLP_SUCCESS);
    REQUIRE(clp_buffer_release(buffer) == CLP_SUCCESS);
  }
  REQUIRE(clp_pool_get_stats(pool, &stats) == CLP_SUCCESS);
  REQUIRE(stats.allocations == (uint64_t)2 * BINS && stats.hits == BINS);
  REQUIRE(stats.held_blocks == BINS && stats.active_blocks == 0);
  REQUIRE(stats.peak_active_bytes == (size_t)1 << (BINS - 1));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}

static void be_child(crowd_member *self)
{
  signal(SIGALRM, SIG_DFL);
  alarm(HANG_SECONDS);
  for (unsigned i = 0; i < self->crowd->plan.pools; i++)
    require_refusals(self->crowd->pools[i].pool);
  for (size_t i = 0; i < self->count; i++)
    REQUIRE(clp_buffer_release(self->kept[i].buffer) == CLP_SUCCESS);
  require_own_pool();
  _exit(EXIT_SUCCESS);
}

clp_status crowd_call_fork(crowd_member *self, crowd_pool *unused)
{
  int status = 0;
  pid_t child;

  (void)unused;
  if (CLPT_SANITIZED || RUNNING_ON_VALGRIND ||
      atomic_fetch_add(&self->crowd->forks, 1) >= MOST_FORKS)
    return CLP_SUCCESS;
  child = fork();
  if (child == 0)
    be_child(self);
  if (child < 0 || waitpid(child, &status, 0) != child)
    crowd_wrong(self->crowd, "no child could be made, or waited for");
  else if (WIFSIGNALED(status))
    crowd_wrong(self->crowd, "a child ended by signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) != EXIT_SUCCESS)
    crowd_wrong(self->crowd, "a child found something wrong, see above");
  return CLP_SUCCESS;
}
