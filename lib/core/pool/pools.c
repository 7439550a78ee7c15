/* SPDX-License-Identifier: MIT */
/* The list of all pools. */
#include "core/pool/pools.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clpi_list all = {&all, &all};

static void lock_list(void)
{
  pthread_mutex_lock(&lock);
}

static void unlock_list(void)
{
  pthread_mutex_unlock(&lock);
}

/* As in base/log.c. */
static void watch_forks(void)
{
  (void)pthread_atfork(lock_list, unlock_list, unlock_list);
}

void clpi_pools_add(clp_pool *pool)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  lock_list();
  clpi_list_push_back(&all, &pool->on_all);
  unlock_list();
}

void clpi_pools_remove(clp_pool *pool)
{
  lock_list();
  clpi_list_remove(&pool->on_all);
  unlock_list();
}

static bool pin(clp_pool *pool)
{
  if (clpi_pool_is_inherited(pool))
    return false;
  pthread_mutex_lock(&pool->shards.lock);
  bool is_pinned = !pool->ended;
  pool->pins += is_pinned;
  pthread_mutex_unlock(&pool->shards.lock);
  return is_pinned;
}

clp_pool *clpi_pools_next(clp_pool *last)
{
  clp_pool *next = NULL;
  lock_list();
  for (clpi_list *link = last ? last->on_all.next : all.next; !next && link != &all;
       link = link->next) {
    clp_pool *pool = clpi_list_entry(link, clp_pool, on_all);
    if (pin(pool))
      next = pool;
  }
  unlock_list();
  if (last)
    clpi_pool_unpin(last);
  return next;
}
