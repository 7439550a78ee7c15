/* SPDX-License-Identifier: MIT */
/* The list of all stocks: a thread that ends gives up its cache in each. */
#include "core/cache/registry.h"

#include "core/base/thread_end.h"
#include "core/cache/fence.h"
#include "core/cache/gather.h"
#include "core/cache/warm_path.h"

#include <string.h>

static struct {
  pthread_mutex_t lock; /* guards the rest; held across a fork, taken before a stock's lock */
  clpi_list stocks;     /* of clpi_stock.on_registry */
  uint64_t last_id;
  unsigned users[CLPI_LOOKUPS]; /* stocks for each lookup slot */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .stocks = {&registry.stocks, &registry.stocks}};

static void end_thread(void)
{
  pthread_mutex_lock(&registry.lock);
  clpi_list_each (clpi_stock, stock, &registry.stocks, on_registry)
    clpi_caches_end_thread(stock);
  pthread_mutex_unlock(&registry.lock);
  memset(clpi_lookups, 0, sizeof(clpi_lookups));
}

/* Held across a fork: the child may make pools, and must not find the lock held by a thread that it
 * does not have. */
static void lock_registry(void)
{
  pthread_mutex_lock(&registry.lock);
}

static void unlock_registry(void)
{
  pthread_mutex_unlock(&registry.lock);
}

/* The child's thread is no longer watched (base/thread_end.h): its next slow call finds that out.
 */
static void unlock_in_child(void)
{
  memset(clpi_lookups, 0, sizeof(clpi_lookups));
  unlock_registry();
}

/* If pthread_atfork runs out of host memory, the child of a fork may deadlock; nothing else depends
 * on it. */
static void set_up(void)
{
  (void)pthread_atfork(lock_registry, unlock_registry, unlock_in_child);
  clpi_thread_end_add(end_thread);
  clpi_fence_init();
}

static unsigned least_used_lookup_locked(void)
{
  unsigned least = 0;
  for (unsigned i = 1; i < CLPI_LOOKUPS; i++)
    if (registry.users[i] < registry.users[least])
      least = i;
  return least;
}

void clpi_registry_add(clpi_stock *stock)
{
  static pthread_once_t is_set_up = PTHREAD_ONCE_INIT;
  pthread_once(&is_set_up, set_up);
  pthread_mutex_lock(&registry.lock);
  stock->id = ++registry.last_id;
  stock->lookup = least_used_lookup_locked();
  registry.users[stock->lookup]++;
  clpi_list_push_back(&registry.stocks, &stock->on_registry);
  pthread_mutex_unlock(&registry.lock);
}

void clpi_registry_remove(clpi_stock *stock)
{
  pthread_mutex_lock(&registry.lock);
  registry.users[stock->lookup]--;
  clpi_list_remove(&stock->on_registry);
  pthread_mutex_unlock(&registry.lock);
}
