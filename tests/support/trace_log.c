/* SPDX-License-Identifier: MIT */
/* Traces as the trace hook writes them. */
#include "trace_log.h"

#include "replays.h"
#include "suite.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void clpt_trace_log_start(clpt_trace_log *log)
{
  log->descriptor = memfd_create("trace", MFD_CLOEXEC);
  ck_assert_int_ge(log->descriptor, 0);
  (void)snprintf(log->path, sizeof(log->path), "/proc/self/fd/%d", log->descriptor);
  clpt_ok(clp_trace_hook_create(log->path, NULL, &log->hook));
}

void clpt_trace_log_close(clpt_trace_log *log)
{
  clpt_ok(clp_trace_hook_destroy(log->hook));
}

char *clpt_trace_log_text(clpt_trace_log *log)
{
  off_t length = lseek(log->descriptor, 0, SEEK_END);
  char *text = calloc((size_t)length + 1, 1);

  ck_assert_ptr_nonnull(text);
  ck_assert_int_eq(pread(log->descriptor, text, (size_t)length, 0), length);
  close(log->descriptor);
  return text;
}

trace_replay_result clpt_trace_log_replay(clpt_trace_log *log)
{
  trace_replay_options options = clpt_pooled();
  clp_allocator *allocator = clpt_simulated(0);
  trace_reader *reader = NULL;
  trace_replay_result result;

  ck_assert_int_eq(lseek(log->descriptor, 0, SEEK_SET), 0);
  clpt_ok(trace_open(log->descriptor, "trace", &reader));
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  trace_close(reader);
  clp_allocator_release(allocator);
  return result;
}

const char *clpt_after_row(const char *text, const char *fields)
{
  unsigned long long thread;
  unsigned hours, minutes, seconds, microseconds;
  int length = 0;

  ck_assert_int_eq(sscanf(text, "%llu,%2u:%2u:%2u.%6u,%n", &thread, &hours, &minutes, &seconds,
                          &microseconds, &length),
                   5);
  ck_assert_int_eq((long long)thread, gettid());
  ck_assert(hours < 24 && minutes < 60 && seconds < 60);
  ck_assert_int_eq(length, snprintf(NULL, 0, "%llu,00:00:00.000000,", thread));
  text += length;
  ck_assert_msg(strncmp(text, fields, strlen(fields)) == 0, "\"%s\" is not \"%s\"", text, fields);
  ck_assert_int_eq(text[strlen(fields)], '\n');
  return text + strlen(fields) + 1;
}

const char *clpt_row(const char *action, clp_memory memory, size_t size, const char *stream)
{
  static char text[128];

  (void)snprintf(text, sizeof(text), "%s,0x%" PRIxPTR ",%zu,%s", action, memory, size, stream);
  return text;
}
