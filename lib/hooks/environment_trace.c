/* SPDX-License-Identifier: MIT */
/* The trace of CLPOOL_TRACE. It is completed when the process ends or the library is closed. If
 * pools still use the hook then, it is flushed and kept, because threads may be using it.
 *
 * Opening a file may block for long, for instance if a server does not answer. Meanwhile the
 * process must be able to fork and to end. Both take `lock`, so `lock` is not held while the file
 * is opened; `opening` is.
 *
 * After a fork the file is the parent's. The child opens a file of its own if its name differs
 * (%p). Otherwise it has no trace. */
#include "core/hooks/hook.h"

#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/fork.h"
#include "core/base/list.h"
#include "hooks/trace_hook.h"

#include <clpool/trace.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "CLPOOL_TRACE";

typedef struct joined_trace {
  clpi_list link; /* in environment.inherited, if it is there */
  clp_hook *hook;
  size_t pools; /* that have joined and not left */
} joined_trace;

static struct {
  pthread_mutex_t opening; /* guards is_read; held while the file is opened; taken before `lock` */
  bool is_read;            /* the variable has been read, and the file opened if it is set */

  pthread_mutex_t lock;  /* guards the rest; held across a fork; taken before the locks of hooks */
  bool is_opening;       /* a thread may be creating the file just now */
  bool is_of_child;      /* an ancestor of this process had a trace */
  joined_trace *current; /* NULL: no trace */
  clpi_list inherited;   /* of ancestors, and still used by pools */
} environment = {.opening = PTHREAD_MUTEX_INITIALIZER,
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .inherited = {&environment.inherited, &environment.inherited}};

/* --- the name --- */

enum { SHOWN_BYTES = 256 }; /* the most of a value, its end, that a message quotes */

static clp_status refuse(const char *text, const char *found)
{
  size_t length = strlen(text);
  bool is_whole = length < SHOWN_BYTES;
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s is \"%s%s\"; expected a file name, found %s",
                    variable, is_whole ? "" : "...", is_whole ? text : text + length - SHOWN_BYTES,
                    found);
}

/* Replaces %p by the process ID and %% by %. */
static clp_status expand(const char *text, char path[PATH_MAX], bool *has_id)
{
  size_t length = 0;
  *has_id = false;
  if (!*text)
    return refuse(text, "an empty string");
  for (const char *from = text; *from; from++) {
    if (length > PATH_MAX - sizeof("18446744073709551615"))
      return refuse(text, "one that is too long");
    if (*from != '%') {
      path[length++] = *from;
    } else if (*++from == '%') {
      path[length++] = '%';
    } else if (*from == 'p') {
      length += (size_t)sprintf(path + length, "%ld", (long)getpid());
      *has_id = true;
    } else {
      return refuse(text,
                    "a percent sign that is in neither %p (process id) nor %% (percent sign)");
    }
  }
  path[length] = '\0';
  return CLP_SUCCESS;
}

/* --- fork and exit --- */

static void end_trace(joined_trace *trace)
{
  (void)clp_trace_hook_destroy(trace->hook);
  free(trace);
}

static void before_fork(void)
{
  pthread_mutex_lock(&environment.lock);
}

static void in_parent(void)
{
  pthread_mutex_unlock(&environment.lock);
}

/* The child's copies of the parent's pools keep its hook, which records nothing. A thread that was
 * opening the file does not exist in the child. */
static void in_child(void)
{
  joined_trace *trace = environment.current;
  environment.is_of_child |= trace || environment.is_opening;
  environment.is_opening = environment.is_read = false;
  environment.current = NULL;
  pthread_mutex_init(&environment.opening, NULL);
  if (trace && trace->pools > 0)
    clpi_list_push_back(&environment.inherited, &trace->link);
  else if (trace)
    end_trace(trace);
  pthread_mutex_unlock(&environment.lock);
}

static bool is_watching;

/* Children run handlers in the order of registration: in_child, which closes the hook, must find
 * that it is inherited. */
static void watch_forks(void)
{
  is_watching = clpi_forks_watch() && pthread_atfork(before_fork, in_parent, in_child) == 0;
}

