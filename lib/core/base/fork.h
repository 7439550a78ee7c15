/* SPDX-License-Identifier: MIT */
/* Which process made an object. The child of a fork has copies of all objects of its parent, but
 * the parent's other threads may have locked them, or half changed them. So an object that an
 * ancestor made is inherited: the process must not use it, and above all not lock it.
 *
 * Global locks of the library are instead held across a fork, so that the child finds them free.
 * The locks of single pools, allocators and hooks are not. */
#ifndef CLPOOL_CORE_BASE_FORK_H
#define CLPOOL_CORE_BASE_FORK_H

#include "core/base/relaxed.h"

#include <clpool/status.h>
#include <pthread.h>
#include <stdbool.h>

/* The number of forks between this process and the one that called clpi_forks_watch first. It
 * changes only in the child of a fork, while that has one thread. */
extern atomic_uint clpi_forks __attribute__((visibility("hidden")));

/* Begins to count forks. Call it before you make an object that clpi_is_inherited is asked about,
 * and before you register child handlers that ask. False: out of host memory. */
bool clpi_forks_watch(void);

/* Makes forks hold a lock from now on. A second call with the same lock does nothing. A thread that
 * holds one such lock must not wait for another. If the host has no memory for it, the child of a
 * fork may deadlock on this lock. */
void clpi_forks_hold(pthread_mutex_t *lock);

/* Whether an ancestor made an object; `forks` is the value of clpi_forks at that time. */
#define clpi_is_inherited(forks) ((forks) != clpi_relaxed(clpi_forks))

/* Returns CLP_NOT_SUPPORTED with a last error: `function` got `what`, which is inherited. */
clp_status clpi_refuse_inherited(const char *function, const char *what);

#endif
