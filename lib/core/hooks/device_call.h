/* SPDX-License-Identifier: MIT */
/* Calls of the device that an allocator makes which keeps memory, such as an arena. They are shown
 * to the hooks of the pool whose call of the allocator the thread is inside of, and counted for it.
 */
#ifndef CLPOOL_CORE_HOOKS_DEVICE_CALL_H
#define CLPOOL_CORE_HOOKS_DEVICE_CALL_H

#include "core/hooks/hook_call.h"

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
