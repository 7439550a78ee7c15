/* SPDX-License-Identifier: MIT */
/* Writes allocations and frees as rows of RMM's log format.
 *
 * An allocate row is written after the allocation, a free row before the free. So in the trace of
 * several threads, too, memory is freed before it is allocated again.
 *
 * A hook does not see everything: memory may be allocated before it is registered, or freed by a
 * thread that does not have it. A free of memory that no row allocated is left out, and memory that
 * is allocated again without a free gets a free row first. Otherwise the trace could not be
 * replayed.
 *
 * The child of a fork has a copy of the trace with the same file. The copy records nothing. */
#include "hooks/trace_hook.h"

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/fork.h"
#include "core/base/log.h"
#include "core/base/map.h"

#include <clpool/trace.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  BUFFER_BYTES = 64 * 1024,
  ROW_BYTES = 256, /* more than the longest row */
  NAME_BYTES = 256 /* the most of a name that a message quotes */
};

#define FAILURE_FORMAT "%s: not all could be written: %s"

typedef struct trace {
  clp_hook hook;
  unsigned forks; /* clpi_forks when the trace was made */
  FILE *file;
  bool is_own;          /* opened here, and closed with the trace */
  pthread_mutex_t lock; /* guards the rest */
  clpi_map live;        /* memory with an allocate row and no free row yet, and its bytes */
  size_t live_nulls;    /* how many of those have memory 0, which are buffers of zero bytes */
  int failure;          /* errno of the first failure, after which nothing is written; 0: none */
  bool is_logged;       /* the failure has been logged */
  uint64_t written;     /* bytes in the file */
  size_t filled;
  char name[NAME_BYTES]; /* for messages; a longer name is cut at the front */
  char buffer[BUFFER_BYTES];
} trace;

/* --- forks --- */

/* Whether the trace is a copy of the parent's. Its lock must not be taken: a thread that does not
 * exist in the child may hold it. */
static bool is_inherited(const trace *self)
{
  return clpi_is_inherited(self->forks);
}

/* --- rows --- */

/* Each writes at `to` and returns the end of what it wrote. */

static char *put_digits(char *to, uint64_t value, unsigned base)
{
  char digits[24];
  size_t i = sizeof(digits);
  do {
    digits[--i] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value);
  memcpy(to, digits + i, sizeof(digits) - i);
  return to + sizeof(digits) - i;
}

static char *put_decimal(char *to, uint64_t value)
{
  return put_digits(to, value, 10);
}

static char *put_address(char *to, uint64_t value)
{
  return put_digits(stpcpy(to, "0x"), value, 16);
}

/* Exactly `count` digits, and a separator. */
static char *put_fixed(char *to, long value, unsigned count, char separator)
{
  for (unsigned i = count; i > 0; i--) {
    to[i - 1] = (char)('0' + value % 10);
    value /= 10;
  }
  to[count] = separator;
  return to + count + 1;
}

/* The time of day, in UTC, since local time jumps at daylight saving. */
static char *put_time(char *to)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  long seconds = (long)(now.tv_sec % (24 * 60 * 60));
  to = put_fixed(to, seconds / (60 * 60), 2, ':');
  to = put_fixed(to, seconds / 60 % 60, 2, ':');
  to = put_fixed(to, seconds % 60, 2, '.');
  return put_fixed(to, now.tv_nsec / 1000, 6, ',');
}

static uint64_t thread_number(void)
{
  static _Thread_local struct {
    pid_t number;
    unsigned forks;
  } thread __attribute__((tls_model("initial-exec")));
  if (!thread.number || clpi_is_inherited(thread.forks))
    thread.number = gettid();
  thread.forks = clpi_relaxed(clpi_forks);
  return (uint64_t)thread.number;
}

static void fail(trace *self, int code)
{
  self->failure = self->failure ? self->failure : code;
}

/* errno of the stdio call that just failed, or EIO if it set none. The caller set errno to 0
 * before. */
static int code_of_failure(void)
{
  return errno ? errno : EIO;
}

/* Writes the buffer and returns how many bytes were written. An interrupted write goes on, but not
 * on a caller's file: stdio may drop its own buffer on failure, so bytes would be lost. */
static size_t write_locked(trace *self)
{
  size_t done = 0;
  while (done < self->filled) {
    errno = 0;
    done += fwrite(self->buffer + done, 1, self->filled - done, self->file);
    if (done == self->filled)
      break;
    if (!self->is_own || errno != EINTR) {
      fail(self, code_of_failure());
      break;
    }
    clearerr(self->file);
  }
  return done;
}

