/* SPDX-License-Identifier: MIT */
/* Operations as hooks see them: the same hooks from the begin of one to its end.
 *
 * A malloc or a free is a scope, with one pair of callbacks around it; an alloc is a pair inside
 * the scope of its malloc; a device_free is a scope of its own, wherever it happens. Callbacks run
 * under no lock of the library. */
#ifndef CLPOOL_CORE_HOOKS_HOOK_CALL_H
#define CLPOOL_CORE_HOOKS_HOOK_CALL_H

#include "core/hooks/hook.h"

typedef struct clpi_hook_scope {
  clpi_pool_hooks *hooks;        /* of the pool */
  clp_stream stream;             /* that the event tells */
  uint64_t begins;               /* it sees what was registered for the pool up to this serial */
  struct clpi_hook_scope *outer; /* of the thread; NULL: none */
  clpi_list on_pool;             /* on clpi_pool_hooks.scopes */
} clpi_hook_scope;

/* Which callback: where it is in a clp_hook. */
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

/* Whether an operation of the calling thread on the pool is to be a scope: there is a hook that it
 * concerns, and it is not what a callback does. */
static inline bool clpi_hooks_concern(const clpi_pool_hooks *hooks)
{
  return clpi_is_watched() && !clpi_own_hooks.in_callback &&
         (atomic_load_explicit(&clpi_own_hooks.first, memory_order_relaxed) ||
          atomic_load_explicit(&hooks->first, memory_order_relaxed));
}

/* The begin and the end of an operation. The caller keeps the pool alive. */
void clpi_scope_enter_locked(clpi_hook_scope *scope, clpi_pool_hooks *hooks, clp_stream stream);
void clpi_scope_leave_locked(clpi_hook_scope *scope);

/* An event of the scope, with the rest still 0. */
clp_hook_event clpi_scope_event(const clpi_hook_scope *scope);

/* Calls the hooks that the scope sees, in order of registration. Leaves the thread's last error as
 * it is. Under no lock. */
void clpi_scope_show(const clpi_hook_scope *scope, clpi_hook_point point,
                     const clp_hook_event *event);

/* A device_free: begun before memory is given back to the device, ended with what came of that. The
 * caller keeps the pool alive. Under no lock. */
typedef struct clpi_hooked_free {
  bool is_shown;
  clpi_hook_scope scope;
  clp_hook_event event;
} clpi_hooked_free;

void clpi_hooked_free_begin(clpi_hooked_free *pair, clpi_pool_hooks *hooks, clp_stream home,
                            clp_memory memory, size_t bytes);
void clpi_hooked_free_end(clpi_hooked_free *pair, clp_status status);

/* Shows what no clp_pool does, such as a call for memory of the driver's own pools, to the hooks of
 * the calling thread, and to `last` after them; NULL: none. Not inside of a callback: then it shows
 * nothing. Under no lock. */
void clpi_thread_hooks_show(clpi_hook_point point, const clp_hook_event *event,
                            const clp_hook *last);

/* A callback of the user's that is no hook's, but during which the thread's hooks must not change.
 * What the first gives is for the second. */
bool clpi_hooks_fix(void);
void clpi_hooks_unfix(bool were_fixed);

#endif
