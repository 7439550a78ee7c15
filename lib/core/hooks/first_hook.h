/* SPDX-License-Identifier: MIT */
/* The hook that every pool starts with: the trace of CLPOOL_TRACE, one for all pools of the
 * process. The core knows only these two functions; lib/hooks defines them. */
#ifndef CLPOOL_CORE_HOOKS_FIRST_HOOK_H
#define CLPOOL_CORE_HOOKS_FIRST_HOOK_H

#include <clpool/hook.h>
#include <clpool/status.h>

typedef struct clpi_first_hook {
  /* Gives the hook for a new pool, to be used until `leave`; NULL if the variable is unset. The
   * first call in a process, or in the child of a fork, reads the variable and opens the file; if
   * it fails, the next call tries again. Not under a lock. CLP_INVALID_ARGUMENT: the variable's
   * value is no valid file name. CLP_IO_ERROR: the file cannot be opened. CLP_OUT_OF_HOST_MEMORY.
   * The messages name the variable. Later write errors are logged. */
  clp_status (*join)(const clp_hook **hook);

  /* The pool has ended. In the child of a fork, the last pool that leaves a trace inherited from
   * the parent closes the child's copy of it. NULL is a no-op. Not under a lock. */
  void (*leave)(const clp_hook *hook);
} clpi_first_hook;

extern const clpi_first_hook clpi_environment_trace __attribute__((visibility("hidden")));

/* From now on the process has no such trace of this copy of the library, whose pools are not those
 * of the program. Before the first pool. */
void clpi_environment_trace_ignore(void);

#endif