/* Cuts a partly written row off the file: readers could not parse it. */
static void drop_partial_row_locked(trace *self, size_t done)
{
  while (done > 0 && self->buffer[done - 1] != '\n')
    done--;
  if (ftruncate(fileno(self->file), (off_t)(self->written + done)))
    return; /* not a regular file, such as a pipe: nothing to be done */
}

static void flush_locked(trace *self)
{
  size_t done = self->failure ? 0 : write_locked(self);
  if (self->is_own && done < self->filled && done > 0)
    drop_partial_row_locked(self, done);
  self->written += done;
  self->filled = 0;
}

/* Ends the trace here, since it could not be replayed beyond. What was recorded before is kept. */
static void stop_locked(trace *self, int code)
{
  flush_locked(self);
  fail(self, code);
}

static void write_row_locked(trace *self, const char *action, clp_memory memory, uint64_t bytes,
                             clp_stream stream)
{
  if (self->filled > BUFFER_BYTES - ROW_BYTES)
    flush_locked(self);
  char *to = self->buffer + self->filled;
  to = put_decimal(to, thread_number());
  *to++ = ',';
  to = put_time(to);
  to = stpcpy(to, action);
  *to++ = ',';
  to = put_address(to, memory);
  *to++ = ',';
  to = put_decimal(to, bytes);
  *to++ = ',';
  to = stream ? put_address(to, (uintptr_t)stream) : stpcpy(to, "0");
  *to++ = '\n';
  self->filled = (size_t)(to - self->buffer);
}

/* Unlocks, and logs the first failure, since callbacks cannot return a status. */
static void unlock_and_log(trace *self)
{
  int code = self->is_logged ? 0 : self->failure;
  self->is_logged = self->failure != 0;
  pthread_mutex_unlock(&self->lock);
  if (code)
    clpi_log(CLP_LOG_WARNING, FAILURE_FORMAT, self->name, strerror(code));
}

/* --- callbacks --- */

static bool add_live_locked(trace *self, clp_memory memory, size_t bytes)
{
  if (memory && !clpi_map_reserve(&self->live))
    return false;
  if (memory)
    clpi_map_put(&self->live, memory, bytes);
  else
    self->live_nulls++;
  return true;
}

/* Removes memory from the live ones. False: it was not live. */
static bool take_live_locked(trace *self, clp_memory memory, uint64_t *bytes)
{
  *bytes = 0;
  return memory ? clpi_map_take(&self->live, memory, bytes)
                : self->live_nulls && self->live_nulls--;
}

static void tell_allocation_locked(trace *self, const clp_hook_event *event)
{
  uint64_t bytes;
  if (event->memory && take_live_locked(self, event->memory, &bytes))
    write_row_locked(self, "free", event->memory, bytes, event->stream);
  if (add_live_locked(self, event->memory, event->size))
    write_row_locked(self, "allocate", event->memory, event->size, event->stream);
  else
    stop_locked(self, ENOMEM);
}

static void tell_malloc(const clp_hook_event *event, void *user_data)
{
  trace *self = user_data;
  if (is_inherited(self))
    return;
  pthread_mutex_lock(&self->lock);
  if (!self->failure && event->buffer_id)
    tell_allocation_locked(self, event);
  else if (!self->failure)
    write_row_locked(self, "allocate failure", 0, event->size, event->stream);
  unlock_and_log(self);
}

static void tell_free(const clp_hook_event *event, void *user_data)
{
  trace *self = user_data;
  uint64_t bytes;
  if (is_inherited(self))
    return;
  pthread_mutex_lock(&self->lock);
  if (!self->failure && take_live_locked(self, event->memory, &bytes))
    write_row_locked(self, "free", event->memory, bytes, event->stream);
  unlock_and_log(self);
}

/* --- life --- */

static void set_name(trace *self, const char *name)
{
  size_t length = strlen(name);
  if (length < NAME_BYTES)
    strcpy(self->name, name);
  else
    snprintf(self->name, NAME_BYTES, "...%s", name + length - (NAME_BYTES - sizeof("...")));
}

static clp_status no_host_memory(void)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a hook");
}

/* To open a pipe would wait for a process that reads it, perhaps for ever; without waiting, ENXIO
 * says that there is none. */
