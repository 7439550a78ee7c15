/* SPDX-License-Identifier: MIT */
/* Hooks: which are registered, for a thread and for a pool.
 *
 * Registrations and their ends are numbered in one sequence, the serials, and an operation sees the
 * hooks as they were at its begin (core/hooks/hook_call.h). What a thread registered cannot change
 * while it is inside one. What is registered for a pool can: then the operations that began before
 * go on with what they saw, and the end of a registration waits for them. */
#ifndef CLPOOL_CORE_HOOKS_HOOK_H
#define CLPOOL_CORE_HOOKS_HOOK_H

#include "core/base/list.h"
#include "core/cache/warm_path.h"

#include <clpool/hook.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct clpi_registration {
  clp_hook hook;                           /* as it was registered */
  const clp_hook *given;                   /* by which the caller ends the registration */
  uint64_t begins;                         /* serial */
  _Atomic uint64_t ends;                   /* serial; UINT64_MAX: it has not ended */
  struct clpi_registration *_Atomic later; /* the next by `begins` */
} clpi_registration;

/* A thread's. */
typedef struct clpi_thread_hooks {
  clpi_registration *_Atomic first; /* touched by the thread alone */
  struct clpi_hook_scope *scope;    /* the innermost that the thread is in; NULL: none */
  bool in_callback;                 /* a hook's */
  bool in_out_of_memory;            /* the callback of a pool */
} clpi_thread_hooks;

/* The calling thread's; small enough for the static TLS that dlopen keeps in reserve. */
extern _Thread_local clpi_thread_hooks clpi_own_hooks
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A pool's. Stored under its lock. */
typedef struct clpi_pool_hooks {
  clp_pool *pool; /* as events tell it, and its device */
  int device_id;
  pthread_mutex_t *lock;            /* the pool's */
  clpi_registration *_Atomic first; /* those inside a scope follow the chain without the lock */
  clpi_list scopes;                 /* of clpi_hook_scope.on_pool, the oldest first */
  pthread_cond_t scope_left;
} clpi_pool_hooks;

/* Whether the calling thread is inside of one: it may itself be what other threads wait for. */
static inline bool clpi_is_in_callback(void)
{
  return clpi_own_hooks.in_callback || clpi_own_hooks.in_out_of_memory;
}

/* What a link leads to; NULL: nothing more. */
static inline clpi_registration *clpi_registration_at(clpi_registration *const _Atomic *link)
{
  /* Acquire: pairs with the release of whoever hung it there. */
  return atomic_load_explicit(link, memory_order_acquire);
}

/* Hooks of the pool, whose `lock` guards them. */
void clpi_pool_hooks_init(clpi_pool_hooks *hooks, clp_pool *pool, int device_id,
                          pthread_mutex_t *lock);

/* As clp_pool_add_hook and clp_pool_remove_hook. Not under the lock. */
clp_status clpi_pool_hooks_add(clpi_pool_hooks *hooks, const clp_hook *hook);
clp_status clpi_pool_hooks_remove(clpi_pool_hooks *hooks, const clp_hook *hook);

/* Adds the first hook of a pool that nobody else knows yet, also inside of a callback.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_pool_hooks_begin(clpi_pool_hooks *hooks, const clp_hook *hook);

/* Forgets the hooks of a pool that nobody can reach any more. */
void clpi_pool_hooks_end(clpi_pool_hooks *hooks);

/* The serial given last. */
uint64_t clpi_hook_serial(void);

#endif
