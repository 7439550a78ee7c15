/* SPDX-License-Identifier: MIT */
/* Calls of a trace hook that only the trace of CLPOOL_TRACE needs (clpool/trace.h). */
#ifndef CLPOOL_HOOKS_TRACE_HOOK_H
#define CLPOOL_HOOKS_TRACE_HOOK_H

#include <clpool/hook.h>

/* Makes the hook also write the call stack of each allocation. Call it before the hook is
 * registered or flushed. */
void clpi_trace_hook_add_stacks(clp_hook *hook);

/* As clp_trace_hook_flush, but neither returns nor logs failures. For the end of the process, when
 * the program's log callback may no longer exist. */
void clpi_trace_hook_flush_silently(clp_hook *hook);

#endif
