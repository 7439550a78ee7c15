/* SPDX-License-Identifier: MIT */
/* The trace that CLPOOL_TRACE asks for: one for all pools of the process. */
#ifndef CLPOOL_CORE_POOL_ENVIRONMENT_TRACE_H
#define CLPOOL_CORE_POOL_ENVIRONMENT_TRACE_H

#include <clpool/hook.h>
#include <clpool/status.h>

/* Gives the hook that a new pool is to show its operations to, until it leaves; NULL where the
 * variable is unset. The first call of the process, and of the child of a fork, reads the variable
 * and opens the file; one that fails is forgotten. Not under a lock.
 * CLP_INVALID_ARGUMENT: the variable has a name that cannot be read. CLP_IO_ERROR: the file cannot
 * be opened. CLP_OUT_OF_HOST_MEMORY. The messages name the variable. What cannot be written later
 * is logged. */
clp_status clpi_environment_trace_join(const clp_hook **hook);

/* The pool has ended. The last one of a trace that the child of a fork has of its parent closes it
 * there. NULL is a no-op. Not under a lock. */
void clpi_environment_trace_leave(const clp_hook *hook);

#endif
