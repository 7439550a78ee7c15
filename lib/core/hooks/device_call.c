/* SPDX-License-Identifier: MIT */
/* The pool on whose behalf a thread calls the device. */
#include "core/hooks/device_call.h"

static _Thread_local clpi_device_call *own_call __attribute__((tls_model("initial-exec")));

clpi_device_call *clpi_device_call_set(clpi_device_call *call)
{
  clpi_device_call *before = own_call;
  own_call = call;
  return before;
}

void clpi_device_show_allocation(clpi_hook_point point, size_t bytes, clp_memory memory)
{
  clpi_device_call *call = own_call;
  if (!call)
    return;
  call->allocations += memory != 0;
  if (!call->scope)
    return;
  clp_hook_event event = clpi_scope_event(call->scope);
  event.mem_size = bytes;
  event.memory = memory;
  clpi_scope_show(call->scope, point, &event);
}

void clpi_device_free_begin(clpi_hooked_free *pair, clp_memory memory, size_t bytes)
{
  pair->is_shown = false;
  if (own_call)
    clpi_hooked_free_begin(pair, own_call->hooks, own_call->home, memory, bytes);
}

void clpi_device_free_end(clpi_hooked_free *pair, clp_status status)
{
  if (own_call)
    own_call->frees += !status;
  clpi_hooked_free_end(pair, status);
}
