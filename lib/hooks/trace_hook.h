/* SPDX-License-Identifier: MIT */
/* What the trace of CLPOOL_TRACE needs of its hook beyond clpool/trace.h. */
#ifndef CLPOOL_HOOKS_TRACE_HOOK_H
#define CLPOOL_HOOKS_TRACE_HOOK_H

#include <clpool/hook.h>

/* Has it write the call stack of each allocation, too. Before it is registered and flushed. */
void clpi_trace_hook_add_stacks(clp_hook *hook);

/* As clp_trace_hook_flush, but neither returns nor logs failures: for the end of the process, when
 * the user's log callback may be gone. */
void clpi_trace_hook_flush_silently(clp_hook *hook);

#endif
