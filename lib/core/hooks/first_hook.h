/* SPDX-License-Identifier: MIT */
/* The hook that a new pool begins with: the trace that CLPOOL_TRACE asks for, one for all pools of
 * the process. This is all that the core knows of it; lib/hooks defines it. */
#ifndef CLPOOL_CORE_HOOKS_FIRST_HOOK_H
#define CLPOOL_CORE_HOOKS_FIRST_HOOK_H

#include <clpool/hook.h>
#include <clpool/status.h>

typedef struct clpi_first_hook {
  /* Gives the hook that a new pool is to show its operations to, until it leaves; NULL where the
   * variable is unset. The first call of the process, and of the child of a fork, reads the
   * variable and opens the file; one that fails is forgotten. Not under a lock.
   * CLP_INVALID_ARGUMENT: the variable has a name that cannot be read. CLP_IO_ERROR: the file
   * cannot be opened. CLP_OUT_OF_HOST_MEMORY. The messages name the variable. What cannot be
   * written later is logged. */
  clp_status (*join)(const clp_hook **hook);

  /* The pool has ended. The last one of a trace that the child of a fork has of its parent closes
   * it there. NULL is a no-op. Not under a lock. */
  void (*leave)(const clp_hook *hook);
} clpi_first_hook;

extern const clpi_first_hook clpi_environment_trace __attribute__((visibility("hidden")));

#endif
