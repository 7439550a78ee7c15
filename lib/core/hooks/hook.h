/* SPDX-License-Identifier: MIT */
/* Registered hooks, of threads and of pools, and showing operations to them.
 *
 * Registrations and removals have serials from one sequence, and an operation sees the hooks as
 * they were when it began. A thread cannot change its own hooks during an operation. The hooks of a
 * pool can change: operations that began before still see the old ones, and a removal waits until
 * they have ended. */
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
  clpi_registration *_Atomic first; /* only the thread itself uses it */
  struct clpi_hook_scope *scope;    /* the innermost scope that the thread is in; NULL: none */
  struct clpi_device_call *call;    /* of its allocator, for a pool (device_call.c); NULL: none */
  bool in_callback;                 /* inside a hook's callback */
} clpi_thread_hooks;

/* The number of registered hooks. */
extern atomic_uint clpi_watchers __attribute__((visibility("hidden")));

/* Relaxed: a thread that learns of a registration from the thread that made it sees the count. */
#define clpi_is_watched() __builtin_expect(clpi_relaxed(clpi_watchers) != 0, 0)

/* The calling thread's hooks; small enough for the static TLS that dlopen keeps in reserve. */
extern _Thread_local clpi_thread_hooks clpi_own_hooks
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The hooks of a pool. Changed under its lock. */
typedef struct clpi_pool_hooks {
  clpi_shards *shards; /* the pool's, with the pool's lock; watched if there are hooks */
  int device_id;       /* for events */
  clpi_registration *_Atomic first; /* threads inside a scope follow the chain without the lock */
  clpi_list scopes;                 /* of clpi_hook_scope.on_pool, the oldest first */
  pthread_cond_t scope_left;
} clpi_pool_hooks;

/* Whether the calling thread is inside a callback. It must then not wait for other threads, because
 * they may be waiting for it. */
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

/* Adds the first hook of a pool that is being created; also allowed inside a callback.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_pool_hooks_begin(clpi_pool_hooks *hooks, const clp_hook *hook);

/* Frees the registrations of a pool that no thread can reach any more. */
void clpi_pool_hooks_end(clpi_pool_hooks *hooks);

/* Returns the latest serial. */
uint64_t clpi_hook_serial(void);

typedef struct clpi_first_hook {
  /* Gives the hook for a new pool, valid until `leave`; NULL if the variable is unset. The first
   * call in a process, or in the child of a fork, reads the variable and opens the file; if it
   * fails, the next call tries again. Under no lock. CLP_INVALID_ARGUMENT: the variable's value is
   * not a valid file name. CLP_IO_ERROR: the file cannot be opened. CLP_OUT_OF_HOST_MEMORY. The
   * messages name the variable. Later write errors are logged. */
  clp_status (*join)(const clp_hook **hook);

  /* Ends the use by a pool. In the child of a fork, the last pool that leaves a trace inherited
   * from the parent closes the child's copy of it. NULL is a no-op. Under no lock. */
  void (*leave)(const clp_hook *hook);
} clpi_first_hook;

extern const clpi_first_hook clpi_environment_trace __attribute__((visibility("hidden")));

/* --- operations as hooks see them: hook_call.c ---
 *
 * An operation sees the same hooks from its begin to its end. A malloc or a free is a scope, with
 * one pair of callbacks around it. An alloc is a pair inside the scope of its malloc. A device_free
 * is always a separate scope. Callbacks run under no lock of the library. */

typedef struct clpi_hook_scope {
  clpi_pool_hooks *hooks;        /* of the pool */
  clp_stream stream;             /* the stream in events */
  uint64_t begins;               /* it sees the pool's hooks as registered at this serial */
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

/* Whether hooks see an operation of the calling thread on the pool: either of them has a hook, and
 * the thread is not inside a hook's callback. */
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

/* Calls the hooks that the scope sees, in order of registration. Does not change the thread's last
 * error. Under no lock. */
void clpi_scope_show(const clpi_hook_scope *scope, clpi_hook_point point,
                     const clp_hook_event *event);

/* A device_free: begin it before memory goes back to the device, and end it with the status of
 * that. The caller keeps the pool alive. Under no lock. */
typedef struct clpi_hooked_free {
  bool is_shown;
  clpi_hook_scope scope;
  clp_hook_event event;
} clpi_hooked_free;

void clpi_hooked_free_begin(clpi_hooked_free *pair, clpi_pool_hooks *hooks, clp_stream home,
                            clp_memory memory, size_t bytes);
void clpi_hooked_free_end(clpi_hooked_free *pair, clp_status status);

/* Call this instead of clpi_hooked_free_end if a callback has ended the thread. */
void clpi_hooked_free_leave(clpi_hooked_free *pair);

/* Shows an operation that is not on a clp_pool, such as an allocation from the driver's memory
 * pools, to the calling thread's hooks, and then to `last` if it is not NULL. Inside a hook's
 * callback it does nothing. Under no lock. */
void clpi_thread_hooks_show(clpi_hook_point point, const clp_hook_event *event,
                            const clp_hook *last);

/* --- device_call.c ---
 *
 * Calls to the device by an allocator that keeps memory, such as an arena. If the thread is inside
 * a pool's call of the allocator, that pool's hooks see them, and its figures count them. */

/* A pool's call of its allocator. */
typedef struct clpi_device_call {
  clpi_pool_hooks *hooks;       /* of the pool */
  const clpi_hook_scope *scope; /* of the request; NULL: there is none, or no hook sees it */
  bool has_allocated;           /* from the device */
  struct clpi_device_call *outer;
} clpi_device_call;

/* Begin and end the call. The end is a cleanup handler, whose argument is a clpi_device_call. */
void clpi_device_call_begin(clpi_device_call *call, clpi_pool_hooks *hooks,
                            const clpi_hook_scope *scope);
void clpi_device_call_end(void *argument);

/* Call it before and after an allocation; `memory` is 0 before, and if it failed. Under no lock. */
void clpi_device_show_allocation(clpi_hook_point point, size_t bytes, clp_memory memory);

/* Call them before and after a free (clpi_hooked_free). */
void clpi_device_free_begin(clpi_hooked_free *pair, clp_memory memory, size_t bytes);
void clpi_device_free_end(clpi_hooked_free *pair, clp_status status);

#endif
