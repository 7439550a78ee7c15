/* SPDX-License-Identifier: MIT */
/* A hook for tests. */
#include "recorder.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void record(clpt_recorder *self, const char *what, const clp_hook_event *event)
{
  clpt_recorder *log = self->log_of;
  bool has_size = what[0] == 'm' || what[0] == 'f', is_other = log != self;
  bool failed = what[1] == '>' && (has_size ? event->buffer_id == 0 : event->memory == 0);
  char size[32] = "";
  if (has_size)
    (void)snprintf(size, sizeof(size), "%zu:", event->size);
  pthread_mutex_lock(&log->lock);
  size_t room = sizeof(log->log) - log->log_length;
  int length = snprintf(log->log + log->log_length, room, "%s%s%s%s%s%zu%s",
                        log->log_length > 0 ? " " : "", is_other ? self->hook.name : "",
                        is_other ? ":" : "", what, size, event->mem_size, failed ? "!" : "");
  if (length > 0 && (size_t)length < room)
    log->log_length += (size_t)length;
  pthread_mutex_unlock(&log->lock);
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
