/* SPDX-License-Identifier: MIT */
/* The pool on whose behalf a thread calls the device. */
#include "core/hooks/device_call.h"

static _Thread_local clpi_device_call *own_call __attribute__((tls_model("initial-exec")));

void clpi_device_call_begin(clpi_device_call *call, clpi_pool_hooks *hooks,
                            const clpi_hook_scope *scope)
{
  *call = (clpi_device_call){.hooks = hooks, .scope = scope, .outer = own_call};
  own_call = call;
}

void clpi_device_call_end(void *argument)
{
  const clpi_device_call *call = argument;
  own_call = call->outer;
}

static clpi_pool_hooks *own_hooks(void)
{
  return own_call ? own_call->hooks : NULL;
}

static void count(uint64_t *calls)
{
  pthread_mutex_lock(&own_hooks()->shards->lock);
  ++*calls;
  pthread_mutex_unlock(&own_hooks()->shards->lock);
}

void clpi_device_show_allocation(clpi_hook_point point, size_t bytes, clp_memory memory)
{
  if (!own_hooks())
    return;
  if (memory) {
    own_call->has_allocated = true;
    count(&own_hooks()->shards->segments_taken);
  }
  if (!own_call->scope)
    return;
  clp_hook_event event = clpi_scope_event(own_call->scope);
  event.mem_size = bytes;
  event.memory = memory;
  clpi_scope_show(own_call->scope, point, &event);
}

void clpi_device_free_begin(clpi_hooked_free *pair, clp_memory memory, size_t bytes)
{
  clpi_pool_hooks *hooks = own_hooks();
  pair->is_shown = false;
  if (hooks)
    clpi_hooked_free_begin(pair, hooks, hooks->shards->streams.home.handle, memory, bytes);
}

void clpi_device_free_end(clpi_hooked_free *pair, clp_status status)
{
  if (own_hooks() && !status)
    count(&own_hooks()->shards->segments_given_back);
  clpi_hooked_free_end(pair, status);
}
