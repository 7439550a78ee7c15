/* SPDX-License-Identifier: MIT */
/* Writes allocations and frees as rows of a trace.
 *
 * An allocate row is written after the allocation, a free row before the free. So even in the trace
 * of several threads, memory is freed before it is allocated again.
 *
 * A hook does not see everything: memory may be allocated before it is registered, or freed by a
 * thread without it. So that the trace can be replayed, it leaves out a free of memory that no row
 * allocated. If memory is allocated again without a free, it writes a free row first.
 *
 * The child of a fork has a copy of the trace with the same file. The copy records nothing. */
#include "hooks/trace_hook.h"

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/fork.h"
#include "core/base/map.h"
#include "core/base/relaxed.h"
#include "core/pool/pool.h"
#include "hooks/trace_file.h"

#include <clpool/trace.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 256 /* the most of a name that a message quotes */ };

#define FAILURE_FORMAT "%s: some events could not be written: %s"

typedef struct trace {
  clp_hook hook;
  unsigned forks;       /* clpi_forks when the trace was made */
  pthread_mutex_t lock; /* guards the rest, except the name */
  clpi_map live;        /* memory with an allocate row and no free row yet, and its bytes */
  size_t live_nulls;    /* how many of those have memory 0, which are buffers of zero bytes */
  bool is_logged;       /* the failure of the file has been logged */
  bool has_rows;
  char name[NAME_BYTES]; /* for messages; a longer name is cut at the front */
  clpi_trace_file output;
} trace;

/* --- forks --- */

/* Whether the trace is a copy of the parent's. Its lock must not be taken: a thread that does not
 * exist in the child may hold it. */
static bool is_inherited(const trace *self)
{
  return clpi_is_inherited(self->forks);
}

/* --- callbacks --- */

static void name_pools(trace *self)
{
  if (clpi_relaxed(clpi_named_pools))
    clpi_trace_file_add_column(&self->output, CLPI_TRACE_POOL);
}

/* Makes a row of `event`, but with other memory and bytes. The first row decides whether there is a
 * column for names. */
static void put_row_locked(trace *self, const char *action, clp_memory memory, uint64_t bytes,
                           const clp_hook_event *event, const clpi_frames *stack)
{
  const clpi_trace_row row = {.action = action,
                              .memory = memory,
                              .bytes = bytes,
                              .stream = (uintptr_t)event->stream,
                              .pool = clp_pool_name(event->pool),
                              .stack = stack};
  if (!self->has_rows)
    name_pools(self);
  self->has_rows = true;
  clpi_trace_file_put(&self->output, &row);
}

/* Unlocks, and logs the first failure, because callbacks cannot return a status. */
static void unlock_and_log(trace *self)
{
  int code = self->is_logged ? 0 : self->output.failure;
  self->is_logged = self->output.failure != 0;
  pthread_mutex_unlock(&self->lock);
  if (code)
    clpi_log(CLP_LOG_WARNING, FAILURE_FORMAT, self->name, strerror(code));
}

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

static void tell_allocation_locked(trace *self, const clp_hook_event *event,
                                   const clpi_frames *stack)
{
  uint64_t bytes;
  if (event->memory && take_live_locked(self, event->memory, &bytes))
    put_row_locked(self, "free", event->memory, bytes, event, NULL);
  if (add_live_locked(self, event->memory, event->size))
    put_row_locked(self, "allocate", event->memory, event->size, event, stack);
  else
    clpi_trace_file_stop(&self->output, ENOMEM);
}

static void tell_malloc_from(trace *self, const clp_hook_event *event, const clpi_frames *stack)
{
  if (is_inherited(self))
    return;
  pthread_mutex_lock(&self->lock);
  if (!self->output.failure && event->buffer_id)
    tell_allocation_locked(self, event, stack);
  else if (!self->output.failure)
    put_row_locked(self, "allocate failure", 0, event->size, event, stack);
  unlock_and_log(self);
}

static void tell_malloc(const clp_hook_event *event, void *user_data)
{
  tell_malloc_from(user_data, event, NULL);
}

