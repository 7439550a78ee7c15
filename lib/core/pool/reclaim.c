/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device: free_held, stop_holding, trim_to, trim_idle, hold_bytes.
 */
#include "core/pool/leaving.h"

#include "core/base/boundary.h"
#include "core/base/cancel.h"

#include <string.h>
#include <sys/param.h>
#include <time.h>

/* --- what the allocator keeps --- */

/* What it is to give back; idle: what was so for so long. */
typedef struct trim {
  size_t most, most_unused;
  bool is_idle;
  uint64_t milliseconds, now;
} trim;

CLPI_EXIT static clp_status call_allocator(clp_pool *pool, const trim *it)
{
  const clp_allocator *allocator = pool->allocator;
  const clpi_carver *carver = allocator->carver;
  clp_status status;
  clpi_device_call call;
  clpi_device_call_begin(&call, &pool->hooks, NULL);
  pthread_cleanup_push(clpi_device_call_end, &call);
  if (carver)
    status = it->is_idle ? carver->trim_idle(allocator->self, it->milliseconds, it->now)
                         : carver->trim(allocator->self, it->most, it->most_unused);
  else
    status = allocator->ops.return_cached(allocator->self);
  pthread_cleanup_pop(true);
  return status;
}

clp_status clpi_call_return_cached(clp_pool *pool)
{
  return call_allocator(pool, &(trim){.most_unused = SIZE_MAX});
}

/* For an allocator that keeps memory. A program's own allocator can only give back all of it, which
 * is too much for a partial trim. */
static clp_status trim_allocator(clp_pool *pool, const trim *it)
{
  const clp_allocator *allocator = pool->allocator;
  bool is_part = it->is_idle || it->most_unused != SIZE_MAX;
  if (!allocator->ops.allocate_within || (is_part && !allocator->carver))
    return CLP_SUCCESS;
  unsigned long serial = clpi_error_serial();
  clp_status status = call_allocator(pool, it);
  if (!status || status == CLP_NOT_SUPPORTED)
    return CLP_SUCCESS;
  return clpi_allocator_check_call(allocator, status, serial, "freeing its unused memory");
}

clp_status clpi_return_cached(clp_pool *pool, size_t most)
{
  return trim_allocator(pool, &(trim){.most = most, .most_unused = SIZE_MAX});
}

/* --- all that is held --- */

/* Frees every held block, and then what the allocator keeps. With `ends`, the pool also stops
 * holding. */
static clp_status free_all(clp_pool *pool, const char *function, bool ends)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, function);
  if (status)
    return status;
  clpi_shards *shards = &pool->shards;
  clpi_shards_lock_all(shards);
  if (ends)
    clpi_shards_set_unusual_locked(shards, CLPI_HAS_ENDED, true);
  clp_buffer *chain = clpi_leave_each_locked(pool, clpi_take_all_held_locked(&pool->shards));
  clpi_shards_unlock_all(shards);
  clp_status failure = clpi_return_chain(pool, &chain, false);
  status = clpi_return_cached(pool, 0);
  return failure ? failure : status;
}

clp_status clp_pool_free_held(clp_pool *pool)
{
  return free_all(pool, "clp_pool_free_held", false);
}

clp_status clp_pool_stop_holding(clp_pool *pool)
{
  return free_all(pool, "clp_pool_stop_holding", true);
}

/* --- the oldest that is held --- */

/* Bounds: the oldest blocks of at most this age are freed until the bytes are within them. */
typedef struct excess {
  size_t most_managed, most_held;
  uint64_t age;
} excess;

static clp_buffer *take_excess(clp_pool *pool, const excess *beyond)
{
  clpi_shards *shards = &pool->shards;
  clp_buffer *chain = NULL;
  clpi_shards_lock_all(shards);
  size_t managed = shards->managed_bytes, held = clpi_held_bytes_hint(shards);
  size_t bytes =
      MAX(managed - MIN(managed, beyond->most_managed), held - MIN(held, beyond->most_held));
  if (bytes)
    chain = clpi_take_oldest_locked(shards, bytes, beyond->age);
  (void)clpi_leave_each_locked(pool, chain);
  clpi_shards_unlock_all(shards);
  return chain;
}

