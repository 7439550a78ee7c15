/* SPDX-License-Identifier: MIT */
/* Counting forks, and holding locks across them. */
#include "core/base/fork.h"

#include "core/base/error.h"

enum { MOST_LOCKS = 4 };

atomic_uint clpi_forks;

static bool is_watching;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER; /* guards the locks; held as they are */
static pthread_mutex_t *locks[MOST_LOCKS];

static void lock_all(void)
{
  pthread_mutex_lock(&adding);
  for (size_t i = 0; i < MOST_LOCKS && locks[i]; i++)
    pthread_mutex_lock(locks[i]);
}

static void unlock_all(void)
{
  for (size_t i = 0; i < MOST_LOCKS && locks[i]; i++)
    pthread_mutex_unlock(locks[i]);
  pthread_mutex_unlock(&adding);
}

static void begin_child(void)
{
  atomic_fetch_add_explicit(&clpi_forks, 1, memory_order_relaxed);
  unlock_all();
}

static void watch(void)
{
  is_watching = pthread_atfork(lock_all, unlock_all, begin_child) == 0;
}

bool clpi_forks_watch(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
  return is_watching;
}

void clpi_forks_hold(pthread_mutex_t *lock)
{
  size_t i = 0;
  (void)clpi_forks_watch();
  pthread_mutex_lock(&adding);
  while (locks[i] && locks[i] != lock)
    i++;
  locks[i] = lock;
  pthread_mutex_unlock(&adding);
}

clp_status clpi_refuse_inherited(const char *function, const char *what)
{
  return clpi_error(CLP_NOT_SUPPORTED, 0,
                    "%s: %s belongs to a parent process, which made it before fork(); make another "
                    "in this process",
                    function, what);
}
