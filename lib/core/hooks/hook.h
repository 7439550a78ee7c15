/* SPDX-License-Identifier: MIT */
/* Registered hooks, of threads and of pools.
 *
 * Registrations and removals are numbered in one sequence of serials, and an operation sees the
 * hooks as they were when it began (core/hooks/hook_call.h). A thread cannot change its own hooks
 * during an operation. The hooks of a pool can change: operations that began before still see the
 * old ones, and a removal waits for them to end. */
#ifndef CLPOOL_CORE_HOOKS_HOOK_H
#define CLPOOL_CORE_HOOKS_HOOK_H

#include "core/base/list.h"
#include "core/shard/shard.h"

#include <clpool/hook.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct clpi_registration {
  clp_hook hook;         /* as it was registered */
  const clp_hook *given; /* the caller's hook, which identifies the registration */
  uint64_t begins;       /* serial */
  _Atomic uint64_t ends; /* serial; UINT64_MAX: it has not ended */
  struct clpi_registration *_Atomic later; /* the next by `begins` */
} clpi_registration;

/* The hooks of a thread. */
typedef struct clpi_thread_hooks {
  clpi_registration *_Atomic first; /* touched by the thread alone */
  struct clpi_hook_scope *scope;    /* the innermost scope that the thread is in; NULL: none */
  struct clpi_device_call *call;    /* of its allocator, for a pool (device_call.c); NULL: none */
  bool in_callback;                 /* inside a hook's callback */
} clpi_thread_hooks;

/* The number of registered hooks. */
extern atomic_uint clpi_watchers __attribute__((visibility("hidden")));

/* Relaxed: a thread that learns of a registration from the one that made it sees the count. */
#define clpi_is_watched() __builtin_expect(clpi_relaxed(clpi_watchers) != 0, 0)

/* The calling thread's hooks; small enough for the static TLS that dlopen keeps in reserve. */
extern _Thread_local clpi_thread_hooks clpi_own_hooks
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The hooks of a pool. Changed under its lock. */
typedef struct clpi_pool_hooks {
  clpi_shards *shards; /* whose lock is the pool's, and which are watched while there are hooks */
  int device_id;       /* for events */
  clpi_registration *_Atomic first; /* threads inside a scope walk the chain without the lock */
  clpi_list scopes;                 /* of clpi_hook_scope.on_pool, the oldest first */
  pthread_cond_t scope_left;
} clpi_pool_hooks;

/* Whether the calling thread is inside a callback. It must not wait for other threads then: they
 * may be waiting for it. */
static inline bool clpi_is_in_callback(void)
{
  return clpi_own_hooks.in_callback || clpi_own_asking;
}

/* The registration after a link; NULL: the end of the chain. */
static inline clpi_registration *clpi_registration_at(clpi_registration *const _Atomic *link)
{
  /* Acquire: pairs with the release in set_link. */
  return atomic_load_explicit(link, memory_order_acquire);
}

/* Initializes the hooks of a pool, which the lock of its shards guards. */
void clpi_pool_hooks_init(clpi_pool_hooks *hooks, clpi_shards *shards, int device_id);

/* As clp_pool_add_hook and clp_pool_remove_hook. Not under the lock. */
clp_status clpi_pool_hooks_add(clpi_pool_hooks *hooks, const clp_hook *hook);
clp_status clpi_pool_hooks_remove(clpi_pool_hooks *hooks, const clp_hook *hook);

/* Adds the first hook of a pool under construction; allowed inside a callback, too.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_pool_hooks_begin(clpi_pool_hooks *hooks, const clp_hook *hook);

/* Frees the registrations of a pool that nobody can reach any more. */
void clpi_pool_hooks_end(clpi_pool_hooks *hooks);

/* The last serial that was given out. */
uint64_t clpi_hook_serial(void);

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

#endif
