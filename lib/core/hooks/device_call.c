/* SPDX-License-Identifier: MIT */
/* The pool on whose behalf a thread calls the device. */
#include "core/hooks/hook.h"

void clpi_device_call_begin(clpi_device_call *call, clpi_pool_hooks *hooks,
                            const clpi_hook_scope *scope)
{
  *call = (clpi_device_call){.hooks = hooks, .scope = scope, .outer = clpi_own_hooks.call};
  clpi_own_hooks.call = call;
}

void clpi_device_call_end(void *argument)
{
  const clpi_device_call *call = argument;
  clpi_own_hooks.call = call->outer;
}

static void count(const clpi_device_call *call, uint64_t *calls)
{
  pthread_mutex_lock(&call->hooks->shards->lock);
  ++*calls;
  pthread_mutex_unlock(&call->hooks->shards->lock);
}

void clpi_device_show_allocation(clpi_hook_point point, size_t bytes, clp_memory memory)
{
  clpi_device_call *call = clpi_own_hooks.call;
  if (call && memory) {
    call->has_allocated = true;
    count(call, &call->hooks->shards->segments_taken);
  }
  if (!call || !call->scope)
    return;
  clp_hook_event event = clpi_scope_event(call->scope);
  event.mem_size = bytes;
  event.memory = memory;
  clpi_scope_show(call->scope, point, &event);
}

void clpi_device_free_begin(clpi_hooked_free *pair, clp_memory memory, size_t bytes)
{
  const clpi_device_call *call = clpi_own_hooks.call;
  pair->is_shown = false;
  if (call)
    clpi_hooked_free_begin(pair, call->hooks, call->hooks->shards->streams.home.handle, memory,
                           bytes);
}

void clpi_device_free_end(clpi_hooked_free *pair, clp_status status)
{
  const clpi_device_call *call = clpi_own_hooks.call;
  if (call && !status)
    count(call, &call->hooks->shards->segments_given_back);
  clpi_hooked_free_end(pair, status);
}
