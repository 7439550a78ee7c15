/* SPDX-License-Identifier: MIT */
/* One lock for all libraries, each of which is loaded once. */
#include "core/base/loading.h"

#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Whether the calling thread holds `loading`. The loaded library may fork: libcuda does, to run
 * nvidia-modprobe. */
static _Thread_local bool is_loading __attribute__((tls_model("initial-exec")));

static void lock_loading(void)
{
  if (!is_loading)
    pthread_mutex_lock(&loading);
}

static void unlock_loading(void)
{
  if (!is_loading)
    pthread_mutex_unlock(&loading);
}

/* Holds `loading` across forks of other threads: otherwise a child might find it locked by a thread
 * that it does not have. */
static void watch_forks(void)
{
  pthread_atfork(lock_loading, unlock_loading, unlock_loading);
}

clp_status clpi_load_once(atomic_bool *is_loaded, clp_status (*load)(void))
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  /* Acquire: pairs with the release below, so that what `load` wrote is complete. */
  if (atomic_load_explicit(is_loaded, memory_order_acquire))
    return CLP_SUCCESS;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&loading);
  is_loading = true;
  clp_status status = CLP_SUCCESS;
  if (!atomic_load_explicit(is_loaded, memory_order_relaxed)) /* the mutex orders it */
    status = load();
  if (!status)
    atomic_store_explicit(is_loaded, true, memory_order_release);
  is_loading = false;
  pthread_mutex_unlock(&loading);
  return status;
}
