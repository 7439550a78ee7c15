/* SPDX-License-Identifier: MIT */
/* Threads' numbers: a bit for each, in one word. */
#include "core/shard/shard.h"

#include "core/base/thread_end.h"

#include <pthread.h>
#include <stdatomic.h>

_Thread_local clpi_thread clpi_self = {.number = CLPI_NO_SHARD, .warm_number = CLPI_NO_SHARD};

static _Atomic uint64_t taken;
static atomic_uint sharing; /* threads that found all numbers taken */

static void set_number(uint32_t number, bool is_own)
{
  clpi_self.number = (uint16_t)number;
  clpi_self.warm_number = clpi_self.is_hooked ? CLPI_NO_SHARD : (uint16_t)number;
  clpi_self.owns_number = is_own;
}

void clpi_thread_set_hooked(bool has_hooks)
{
  clpi_self.is_hooked = has_hooks;
  set_number(clpi_self.number, clpi_self.owns_number);
}

static void end_thread(void)
{
  if (clpi_self.owns_number)
    atomic_fetch_and(&taken, ~((uint64_t)1 << clpi_self.number));
  set_number(CLPI_NO_SHARD, false);
}

void clpi_thread_join(void)
{
  bool may_own = clpi_thread_end_watch();
  for (uint64_t before = atomic_load(&taken); may_own && ~before;) {
    uint32_t lowest = (uint32_t)__builtin_ctzll(~before);
    if (atomic_compare_exchange_weak(&taken, &before, before | (uint64_t)1 << lowest)) {
      set_number(lowest, true);
      return;
    }
  }
  set_number(atomic_fetch_add(&sharing, 1) % CLPI_SHARDS, false);
}

/* The child has one thread, and does not use the shards of its parent's pools any more. */
static void begin_child(void)
{
  atomic_store(&taken, 0);
  set_number(CLPI_NO_SHARD, false);
}

static void watch(void)
{
  (void)clpi_forks_watch();
  (void)pthread_atfork(NULL, NULL, begin_child);
  clpi_thread_end_add(end_thread);
}

void clpi_threads_watch(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
}
