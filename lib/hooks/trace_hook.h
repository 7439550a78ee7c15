/* SPDX-License-Identifier: MIT */
/* What the trace of CLPOOL_TRACE needs of its hook beyond clpool/trace.h. */
#ifndef CLPOOL_HOOKS_TRACE_HOOK_H
#define CLPOOL_HOOKS_TRACE_HOOK_H

#include <clpool/hook.h>
#include <stdbool.h>

/* Sees to it that hooks made from now on know when they are in the child of a fork: to fork
 * handlers that are registered after it, too. False: no host memory. Any thread. */
bool clpi_trace_hook_watch_forks(void);

/* As clp_trace_hook_flush, but tells nobody of failures: for the process' end, when the user's log
 * callback may be gone. */
void clpi_trace_hook_flush_silently(clp_hook *hook);

#endif
