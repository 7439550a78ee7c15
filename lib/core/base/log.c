/* SPDX-License-Identifier: MIT */
/* The log callback of the process. */
#include "core/base/log.h"

#include "core/base/boundary.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static struct {
  pthread_mutex_t lock; /* guards callback and user_data, which are set and read together */
  clp_log_callback callback;
  void *user_data;
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

void clp_set_log(clp_log_callback callback, void *user_data)
{
  pthread_mutex_lock(&sink.lock);
  sink.callback = callback;
  sink.user_data = user_data;
  pthread_mutex_unlock(&sink.lock);
}

CLPI_EXIT void clpi_log(clp_log_level level, const char *format, ...)
{
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
