/* SPDX-License-Identifier: MIT */
/* Where a recording goes, and when. */
#include "recording.h"

#include "core/base/cancel.h"
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

clpi_trace_file clpi_recording;

static unsigned forks; /* clpi_forks when it began */
static atomic_bool has_ended;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest, and the file */
static struct timespec tick;                             /* of the latest unlocking */
static bool writes_through;

/* --- the lock --- */

static bool goes_on(void)
{
  return !clpi_relaxed(has_ended) && !clpi_is_inherited(forks);
}

bool clpi_recording_lock(void)
{
  if (!goes_on())
    return false;
  pthread_mutex_lock(&lock);
  return true;
}

/* A failure is reported once. */
void clpi_recording_unlock(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  bool is_same_tick = now.tv_nsec == tick.tv_nsec && now.tv_sec == tick.tv_sec;
  if (!is_same_tick || writes_through)
    clpi_trace_file_flush(&clpi_recording);
  tick = now;
  if (clpi_recording.failure && !clpi_relaxed(has_ended)) {
    clpi_layer_complain("the recording stopped: %s", strerror(clpi_recording.failure));
    clpi_set_relaxed(has_ended, true);
  }
  pthread_mutex_unlock(&lock);
}

bool clpi_recording_has_stacks(void)
{
  return clpi_recording.columns & CLPI_TRACE_STACK && goes_on();
}

/* --- the beginning and the end --- */

/* Writes a file's name: the pattern, with the id of this process for each %p. False: it is too
 * long. */
static bool name_file(const char *pattern, char path[PATH_MAX])
{
  size_t length = 0;
  for (; *pattern && length < PATH_MAX; pattern++) {
    bool is_id = pattern[0] == '%' && pattern[1] == 'p';
    length += (size_t)snprintf(path + length, PATH_MAX - length, is_id ? "%d" : "%c",
                               is_id ? (int)getpid() : *pattern);
    pattern += is_id;
  }
  return length < PATH_MAX;
}

/* Begins a file that no other process writes to or has written to. Returns why not, or NULL. A pipe
 * that no process reads is not waited for. */
static const char *open_file(const char *path)
{
  const char *stacks = secure_getenv("CLPOOL_LAYER_STACKS");
  const unsigned stack = stacks && *stacks ? CLPI_TRACE_STACK : 0;
  const char *reason = NULL;
  struct stat found;
  FILE *file;
  int descriptor = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return strerror(errno);
  if (flock(descriptor, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    reason = "another process is recording to it";
  else if (!fstat(descriptor, &found) && found.st_size > 0)
    reason = "the file is not empty; put %p in its name for a file per process";
  else if (fcntl(descriptor, F_SETFL, 0) || !(file = fdopen(descriptor, "w")))
    reason = strerror(errno);
  if (reason)
    close(descriptor);
  else
    clpi_trace_file_begin(&clpi_recording, file, true, CLPI_TRACE_KIND | stack);
  return reason;
}

bool clpi_recording_begin(void)
{
  CLPI_UNCANCELLED;
  char path[PATH_MAX];
  const char *pattern = secure_getenv("CLPOOL_LAYER_TRACE");
  if (!pattern || !*pattern) {
    clpi_layer_complain("CLPOOL_LAYER_TRACE is empty or unset; expected a file name: nothing is "
                        "recorded");
    return false;
  }
  const char *reason = !name_file(pattern, path) ? strerror(ENAMETOOLONG)
                       : !clpi_forks_watch()     ? strerror(ENOMEM)
                                                 : open_file(path);
  if (reason) {
    clpi_layer_complain("%s: %s: nothing is recorded", path, reason);
    return false;
  }
  forks = clpi_relaxed(clpi_forks);
  clpi_frames_leave_out(clpi_loader, &clpi_recording);
  pthread_mutex_lock(&lock);
  clpi_recording_unlock(); /* writes the header */
  return goes_on();
}

__attribute__((destructor)) static void write_out(void)
{
  CLPI_UNCANCELLED;
  if (!clpi_recording_lock())
    return;
  writes_through = true;
  clpi_recording_unlock();
}
