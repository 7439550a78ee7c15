/* SPDX-License-Identifier: MIT */
/* Where a recording goes, and when. */
#include "recording.h"

#include "core/base/fork.h"
#include "dispatch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char variable[] = "CLPOOL_LAYER_TRACE";

static struct {
  unsigned forks; /* clpi_forks when it began */
  atomic_bool has_ended;
  bool writes_through;
  struct timespec tick; /* of the latest write */
  clpi_trace_file file;
} recording;

/* Makes sure that no other process writes to the file or has written to it. Returns why not, or
 * NULL. */
static const char *claim(int descriptor)
{
  struct stat found;
  if (flock(descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    return "another process is recording to it";
  bool is_empty = fstat(descriptor, &found) || found.st_size == 0;
  return is_empty ? NULL : "the file is not empty; put %p in its name for a file per process";
}

/* A pipe that no process reads is not waited for. */
static const char *open_file(const char *path)
{
  int descriptor = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return strerror(errno);
  const char *reason = claim(descriptor);
  FILE *file = reason ? NULL : fdopen(descriptor, "w");
  if (!file) {
    reason = reason ? reason : strerror(errno);
    close(descriptor);
    return reason;
  }
  (void)fcntl(descriptor, F_SETFL, 0);
  const char *stacks = secure_getenv("CLPOOL_LAYER_STACKS");
  const unsigned stack = stacks && *stacks ? CLPI_TRACE_STACK : 0;
  clpi_frames_leave_out(clpi_loader, &recording);
  clpi_trace_file_begin(&recording.file, file, true, CLPI_TRACE_KIND | stack);
  return NULL;
}

/* The file ends at the first failure, which is reported once. */
static void end_if_failed(void)
{
  if (!recording.file.failure || atomic_load_explicit(&recording.has_ended, memory_order_relaxed))
    return;
  clpi_layer_complain("the recording stopped: %s", strerror(recording.file.failure));
  atomic_store_explicit(&recording.has_ended, true, memory_order_relaxed);
}

static void flush(void)
{
  clpi_trace_file_flush(&recording.file);
  end_if_failed();
}

/* The variable's value, with the id of this process for each %p. False: it is too long. */
static bool name_file(const char *pattern, char path[PATH_MAX])
{
  enum { MOST_DIGITS = 12 };
  size_t length = 0;
  while (*pattern && length < PATH_MAX - MOST_DIGITS) {
    bool is_id = pattern[0] == '%' && pattern[1] == 'p';
    length += is_id ? (size_t)sprintf(path + length, "%d", (int)getpid()) : 1;
    if (!is_id)
      path[length - 1] = *pattern;
    pattern += is_id ? 2 : 1;
  }
  path[length] = '\0';
  return !*pattern;
}

bool clpi_recording_begin(void)
{
  char path[PATH_MAX];
  const char *pattern = secure_getenv(variable);
  if (!pattern || !*pattern) {
    clpi_layer_complain("%s is empty or unset; expected a file name: nothing is recorded",
                        variable);
    return false;
  }
  const char *reason = !name_file(pattern, path) ? strerror(ENAMETOOLONG)
                       : !clpi_forks_watch()     ? strerror(ENOMEM)
                                                 : open_file(path);
  if (reason) {
    clpi_layer_complain("%s: %s: nothing is recorded", path, reason);
    return false;
  }
  recording.forks = clpi_relaxed(clpi_forks);
  flush();
  return clpi_recording_goes_on();
}

bool clpi_recording_goes_on(void)
{
  return !atomic_load_explicit(&recording.has_ended, memory_order_relaxed) &&
         !clpi_is_inherited(recording.forks);
}

bool clpi_recording_has_stacks(void)
{
  return recording.file.columns & CLPI_TRACE_STACK;
}

void clpi_recording_put(const clpi_trace_row *row)
{
  struct timespec now;
  clpi_layer_is_used();
  clpi_trace_file_put(&recording.file, row);
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  bool is_same_tick = now.tv_nsec == recording.tick.tv_nsec && now.tv_sec == recording.tick.tv_sec;
  if (is_same_tick && !recording.writes_through)
    return;
  recording.tick = now;
  flush();
}

void clpi_recording_stop(void)
{
  clpi_trace_file_stop(&recording.file, ENOMEM);
  end_if_failed();
}

void clpi_recording_write_through(void)
{
  recording.writes_through = true;
  flush();
}
