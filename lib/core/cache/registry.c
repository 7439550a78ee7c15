/* SPDX-License-Identifier: MIT */
/* The pools that live, and the end of threads. */
#include "core/cache/registry.h"

#include "core/cache/fence.h"
#include "core/cache/thread_cache.h"
#include "core/hooks/hook.h"

#include <string.h>

static struct {
  pthread_mutex_t lock; /* guards the rest; held across a fork, taken before a pool's lock */
  clpi_list pools;      /* of clp_pool.on_registry */
  uint64_t last_id;
  unsigned users[CLPI_LOOKUPS]; /* pools per lookup slot */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .pools = {&registry.pools, &registry.pools}};

static pthread_key_t thread_end;
static atomic_bool has_key;
static _Thread_local bool is_watched __attribute__((tls_model("initial-exec")));

/* Runs at the end of a thread that had a cache or a hook. Destructors of other keys may use pools
 * later: they find no cache, make a new one, and are watched again. */
static void end_thread(void *token)
{
  (void)token;
  clpi_thread_hooks_end();
  pthread_mutex_lock(&registry.lock);
  for (clpi_list *link = registry.pools.next; link != &registry.pools; link = link->next)
    clpi_cache_forget_thread(clpi_list_entry(link, clp_pool, on_registry));
  pthread_mutex_unlock(&registry.lock);
  memset(clpi_lookups, 0, sizeof(clpi_lookups));
  is_watched = false;
}

/* The child of a fork makes pools of its own, so it must not wait for a thread that it has not. */
static void before_fork(void)
{
  pthread_mutex_lock(&registry.lock);
}

static void in_parent(void)
{
  pthread_mutex_unlock(&registry.lock);
}

/* The locks of the parent's pools may belong to threads that are not there: a thread that does not
 * use pools any more must not take them at its end. */
static void in_child(void)
{
  pthread_mutex_unlock(&registry.lock);
  if (is_watched)
    pthread_setspecific(thread_end, NULL);
  is_watched = false;
}

static pthread_once_t is_set_up = PTHREAD_ONCE_INIT;

/* Before the lock is taken for the first time. */
static void set_up(void)
{
  has_key = pthread_atfork(before_fork, in_parent, in_child) == 0 &&
            pthread_key_create(&thread_end, end_thread) == 0;
}

/* The library may be closed: end_thread must not be called then. */
__attribute__((destructor)) static void delete_key(void)
{
  if (atomic_exchange(&has_key, false))
    pthread_key_delete(thread_end);
}

bool clpi_registry_watch_thread(void)
{
  if (is_watched)
    return true;
  pthread_once(&is_set_up, set_up);
  is_watched = has_key && pthread_setspecific(thread_end, clpi_lookups) == 0;
  return is_watched;
}

static unsigned least_used_lookup_locked(void)
{
  unsigned least = 0;
  for (unsigned i = 1; i < CLPI_LOOKUPS; i++)
    if (registry.users[i] < registry.users[least])
      least = i;
  return least;
}

void clpi_registry_add(clp_pool *pool)
{
  clpi_fence_init();
  pthread_once(&is_set_up, set_up);
  pthread_mutex_lock(&registry.lock);
  pool->id = ++registry.last_id;
  pool->lookup = least_used_lookup_locked();
  registry.users[pool->lookup]++;
  clpi_list_push_back(&registry.pools, &pool->on_registry);
  pthread_mutex_unlock(&registry.lock);
}

void clpi_registry_remove(clp_pool *pool)
{
  pthread_mutex_lock(&registry.lock);
  registry.users[pool->lookup]--;
  clpi_list_remove(&pool->on_registry);
  pthread_mutex_unlock(&registry.lock);
}
