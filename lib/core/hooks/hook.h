/* SPDX-License-Identifier: MIT */
/* Registered hooks, of threads and of pools, and showing operations to them.
 *
 * Registrations and removals are numbered in one sequence of serials, and an operation sees the
 * hooks as they were when it began. A thread cannot change its own hooks
 * during an operation. The hooks of a pool can change: operations that began before still see the
 * old ones, and a removal waits for them to end. */
#ifndef CLPOOL_CORE_HOOKS_HOOK_H
#define CLPOOL_CORE_HOOKS_HOOK_H

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

/* --- operations as hooks see them: hook_call.c ---
 *
 * An operation sees the same hooks from its begin to its end. A malloc or a free is a scope, with
 * one pair of callbacks around it; an alloc is a pair inside the scope of its malloc; a device_free
 * is a scope of its own, wherever it happens. Callbacks run under no lock of the library. */

typedef struct clpi_hook_scope {
  clpi_pool_hooks *hooks;        /* of the pool */
  clp_stream stream;             /* the stream that events tell */
  uint64_t begins;               /* sees what is registered for the pool at this serial */
  struct clpi_hook_scope *outer; /* the thread's next outer scope; NULL: none */
  clpi_list on_pool;             /* on clpi_pool_hooks.scopes */
} clpi_hook_scope;

/* A callback, by its offset in clp_hook. */
typedef enum clpi_hook_point {
  CLPI_MALLOC_PREPROCESS = offsetof(clp_hook, malloc_preprocess),
  CLPI_MALLOC_POSTPROCESS = offsetof(clp_hook, malloc_postprocess),
  CLPI_ALLOC_PREPROCESS = offsetof(clp_hook, alloc_preprocess),
  CLPI_ALLOC_POSTPROCESS = offsetof(clp_hook, alloc_postprocess),
  CLPI_FREE_PREPROCESS = offsetof(clp_hook, free_preprocess),
  CLPI_FREE_POSTPROCESS = offsetof(clp_hook, free_postprocess),
  CLPI_DEVICE_FREE_PREPROCESS = offsetof(clp_hook, device_free_preprocess),
  CLPI_DEVICE_FREE_POSTPROCESS = offsetof(clp_hook, device_free_postprocess)
} clpi_hook_point;

/* Whether an operation of the calling thread on the pool is shown to hooks: one is registered for
 * either, and the thread is not inside a hook's callback. */
static inline bool clpi_hooks_concern(const clpi_pool_hooks *hooks)
{
  return clpi_is_watched() && !clpi_own_hooks.in_callback &&
         (atomic_load_explicit(&clpi_own_hooks.first, memory_order_relaxed) ||
          atomic_load_explicit(&hooks->first, memory_order_relaxed));
}

/* Begin and end an operation. Under the pool's lock; the caller keeps the pool alive. */
void clpi_scope_enter_locked(clpi_hook_scope *scope, clpi_pool_hooks *hooks, clp_stream stream);
void clpi_scope_leave_locked(clpi_hook_scope *scope);

/* An event with the scope's pool, device and stream, and the rest 0. */
clp_hook_event clpi_scope_event(const clpi_hook_scope *scope);

/* Calls the hooks that the scope sees, in order of registration. Leaves the thread's last error as
 * it is. Under no lock. */
void clpi_scope_show(const clpi_hook_scope *scope, clpi_hook_point point,
                     const clp_hook_event *event);

/* A device_free: begin it before memory goes back to the device, end it with the resulting status.
 * The caller keeps the pool alive. Under no lock. */
typedef struct clpi_hooked_free {
  bool is_shown;
  clpi_hook_scope scope;
  clp_hook_event event;
} clpi_hooked_free;

void clpi_hooked_free_begin(clpi_hooked_free *pair, clpi_pool_hooks *hooks, clp_stream home,
                            clp_memory memory, size_t bytes);
void clpi_hooked_free_end(clpi_hooked_free *pair, clp_status status);

/* In place of the end, where a callback has ended the thread. */
void clpi_hooked_free_leave(clpi_hooked_free *pair);

/* Shows an operation that is not on a clp_pool, such as an allocation from the driver's own memory
 * pools, to the calling thread's hooks and then to `last`, unless that is NULL. Inside a hook's
 * callback it shows nothing. Under no lock. */
void clpi_thread_hooks_show(clpi_hook_point point, const clp_hook_event *event,
                            const clp_hook *last);

/* --- device_call.c ---
 *
 * Calls of the device that an allocator makes which keeps memory, such as an arena. They are shown
 * to the hooks of the pool whose call of the allocator the thread is inside of, and counted for it.
 */

/* A pool's call of its allocator. */
typedef struct clpi_device_call {
  clpi_pool_hooks *hooks;       /* of the pool */
  const clpi_hook_scope *scope; /* of the request; NULL: there is none, or no hook is shown it */
  bool has_allocated;           /* from the device */
  struct clpi_device_call *outer;
} clpi_device_call;

/* Begin and end it. The end is a cleanup handler, whose argument is a clpi_device_call. */
void clpi_device_call_begin(clpi_device_call *call, clpi_pool_hooks *hooks,
                            const clpi_hook_scope *scope);
void clpi_device_call_end(void *argument);

/* Around an allocation; `memory` is 0 before it, and if it failed. Under no lock. */
void clpi_device_show_allocation(clpi_hook_point point, size_t bytes, clp_memory memory);

/* Around a free (clpi_hooked_free). */
void clpi_device_free_begin(clpi_hooked_free *pair, clp_memory memory, size_t bytes);
void clpi_device_free_end(clpi_hooked_free *pair, clp_status status);

#endif
