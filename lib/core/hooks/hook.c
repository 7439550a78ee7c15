/* SPDX-License-Identifier: MIT */
/* Registering and unregistering hooks. */
#include "core/hooks/hook.h"

#include "core/base/options.h"
#include "core/base/thread_end.h"

#include <stdlib.h>
#include <string.h>

_Thread_local clpi_thread_hooks clpi_own_hooks;
atomic_uint clpi_watchers;
static _Atomic uint64_t last_serial;

/* A link of a chain of registrations: its head, or the `later` of one. */
typedef clpi_registration *_Atomic chain;

/* Relaxed, like the load below: serials of one pool are taken and compared under its lock. */
static uint64_t next_serial(void)
{
  return atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1;
}

uint64_t clpi_hook_serial(void)
{
  return atomic_load_explicit(&last_serial, memory_order_relaxed);
}

/* --- for threads and pools --- */

static clp_status refuse(const char *function, const char *why)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: %s", function, why);
}

/* Inside an operation, a thread must not change its own hooks, because the operation follows their
 * chain. Nor may it remove a pool's hook, because that would wait for this very operation. */
static clp_status check_may_change(const char *function)
{
  if (!clpi_own_hooks.scope && !clpi_own_hooks.in_callback && !clpi_own_asking)
    return CLP_SUCCESS;
  return clpi_error(CLP_BUSY, 0, "%s: not allowed in a callback of a hook or pool", function);
}

static clp_status make(const char *function, const clp_hook *hook, clpi_registration **out)
{
  if (!hook)
    return refuse(function, "hook is NULL");
  clp_hook known = CLP_HOOK_INIT;
  size_t least = offsetof(clp_hook, name) + sizeof(hook->name);
  clp_status status = clpi_options_read(&known, sizeof(known), hook, least, "clp_hook");
  if (status)
    return status;
  if (!known.name)
    return refuse(function, "the hook's name is NULL");
  clpi_registration *made = calloc(1, sizeof(*made));
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "%s: no host memory for a registration", function);
  made->hook = known;
  made->given = hook;
  *out = made;
  return CLP_SUCCESS;
}

static clp_status make_if_allowed(const char *function, const clp_hook *hook,
                                  clpi_registration **out)
{
  clp_status status = check_may_change(function);
  return status ? status : make(function, hook, out);
}

static void set_link(chain *link, clpi_registration *registration)
{
  /* Release: pairs with the acquire in clpi_registration_at. */
  atomic_store_explicit(link, registration, memory_order_release);
}

static bool has_ended(const clpi_registration *registration)
{
  return atomic_load_explicit(&registration->ends, memory_order_relaxed) != UINT64_MAX;
}

/* Appends a registration to a chain: the thread's own, or that of a locked pool. */
static clp_status append(const char *function, chain *link, clpi_registration *made)
{
  for (clpi_registration *other; (other = clpi_registration_at(link)); link = &other->later)
    if (!has_ended(other) && strcmp(other->hook.name, made->hook.name) == 0)
      return clpi_error(CLP_BUSY, 0, "%s: a hook named \"%s\" is already registered", function,
                        made->hook.name);
  made->begins = next_serial();
  atomic_init(&made->ends, UINT64_MAX);
  atomic_fetch_add_explicit(&clpi_watchers, 1, memory_order_relaxed);
  set_link(link, made);
  return CLP_SUCCESS;
}

static clpi_registration *find(const chain *first, const clp_hook *given)
{
  clpi_registration *registration = clpi_registration_at(first);
  while (registration && (registration->given != given || has_ended(registration)))
    registration = clpi_registration_at(&registration->later);
  return registration;
}

/* Takes a registration off its chain. Its own `later` stays, for threads that are just looking at
 * it. */
static void unlink_from(chain *link, const clpi_registration *registration)
{
  for (clpi_registration *other; (other = clpi_registration_at(link)) != registration;)
    link = &other->later;
  set_link(link, clpi_registration_at(&registration->later));
}

static void drop(clpi_registration *registration)
{
  free(registration);
  atomic_fetch_sub_explicit(&clpi_watchers, 1, memory_order_relaxed);
}

static void drop_all(chain *first)
{
  for (clpi_registration *registration; (registration = clpi_registration_at(first));) {
    set_link(first, clpi_registration_at(&registration->later));
    drop(registration);
  }
}

static clp_status not_found(const char *function, const char *of)
{
  return clpi_error(CLP_NOT_FOUND, 0, "%s: this hook is not registered for this %s", function, of);
}

/* --- threads --- */

