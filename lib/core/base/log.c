/* SPDX-License-Identifier: MIT */
/* The log callback of the process. */
#include "core/base/log.h"

#include "core/base/boundary.h"
#include "core/base/relaxed.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

static struct {
  atomic_bool is_used;  /* there was a callback: from then on the lock is held across a fork */
  pthread_mutex_t lock; /* guards callback and user_data, which are set and read together */
  clp_log_callback callback;
  void *user_data;
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock_sink(void)
{
  pthread_mutex_lock(&sink.lock);
}

static void unlock_sink(void)
{
  pthread_mutex_unlock(&sink.lock);
}

/* If pthread_atfork runs out of host memory, the child of a fork may deadlock; nothing else depends
 * on it. */
static void watch_forks(void)
{
  (void)pthread_atfork(lock_sink, unlock_sink, unlock_sink);
  clpi_publish(sink.is_used, true);
}

void clp_set_log(clp_log_callback callback, void *user_data)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&sink.lock);
  sink.callback = callback;
  sink.user_data = user_data;
  pthread_mutex_unlock(&sink.lock);
}

CLPI_EXIT void clpi_log(clp_log_level level, const char *format, ...)
{
  if (!clpi_acquired(sink.is_used))
    return;
  pthread_mutex_lock(&sink.lock);
  clp_log_callback callback = sink.callback;
  void *user_data = sink.user_data;
  pthread_mutex_unlock(&sink.lock);
  if (!callback)
    return;

  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  callback(level, message, user_data);
}
