/* SPDX-License-Identifier: MIT */
/* The file is written when the process ends or the library is closed, whichever comes first: by
 * then the program and whatever depends on the library are through. Pools may still be there, and
 * threads that use them, so unless all have left the hook stays, and only its buffer is written.
 *
 * After fork the file is the parent's. The child opens one of its own if it would have another
 * name, and else goes without. */
#include "core/environment_trace.h"

#include "core/error.h"

#include <clpool/trace.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char variable[] = "CLPOOL_TRACE";

static struct {
  pthread_mutex_t lock; /* guards the rest; taken before all others */
  bool is_read;         /* the variable was */
  bool is_of_child;     /* the process is the child of one that had a trace */
  clp_hook *hook;       /* NULL: there is no trace */
  size_t pools;         /* that have joined and not left */
} environment = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the name -----------------------------------------------------------------------------------
 */

static clp_status refuse(const char *text, const char *why)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s is \"%s\"; expected the name of a file, %s",
                    variable, text, why);
}

/* Puts the process id for %p, and % for %%. */
static clp_status expand(const char *text, char path[PATH_MAX], bool *has_id)
{
  size_t length = 0;
  *has_id = false;
  if (!*text)
    return refuse(text, "found nothing");
  for (const char *from = text; *from; from++) {
    if (length > PATH_MAX - sizeof("18446744073709551615"))
      return refuse(text, "found a longer one than there can be");
    if (*from != '%') {
      path[length++] = *from;
    } else if (*++from == '%') {
      path[length++] = '%';
    } else if (*from == 'p') {
      length += (size_t)sprintf(path + length, "%ld", (long)getpid());
      *has_id = true;
    } else {
      return refuse(text, "with %p for the process id and %% for a percent sign");
    }
  }
  path[length] = '\0';
  return CLP_SUCCESS;
}

/* --- fork, and the end --------------------------------------------------------------------------
 */

static void before_fork(void)
{
  pthread_mutex_lock(&environment.lock);
}

static void in_parent(void)
{
  pthread_mutex_unlock(&environment.lock);
}

/* The pools of the parent, which are there, too, keep its hook, which tells nothing any more. */
static void in_child(void)
{
  environment.is_of_child |= environment.hook != NULL;
  if (environment.pools == 0)
    (void)clp_trace_hook_close(environment.hook);
  environment.hook = NULL;
  environment.pools = 0;
  environment.is_read = false;
  pthread_mutex_unlock(&environment.lock);
}

static void watch_forks(void)
{
  pthread_atfork(before_fork, in_parent, in_child);
}

__attribute__((destructor)) static void write_out(void)
{
  pthread_mutex_lock(&environment.lock);
  if (environment.pools > 0) {
    (void)clp_trace_hook_flush(environment.hook);
  } else {
    (void)clp_trace_hook_close(environment.hook);
    environment.hook = NULL;
  }
  pthread_mutex_unlock(&environment.lock);
}

/* --- pools --------------------------------------------------------------------------------------
 */

static clp_status open_trace(const char *text)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  char path[PATH_MAX];
  bool has_id;
  clp_status status = expand(text, path, &has_id);
  if (status)
    return status;
  if (environment.is_of_child && !has_id)
    return CLP_SUCCESS; /* the file is the parent's */
  status = clp_trace_hook_create(path, NULL, &environment.hook);
  if (status) {
    clpi_kept_error reason;
    clpi_error_keep(&reason);
    return clpi_error(status, reason.error.native_code, "%s: %s", variable, reason.message);
  }
  environment.hook->name = variable;
  pthread_once(&once, watch_forks);
  return CLP_SUCCESS;
}

static clp_status read_variable_locked(void)
{
  if (environment.is_read)
    return CLP_SUCCESS;
  const char *text = secure_getenv(variable);
  clp_status status = text ? open_trace(text) : CLP_SUCCESS;
  environment.is_read = !status;
  return status;
}

clp_status clpi_environment_trace_join(const clp_hook **hook)
{
  pthread_mutex_lock(&environment.lock);
  clp_status status = read_variable_locked();
  *hook = environment.hook;
  environment.pools += environment.hook != NULL;
  pthread_mutex_unlock(&environment.lock);
  return status;
}

/* One of the parent's pools, that the child of a fork ends, has left already. */
void clpi_environment_trace_leave(const clp_hook *hook)
{
  if (!hook)
    return;
  pthread_mutex_lock(&environment.lock);
  environment.pools -= hook == environment.hook;
  pthread_mutex_unlock(&environment.lock);
}
