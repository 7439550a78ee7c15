/* SPDX-License-Identifier: MIT */
/* One thread-specific key of the process, whose destructor runs at the end of each watched
 * thread. */
#include "core/base/thread_end.h"

#include "core/base/cancel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { MOST_CALLBACKS = 4 };

static pthread_once_t is_set_up = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static atomic_bool has_key;
static void (*_Atomic callbacks[MOST_CALLBACKS])(void);
static _Thread_local bool is_watched __attribute__((tls_model("initial-exec")));

/* The callbacks, and destructors of other keys after this one, may still use the library, which
 * then watches the thread again. */
static void end_thread(void *token)
{
  CLPI_UNCANCELLED;
  (void)token;
  is_watched = false;
  for (size_t i = 0; i < MOST_CALLBACKS; i++) {
    void (*at_end)(void) = callbacks[i];
    if (at_end)
      at_end();
  }
}

static void set_up(void)
{
  has_key = pthread_key_create(&key, end_thread) == 0;
}

/* After dlclose, end_thread must not be called any more. */
__attribute__((destructor)) static void delete_key(void)
{
  if (atomic_exchange(&has_key, false))
    pthread_key_delete(key);
}

void clpi_thread_end_add(void (*at_end)(void))
{
  for (size_t i = 0; i < MOST_CALLBACKS; i++) {
    void (*there)(void) = NULL;
    if (atomic_compare_exchange_strong(&callbacks[i], &there, at_end) || there == at_end)
      return;
  }
}

bool clpi_thread_end_watch(void)
{
  if (is_watched)
    return true;
  pthread_once(&is_set_up, set_up);
  is_watched = has_key && pthread_setspecific(key, &is_watched) == 0;
  return is_watched;
}