/* Reads the stack before it takes the lock, because that takes microseconds and the locks of
 * others. */
static void tell_malloc_with_stack(const clp_hook_event *event, void *user_data)
{
  clpi_frames stack;
  clpi_frames_read(&stack, CLPI_CALLBACK_RETURN, false);
  tell_malloc_from(user_data, event, &stack);
  clpi_frames_end(&stack);
}

static void tell_free(const clp_hook_event *event, void *user_data)
{
  trace *self = user_data;
  uint64_t bytes;
  if (is_inherited(self))
    return;
  pthread_mutex_lock(&self->lock);
  if (!self->output.failure && take_live_locked(self, event->memory, &bytes))
    put_row_locked(self, "free", event->memory, bytes, event, NULL);
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

/* Opening a pipe would wait for a reader, perhaps for ever. Without waiting, ENXIO means that there
 * is none. */
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
  if (path)
    file = open_path(path);
  if (!file && errno == ENOMEM)
    return no_host_memory();
  if (!file && errno == ENXIO)
    return clpi_error(CLP_IO_ERROR, errno, "%s: no process reads this pipe", self->name);
  if (!file)
    return clpi_error(CLP_IO_ERROR, errno, "%s: %s", self->name, strerror(errno));
  clpi_trace_file_begin(&self->output, file, path != NULL, 0);
  name_pools(self);
  return CLP_SUCCESS;
}

/* Not flushed in the child of a fork: the parent also has what stdio buffered of a caller's file,
 * and writes it. */
static int close_file(const trace *self)
{
  errno = 0;
  int result = 0;
  if (self->output.is_own)
    result = fclose(self->output.file);
  else if (!is_inherited(self))
    result = fflush(self->output.file);
  return result ? clpi_trace_file_code() : 0;
}

clp_status clp_trace_hook_create(const char *path, FILE *file, clp_hook **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_trace_hook_create: out is NULL");
  *out = NULL;
  if (!path == !file)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_trace_hook_create: set one of path and file, and the other to NULL");
  trace *self = clpi_forks_watch() ? malloc(sizeof(*self)) : NULL;
  if (!self)
    return no_host_memory();
  memset(self, 0, offsetof(trace, output));
  set_name(self, path ? path : "the trace");
  clp_status status = open_file(self, path, file);
  if (status) {
    free(self);
    return status;
  }
  self->forks = clpi_relaxed(clpi_forks);
  pthread_mutex_init(&self->lock, NULL);
  self->hook = (clp_hook){.struct_size = sizeof(self->hook),
                          .name = "trace",
                          .user_data = self,
                          .malloc_postprocess = tell_malloc,
                          .free_preprocess = tell_free};
  *out = &self->hook;
  return CLP_SUCCESS;
}

void clpi_trace_hook_add_stacks(clp_hook *hook)
{
  trace *self = hook->user_data;
  clpi_trace_file_add_column(&self->output, CLPI_TRACE_STACK);
  hook->malloc_postprocess = tell_malloc_with_stack;
}

static clp_status tell_failure(const trace *self)
{
  if (!self->output.failure)
    return CLP_SUCCESS;
  return clpi_error(CLP_IO_ERROR, self->output.failure, FAILURE_FORMAT, self->name,
                    strerror(self->output.failure));
}

static void flush_file_locked(trace *self)
{
  clpi_trace_file_flush(&self->output);
  errno = 0;
  if (!self->output.is_own && !self->output.failure && fflush(self->output.file))
    clpi_trace_file_fail(&self->output, clpi_trace_file_code());
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
    clpi_trace_file_flush(&self->output);
  int code = close_file(self);
  if (code)
    clpi_trace_file_fail(&self->output, code);
  clp_status status = is_inherited(self) ? CLP_SUCCESS : tell_failure(self);
  clpi_map_end(&self->live);
  clpi_trace_file_end(&self->output);
  pthread_mutex_destroy(&self->lock);
  free(self);
  return status;
}
