/* SPDX-License-Identifier: MIT */
/* The log callback of the process. */
#include "core/base/error.h"

#include "core/base/boundary.h"
#include "core/base/fork.h"

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

void clp_set_log(clp_log_callback callback, void *user_data)
{
  clpi_forks_hold(&sink.lock);
  pthread_mutex_lock(&sink.lock);
  sink.callback = callback;
  sink.user_data = user_data;
  pthread_mutex_unlock(&sink.lock);
  clpi_publish(sink.is_used, true);
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