static void end_thread(void)
{
  drop_all(&clpi_own_hooks.first);
  clpi_thread_set_hooked(false);
}

clp_status clp_hook_push(const clp_hook *hook)
{
  clpi_registration *made;
  clp_status status = make_if_allowed("clp_hook_push", hook, &made);
  if (status)
    return status;
  clpi_thread_end_add(end_thread);
  if (!clpi_thread_end_watch())
    status = clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "clp_hook_push: no host memory for a hook");
  if (!status)
    status = append("clp_hook_push", &clpi_own_hooks.first, made);
  if (status)
    free(made);
  else
    clpi_thread_set_hooked(true);
  return status;
}

clp_status clp_hook_pop(const clp_hook *hook)
{
  if (!hook)
    return refuse("clp_hook_pop", "hook is NULL");
  clp_status status = check_may_change("clp_hook_pop");
  if (status)
    return status;
  clpi_registration *registration = find(&clpi_own_hooks.first, hook);
  if (!registration)
    return not_found("clp_hook_pop", "thread");
  unlink_from(&clpi_own_hooks.first, registration);
  clpi_thread_set_hooked(clpi_registration_at(&clpi_own_hooks.first));
  drop(registration);
  return CLP_SUCCESS;
}

/* --- pools --- */

void clpi_pool_hooks_init(clpi_pool_hooks *hooks, clpi_shards *shards, int device_id)
{
  *hooks = (clpi_pool_hooks){.shards = shards, .device_id = device_id};
  clpi_list_init(&hooks->scopes);
  pthread_cond_init(&hooks->scope_left, NULL);
}

void clpi_pool_hooks_end(clpi_pool_hooks *hooks)
{
  drop_all(&hooks->first);
  pthread_cond_destroy(&hooks->scope_left);
}

/* Under the lock, or before another thread knows the pool. */
static clp_status append_to_pool(const char *function, clpi_pool_hooks *hooks,
                                 clpi_registration *made)
{
  clp_status status = append(function, &hooks->first, made);
  if (!status)
    clpi_shards_set_unusual_locked(hooks->shards, CLPI_IS_WATCHED, true);
  return status;
}

clp_status clpi_pool_hooks_add(clpi_pool_hooks *hooks, const clp_hook *hook)
{
  clpi_registration *made;
  clp_status status = make_if_allowed("clp_pool_add_hook", hook, &made);
  if (status)
    return status;
  pthread_mutex_lock(&hooks->shards->lock);
  status = append_to_pool("clp_pool_add_hook", hooks, made);
  pthread_mutex_unlock(&hooks->shards->lock);
  if (status)
    free(made);
  return status;
}

clp_status clpi_pool_hooks_begin(clpi_pool_hooks *hooks, const clp_hook *hook)
{
  clpi_registration *made = NULL;
  clp_status status = make("clp_pool_create", hook, &made);
  return status ? status : append_to_pool("clp_pool_create", hooks, made);
}

/* Waits until no thread is inside a scope that began before the serial. Releases the lock
 * meanwhile. */
static void wait_for_earlier_locked(clpi_pool_hooks *hooks, uint64_t serial)
{
  while (!clpi_list_is_empty(&hooks->scopes) &&
         clpi_list_entry(hooks->scopes.next, clpi_hook_scope, on_pool)->begins < serial)
    pthread_cond_wait(&hooks->scope_left, &hooks->shards->lock);
}

/* Waits twice: for the operations that see the hook, and after it is unlinked, for those that may
 * still pass its registration. */
static void end_registration_locked(clpi_pool_hooks *hooks, clpi_registration *registration)
{
  uint64_t ends = next_serial();
  atomic_store_explicit(&registration->ends, ends, memory_order_relaxed);
  wait_for_earlier_locked(hooks, ends);
  unlink_from(&hooks->first, registration);
  clpi_shards_set_unusual_locked(hooks->shards, CLPI_IS_WATCHED,
                                 clpi_registration_at(&hooks->first));
  wait_for_earlier_locked(hooks, next_serial());
}

clp_status clpi_pool_hooks_remove(clpi_pool_hooks *hooks, const clp_hook *hook)
{
  clp_status status = check_may_change("clp_pool_remove_hook");
  if (status)
    return status;
  pthread_mutex_lock(&hooks->shards->lock);
  clpi_registration *registration = find(&hooks->first, hook);
  if (registration)
    end_registration_locked(hooks, registration);
  pthread_mutex_unlock(&hooks->shards->lock);
  if (!registration)
    return not_found("clp_pool_remove_hook", "pool");
  drop(registration);
  return CLP_SUCCESS;
}