static clp_status free_excess(clp_pool *pool, const excess *beyond)
{
  clp_status status = CLP_SUCCESS;
  for (clp_buffer *chain; !status && (chain = take_excess(pool, beyond));)
    status = clpi_return_chain(pool, &chain, false);
  return status;
}

clp_status clp_pool_trim_to(clp_pool *pool, size_t bytes)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_trim_to");
  if (!status)
    status = free_excess(pool, &(excess){bytes, SIZE_MAX, UINT64_MAX});
  return status ? status : clpi_return_cached(pool, bytes);
}

/* --- what is idle --- */

/* Notes this call, unless there was one shortly before. Returns the age of the newest block that
 * was held at a noted call at least `milliseconds` ago; 0: there was none. */
static uint64_t look(clp_pool *pool, uint64_t milliseconds, uint64_t *time)
{
  enum { MOST_LOOKS = sizeof(pool->idle.all) / sizeof(*pool->idle.all) };
  clpi_idle_looks *looks = &pool->idle;
  struct timespec clock;
  uint64_t age = 0, last = 0;
  clpi_shards_lock_all(&pool->shards);
  clock_gettime(CLOCK_MONOTONIC, &clock);
  uint64_t now = (uint64_t)clock.tv_sec * 1000 + (uint64_t)clock.tv_nsec / 1000000;
  for (size_t i = 0; i < looks->count; i++) {
    last = looks->all[i].milliseconds;
    if (now - last >= milliseconds)
      age = looks->all[i].tick;
  }
  if (!looks->count || now - last >= milliseconds / 8 + (milliseconds % 8 > 0)) {
    if (looks->count == MOST_LOOKS)
      memmove(&looks->all[0], &looks->all[1], --looks->count * sizeof(looks->all[0]));
    looks->all[looks->count].milliseconds = now;
    looks->all[looks->count++].tick = pool->shards.tick;
  }
  clpi_shards_unlock_all(&pool->shards);
  *time = now;
  return age;
}

clp_status clp_pool_trim_idle(clp_pool *pool, uint64_t milliseconds)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_trim_idle");
  if (status)
    return status;
  trim it = {.is_idle = true, .milliseconds = milliseconds};
  uint64_t age = look(pool, milliseconds, &it.now);
  if (age)
    status = free_excess(pool, &(excess){SIZE_MAX, 0, age});
  return status ? status : trim_allocator(pool, &it);
}

/* --- more than hold_bytes --- */

/* One round: blocks whose work is not done may be held again, and the next check finds them. */
void clpi_shed(clp_pool *pool)
{
  clpi_shards *shards = &pool->shards;
  const excess beyond = {SIZE_MAX, shards->hold_bytes, UINT64_MAX};
  if (beyond.most_held == SIZE_MAX || clpi_pool_is_inherited(pool))
    return;
  CLPI_UNCANCELLED;
  (void)atomic_fetch_and_explicit(&shards->unusual, ~CLPI_MAY_SHED, memory_order_relaxed);
  pthread_mutex_lock(&shards->lock);
  bool is_excess = clpi_held_bytes_hint(shards) > beyond.most_held;
  pthread_mutex_unlock(&shards->lock);
  CLPI_KEEPS_ERROR;
  clp_buffer *chain = is_excess ? take_excess(pool, &beyond) : NULL;
  clp_status status = clpi_return_chain(pool, &chain, !clpi_frees_are_ordered(pool->allocator));
  if (!status)
    status = trim_allocator(pool, &(trim){.most = SIZE_MAX, .most_unused = beyond.most_held});
  if (status)
    clpi_log(CLP_LOG_ERROR, "the pool%s holds more than its hold_bytes: %s",
             clpi_pool_quote(pool).text, clp_last_error()->message);
}
