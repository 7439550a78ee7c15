/* SPDX-License-Identifier: MIT */
/* Counting forks. */
#include "core/base/fork.h"

#include "core/base/error.h"

#include <pthread.h>

atomic_uint clpi_forks;

static bool is_watching;

static void count_fork(void)
{
  atomic_fetch_add_explicit(&clpi_forks, 1, memory_order_relaxed);
}

static void watch(void)
{
  is_watching = pthread_atfork(NULL, NULL, count_fork) == 0;
}

bool clpi_forks_watch(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
  return is_watching;
}

clp_status clpi_refuse_inherited(const char *function, const char *what)
{
  return clpi_error(CLP_NOT_SUPPORTED, 0,
                    "%s: %s was made before a fork, by a parent of this process, which needs one "
                    "of its own",
                    function, what);
}
