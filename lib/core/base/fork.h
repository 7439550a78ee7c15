/* SPDX-License-Identifier: MIT */
/* Which side of a fork something was made on. The child of a fork has copies of all that its parent
 * had, but the parent's other threads may have had them locked, or half changed. So what an
 * ancestor has made is inherited: it is not used any more, and above all not locked.
 *
 * Locks of the library as a whole are held across a fork instead, so that the child finds them
 * free; that of one pool, allocator or hook never is. */
#ifndef CLPOOL_CORE_BASE_FORK_H
#define CLPOOL_CORE_BASE_FORK_H

#include "core/base/relaxed.h"

#include <clpool/status.h>
#include <pthread.h>
#include <stdbool.h>

/* How many forks lie between this process and the one that first had them counted. Changes only in
 * the child of a fork, which has one thread then. */
extern atomic_uint clpi_forks __attribute__((visibility("hidden")));

/* Has forks counted from now on. To be called before anything is made whose `made` is asked for
 * below. Handlers in children that ask are to be registered after it. False: out of host memory. */
bool clpi_forks_watch(void);

/* Has a lock held across forks from now on; again, that does nothing. Who has one such lock does
 * not wait for another. Without host memory for that, the child of a fork may deadlock; nothing
 * else depends on it. */
void clpi_forks_hold(pthread_mutex_t *lock);

/* Whether what was made when clpi_forks was `made` is an ancestor's. */
#define clpi_is_inherited(made) ((made) != clpi_relaxed(clpi_forks))

/* Reports CLP_NOT_SUPPORTED: `what` was given to `function` and is inherited. */
clp_status clpi_refuse_inherited(const char *function, const char *what);

#endif
