/* SPDX-License-Identifier: MIT */
/* A hook for tests. */
#include "recorder.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void append_locked(clpt_recorder *log, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append_locked(clpt_recorder *log, const char *format, ...)
{
  size_t room = sizeof(log->log) - log->log_length;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(log->log + log->log_length, room, format, arguments);
  va_end(arguments);
  if (length > 0 && (size_t)length < room)
    log->log_length += (size_t)length;
}

static void write_entry(const clpt_recorder *self, const char *what, const clp_hook_event *event)
{
  clpt_recorder *log = self->log_of;
  bool has_size = what[0] == 'm' || what[0] == 'f';
  bool failed = what[1] == '>' && (has_size ? event->buffer_id == 0 : event->memory == 0);
  pthread_mutex_lock(&log->lock);
  append_locked(log, "%s", log->log_length > 0 ? " " : "");
  if (log != self)
    append_locked(log, "%s:", self->hook.name);
  append_locked(log, "%s", what);
  if (has_size)
    append_locked(log, "%zu:", event->size);
  append_locked(log, "%zu%s", event->mem_size, failed ? "!" : "");
  pthread_mutex_unlock(&log->lock);
}

static void record(clpt_recorder *self, const char *what, const clp_hook_event *event)
{
  write_entry(self, what, event);
  pthread_mutex_lock(&self->lock);
  if (self->count < CLPT_MOST_EVENTS)
    self->events[self->count] = *event;
  self->count++;
  self->last = what;
  pthread_mutex_unlock(&self->lock);
  if (self->also != NULL)
    self->also(self, event);
}

#define PAIR(name, letter)                                                                         \
  static void name##_preprocess(const clp_hook_event *event, void *self)                           \
  {                                                                                                \
    record(self, letter "<", event);                                                               \
  }                                                                                                \
  static void name##_postprocess(const clp_hook_event *event, void *self)                          \
  {                                                                                                \
    record(self, letter ">", event);                                                               \
  }
PAIR(malloc, "m")
PAIR(alloc, "a")
PAIR(free, "f")
PAIR(device_free, "d")

void clpt_recorder_init(clpt_recorder *recorder, const char *name)
{
  memset(recorder, 0, sizeof(*recorder));
  recorder->hook = (clp_hook){.struct_size = sizeof(clp_hook),
                              .name = name,
                              .user_data = recorder,
                              .malloc_preprocess = malloc_preprocess,
                              .malloc_postprocess = malloc_postprocess,
                              .alloc_preprocess = alloc_preprocess,
                              .alloc_postprocess = alloc_postprocess,
                              .free_preprocess = free_preprocess,
                              .free_postprocess = free_postprocess,
                              .device_free_preprocess = device_free_preprocess,
                              .device_free_postprocess = device_free_postprocess};
  recorder->log_of = recorder;
  recorder->last = "";
  pthread_mutex_init(&recorder->lock, NULL);
}

void clpt_recorder_clear(clpt_recorder *recorder)
{
  pthread_mutex_lock(&recorder->lock);
  recorder->log[0] = '\0';
  recorder->log_length = recorder->count = 0;
  recorder->last = "";
  pthread_mutex_unlock(&recorder->lock);
}