__attribute__((destructor)) static void write_out(void)
{
  CLPI_UNCANCELLED;
  pthread_mutex_lock(&environment.lock);
  joined_trace *trace = environment.current;
  bool is_last = trace && trace->pools == 0;
  if (is_last)
    environment.current = NULL;
  pthread_mutex_unlock(&environment.lock);
  if (is_last)
    end_trace(trace);
  else if (trace)
    clpi_trace_hook_flush_silently(trace->hook);
}

/* --- pools --- */

static clp_status no_host_memory(void)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the trace of %s", variable);
}

/* Failures are logged; the thread's last error does not change. */
static void flush(clp_hook *hook)
{
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  if (clp_trace_hook_flush(hook))
    clpi_error_restore(&kept);
}

static clp_status make_trace(const char *path, joined_trace **out)
{
  unsigned has_stacks = 0;
  clp_status status = clpi_environment_number("CLPOOL_TRACE_STACKS", 1, &has_stacks);
  if (status)
    return status;
  joined_trace *trace = calloc(1, sizeof(*trace));
  if (!trace)
    return no_host_memory();
  status = clp_trace_hook_create(path, NULL, &trace->hook);
  if (status) {
    free(trace);
    clpi_kept_error reason;
    clpi_error_keep(&reason);
    return clpi_error(status, reason.error.native_code, "%s: %s", variable, reason.message);
  }
  trace->hook->name = variable;
  if (has_stacks)
    clpi_trace_hook_add_stacks(trace->hook);
  *out = trace;
  return CLP_SUCCESS;
}

/* Writes the header at once, so that a full disk is reported. */
static clp_status open_trace(const char *text, joined_trace **trace)
{
  char path[PATH_MAX];
  bool has_id;
  clp_status status = expand(text, path, &has_id);
  if (status)
    return status;
  pthread_mutex_lock(&environment.lock);
  bool is_the_parents = environment.is_of_child && !has_id;
  environment.is_opening = !is_the_parents;
  pthread_mutex_unlock(&environment.lock);
  if (is_the_parents)
    return CLP_SUCCESS;
  status = make_trace(path, trace);
  if (!status)
    flush((*trace)->hook);
  return status;
}

static clp_status read_variable_opening(void)
{
  if (environment.is_read)
    return CLP_SUCCESS;
  joined_trace *trace = NULL;
  const char *text = clpi_environment_text(variable);
  clp_status status = text ? open_trace(text, &trace) : CLP_SUCCESS;
  pthread_mutex_lock(&environment.lock);
  environment.is_opening = false;
  environment.is_read = !status;
  environment.current = trace;
  pthread_mutex_unlock(&environment.lock);
  return status;
}

static clp_status join(const clp_hook **hook)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  if (!is_watching)
    return no_host_memory();
  pthread_mutex_lock(&environment.opening);
  clp_status status = read_variable_opening();
  pthread_mutex_unlock(&environment.opening);
  pthread_mutex_lock(&environment.lock);
  joined_trace *trace = status ? NULL : environment.current;
  *hook = trace ? trace->hook : NULL;
  if (trace)
    trace->pools++;
  pthread_mutex_unlock(&environment.lock);
  return status;
}

static joined_trace *find_locked(const clp_hook *hook)
{
  if (environment.current && environment.current->hook == hook)
    return environment.current;
  clpi_list *link = environment.inherited.next;
  while (clpi_list_entry(link, joined_trace, link)->hook != hook)
    link = link->next;
  return clpi_list_entry(link, joined_trace, link);
}

/* The trace stays open until the process ends, but is flushed when the last pool leaves: at the
 * end, there may be no log callback for failures. */
static void leave(const clp_hook *hook)
{
  if (!hook)
    return;
  pthread_mutex_lock(&environment.lock);
  joined_trace *trace = find_locked(hook);
  bool is_last = trace->pools == 1;
  pthread_mutex_unlock(&environment.lock);
  if (is_last)
    flush(trace->hook);
  pthread_mutex_lock(&environment.lock);
  bool is_through = --trace->pools == 0 && trace != environment.current;
  if (is_through)
    clpi_list_remove(&trace->link);
  pthread_mutex_unlock(&environment.lock);
  if (is_through)
    end_trace(trace);
}

const clpi_first_hook clpi_environment_trace = {.join = join, .leave = leave};
