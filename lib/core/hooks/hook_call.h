/* SPDX-License-Identifier: MIT */
/* Operations as hooks see them. An operation sees the same hooks from its begin to its end.
 *
 * A malloc or a free is a scope, with one pair of callbacks around it; an alloc is a pair inside
 * the scope of its malloc; a device_free is a scope of its own, wherever it happens. Callbacks run
 * under no lock of the library. */
#ifndef CLPOOL_CORE_HOOKS_HOOK_CALL_H
#define CLPOOL_CORE_HOOKS_HOOK_CALL_H

#include "core/hooks/hook.h"

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
