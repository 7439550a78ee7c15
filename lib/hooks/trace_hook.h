/* SPDX-License-Identifier: MIT */
/* What the trace of CLPOOL_TRACE needs of its hook beyond clpool/trace.h. */
#ifndef CLPOOL_HOOKS_TRACE_HOOK_H
#define CLPOOL_HOOKS_TRACE_HOOK_H

#include <clpool/hook.h>
#include <stdbool.h>

/* Makes all later trace hooks detect that they are in the child of a fork; fork handlers registered
 * after this call can rely on that. False: out of host memory. Any thread. */
bool clpi_trace_hook_watch_forks(void);

/* As clp_trace_hook_flush, but neither returns nor logs failures: for the end of the process, when
 * the user's log callback may be gone. */
void clpi_trace_hook_flush_silently(clp_hook *hook);

#endif
