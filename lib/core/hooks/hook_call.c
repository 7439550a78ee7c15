/* SPDX-License-Identifier: MIT */
/* Showing operations to hooks. */
#include "core/hooks/hook.h"

#include <string.h>

/* --- scopes --- */

void clpi_scope_enter_locked(clpi_hook_scope *scope, clpi_pool_hooks *hooks, clp_stream stream)
{
  *scope = (clpi_hook_scope){.hooks = hooks,
                             .stream = stream,
                             .begins = clpi_hook_serial(),
                             .outer = clpi_own_hooks.scope};
  clpi_list_push_back(&hooks->scopes, &scope->on_pool);
  clpi_own_hooks.scope = scope;
}

void clpi_scope_leave_locked(clpi_hook_scope *scope)
{
  clpi_own_hooks.in_callback = false; /* where a callback has ended the thread */
  clpi_own_hooks.scope = scope->outer;
  clpi_list_remove(&scope->on_pool);
  pthread_cond_broadcast(&scope->hooks->scope_left);
}

void clpi_hooked_free_begin(clpi_hooked_free *pair, clpi_pool_hooks *hooks, clp_stream home,
                            clp_memory memory, size_t bytes)
{
  pair->is_shown = clpi_hooks_concern(hooks);
  if (!pair->is_shown)
    return;
  pthread_mutex_lock(&hooks->shards->lock);
  clpi_scope_enter_locked(&pair->scope, hooks, home);
  pthread_mutex_unlock(&hooks->shards->lock);
  pair->event = clpi_scope_event(&pair->scope);
  pair->event.mem_size = bytes;
  pair->event.memory = memory;
  clpi_scope_show(&pair->scope, CLPI_DEVICE_FREE_PREPROCESS, &pair->event);
}

void clpi_hooked_free_end(clpi_hooked_free *pair, clp_status status)
{
  if (!pair->is_shown)
    return;
  if (status)
    pair->event.memory = 0;
  clpi_scope_show(&pair->scope, CLPI_DEVICE_FREE_POSTPROCESS, &pair->event);
  clpi_hooked_free_leave(pair);
}

void clpi_hooked_free_leave(clpi_hooked_free *pair)
{
  if (!pair->is_shown)
    return;
  pthread_mutex_t *lock = &pair->scope.hooks->shards->lock;
  pthread_mutex_lock(lock);
  clpi_scope_leave_locked(&pair->scope);
  pthread_mutex_unlock(lock);
}

/* --- showing --- */

clp_hook_event clpi_scope_event(const clpi_hook_scope *scope)
{
  return (clp_hook_event){.pool = scope->hooks->shards->pool,
                          .device_id = scope->hooks->device_id,
                          .stream = scope->stream};
}

/* Errors inside the callback do not become the thread's last error. */
static void call_hook(const clp_hook *hook, clpi_hook_point point, const clp_hook_event *event)
{
  clp_hook_callback callback;
  memcpy(&callback, (const char *)hook + point, sizeof(callback));
  if (!callback)
    return;
  CLPI_KEEPS_ERROR;
  struct clpi_device_call *call = clpi_own_hooks.call;
  clpi_own_hooks.call = NULL; /* what the callback does is not the pool's */
  clpi_own_hooks.in_callback = true;
  callback(event, hook->user_data);
  clpi_own_hooks.in_callback = false;
  clpi_own_hooks.call = call;
}

/* Returns the first registration that the scope sees, from this one of its pool on. NULL: none. */
static const clpi_registration *find_seen(const clpi_hook_scope *scope,
                                          const clpi_registration *registration)
{
  while (registration &&
         atomic_load_explicit(&registration->ends, memory_order_relaxed) <= scope->begins)
    registration = clpi_registration_at(&registration->later);
  return registration && registration->begins <= scope->begins ? registration : NULL;
}

void clpi_scope_show(const clpi_hook_scope *scope, clpi_hook_point point,
                     const clp_hook_event *event)
{
  const clpi_registration *own = clpi_registration_at(&clpi_own_hooks.first);
  const clpi_registration *pools = find_seen(scope, clpi_registration_at(&scope->hooks->first));
  while (own || pools) {
    bool is_own = !pools || (own && own->begins < pools->begins);
    call_hook(is_own ? &own->hook : &pools->hook, point, event);
    if (is_own)
      own = clpi_registration_at(&own->later);
    else
      pools = find_seen(scope, clpi_registration_at(&pools->later));
  }
}

void clpi_thread_hooks_show(clpi_hook_point point, const clp_hook_event *event,
                            const clp_hook *last)
{
  if (clpi_own_hooks.in_callback)
    return;
  for (const clpi_registration *own = clpi_registration_at(&clpi_own_hooks.first); own;
       own = clpi_registration_at(&own->later))
    call_hook(&own->hook, point, event);
  if (last)
    call_hook(last, point, event);
}
