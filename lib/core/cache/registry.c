/* SPDX-License-Identifier: MIT */
/* Threads' numbers, and which caches each has. The lock is taken last, for a few stores. */
#include "core/cache/registry.h"

#include "core/base/thread_end.h"

_Thread_local clpi_thread clpi_self = {.number = CLPI_NO_NUMBER, .warm_number = CLPI_NO_NUMBER};

enum { WORD_BITS = 64, WORDS = 1024 };

static struct {
  pthread_mutex_t lock; /* guards the rest, each clpi_thread.caches and each clpi_stock.visits; held
                           across a fork */
  pthread_cond_t visited;  /* a stock's visits became 0 */
  uint64_t numbers[WORDS]; /* one bit for each number of a living thread, and for 0, nobody's */
} registry = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .visited = PTHREAD_COND_INITIALIZER, .numbers = {1}};

/* --- threads --- */

static void set_number(uint32_t number)
{
  clpi_self.number = number;
  if (clpi_self.warm_number != CLPI_WATCHED)
    clpi_self.warm_number = number;
}

void clpi_thread_watch(bool is_watched)
{
  clpi_self.warm_number = is_watched ? CLPI_WATCHED : clpi_self.number;
}

/* The lowest number that no living thread has, so that tables stay short. CLPI_NO_NUMBER: all
 * are taken. */
static uint32_t take_number_locked(void)
{
  for (uint32_t i = 0; i < WORDS; i++) {
    uint64_t unused = ~registry.numbers[i];
    if (!unused)
      continue;
    uint32_t bit = (uint32_t)__builtin_ctzll(unused);
    registry.numbers[i] |= (uint64_t)1 << bit;
    return i * WORD_BITS + bit;
  }
  return CLPI_NO_NUMBER;
}

static void give_number_locked(size_t number)
{
  registry.numbers[number / WORD_BITS] &= ~((uint64_t)1 << (number % WORD_BITS));
}

bool clpi_thread_join(void)
{
  if (clpi_self.number != CLPI_NO_NUMBER)
    return true;
  if (!clpi_thread_end_watch())
    return false;
  pthread_mutex_lock(&registry.lock);
  set_number(take_number_locked());
  pthread_mutex_unlock(&registry.lock);
  clpi_list_init(&clpi_self.caches);
  return clpi_self.number != CLPI_NO_NUMBER;
}

void clpi_thread_add_cache(clpi_cache *cache)
{
  pthread_mutex_lock(&registry.lock);
  clpi_list_push_back(&clpi_self.caches, &cache->on_thread);
  pthread_mutex_unlock(&registry.lock);
}

clpi_cache *clpi_thread_begin_visit(void)
{
  clpi_cache *cache = NULL;
  pthread_mutex_lock(&registry.lock);
  bool has_number = clpi_self.number != CLPI_NO_NUMBER;
  if (has_number && clpi_list_is_empty(&clpi_self.caches)) {
    give_number_locked(clpi_self.number);
    set_number(CLPI_NO_NUMBER);
  } else if (has_number) {
    cache = clpi_list_entry(clpi_self.caches.next, clpi_cache, on_thread);
    clpi_list_remove(&cache->on_thread);
    clpi_list_init(&cache->on_thread);
    cache->stock->visits++;
  }
  pthread_mutex_unlock(&registry.lock);
  return cache;
}

void clpi_thread_end_visit(clpi_stock *stock)
{
  pthread_mutex_lock(&registry.lock);
  if (--stock->visits == 0)
    pthread_cond_broadcast(&registry.visited);
  pthread_mutex_unlock(&registry.lock);
}

/* --- forks --- */

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

/* The child's thread has no cache: so warm calls on the parent's pools find none, and take the slow
 * path, which refuses. The numbers of the parent's threads stay taken, for they have places in
 * these pools. The condition begins anew, for a broadcast may wait for the parent's waiters. */
static void unlock_in_child(void)
{
  pthread_cond_init(&registry.visited, NULL);
  set_number(CLPI_NO_NUMBER);
  unlock_registry();
}

/* If pthread_atfork runs out of host memory, the child of a fork may deadlock; nothing else depends
 * on it. */
void clpi_registry_set_up(void)
{
  (void)pthread_atfork(lock_registry, unlock_registry, unlock_in_child);
}

/* --- stocks --- */

void clpi_registry_leave(clpi_stock *stock)
{
  pthread_mutex_lock(&registry.lock);
  clpi_each_cache(stock, cache)
  {
    clpi_list_remove(&cache->on_thread);
    clpi_list_init(&cache->on_thread);
  }
  while (stock->visits)
    pthread_cond_wait(&registry.visited, &registry.lock);
  pthread_mutex_unlock(&registry.lock);
}