static FILE *open_pipe(const char *path)
{
  int descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return NULL;
  (void)fcntl(descriptor, F_SETFL, 0); /* what is written waits for the reader */
  FILE *file = fdopen(descriptor, "w");
  if (!file)
    close(descriptor);
  return file;
}

static FILE *open_path(const char *path)
{
  struct stat found;
  bool is_pipe = stat(path, &found) == 0 && S_ISFIFO(found.st_mode);
  return is_pipe ? open_pipe(path) : fopen(path, "we");
}

static clp_status open_file(trace *self, const char *path, FILE *file)
{
  self->is_own = path != NULL;
  self->file = path ? open_path(path) : file;
  if (!self->file && errno == ENOMEM)
    return no_host_memory();
  if (!self->file && errno == ENXIO)
    return clpi_error(CLP_IO_ERROR, errno, "%s: a pipe that no process reads", self->name);
  if (!self->file)
    return clpi_error(CLP_IO_ERROR, errno, "%s: %s", self->name, strerror(errno));
  if (self->is_own)
    setvbuf(self->file, NULL, _IONBF, 0); /* the trace has a buffer of its own */
  return CLP_SUCCESS;
}

/* Not flushed in the child of a fork: what stdio has buffered of a caller's file is also in the
 * parent, which writes it. */
static int close_file(const trace *self)
{
  errno = 0;
  int result = 0;
  if (self->is_own)
    result = fclose(self->file);
  else if (!is_inherited(self))
    result = fflush(self->file);
  return result ? code_of_failure() : 0;
}

clp_status clp_trace_hook_create(const char *path, FILE *file, clp_hook **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_trace_hook_create: out is NULL");
  *out = NULL;
  if (!path == !file)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_trace_hook_create: one of path and file must be NULL, the other not");
  trace *self = clpi_forks_watch() ? malloc(sizeof(*self)) : NULL;
  if (!self)
    return no_host_memory();
  memset(self, 0, offsetof(trace, buffer));
  set_name(self, path ? path : "the trace");
  clp_status status = open_file(self, path, file);
  if (status) {
    free(self);
    return status;
  }
  self->forks = clpi_relaxed(clpi_forks);
  pthread_mutex_init(&self->lock, NULL);
  self->filled =
      (size_t)(stpcpy(self->buffer, "Thread,Time,Action,Pointer,Size,Stream\n") - self->buffer);
  self->hook = (clp_hook){.struct_size = sizeof(self->hook),
                          .name = "trace",
                          .user_data = self,
                          .malloc_postprocess = tell_malloc,
                          .free_preprocess = tell_free};
  *out = &self->hook;
  return CLP_SUCCESS;
}

static clp_status tell_failure(const trace *self)
{
  if (!self->failure)
    return CLP_SUCCESS;
  return clpi_error(CLP_IO_ERROR, self->failure, FAILURE_FORMAT, self->name,
                    strerror(self->failure));
}

static void flush_file_locked(trace *self)
{
  flush_locked(self);
  errno = 0;
  if (!self->is_own && !self->failure && fflush(self->file))
    fail(self, code_of_failure());
}

clp_status clp_trace_hook_flush(clp_hook *hook)
{
  CLPI_UNCANCELLED;
  if (!hook)
    return CLP_SUCCESS;
  trace *self = hook->user_data;
  if (is_inherited(self))
    return CLP_SUCCESS;
  pthread_mutex_lock(&self->lock);
  flush_file_locked(self);
  clp_status status = tell_failure(self);
  unlock_and_log(self);
  return status;
}

void clpi_trace_hook_flush_silently(clp_hook *hook)
{
  trace *self = hook->user_data;
  pthread_mutex_lock(&self->lock);
  flush_file_locked(self);
  pthread_mutex_unlock(&self->lock);
}

clp_status clp_trace_hook_destroy(clp_hook *hook)
{
  CLPI_UNCANCELLED;
  if (!hook)
    return CLP_SUCCESS;
  trace *self = hook->user_data;
  if (!is_inherited(self))
    flush_locked(self);
  int code = close_file(self);
  if (code)
    fail(self, code);
  clp_status status = is_inherited(self) ? CLP_SUCCESS : tell_failure(self);
  clpi_map_end(&self->live);
  pthread_mutex_destroy(&self->lock);
  free(self);
  return status;
}
