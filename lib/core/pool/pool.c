/* SPDX-License-Identifier: MIT */
/* The life of a pool. It ends once no user has a reference, no buffer is active and no operation is
 * running. */
#include "core/pool/pool.h"

#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/shard/all.h"

#include <clpool/bin.h>
#include <stdlib.h>
#include <string.h>

atomic_size_t clpi_named_pools;

/* --- all pools of the process --- */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static clpi_list all = {&all, &all}; /* that of a child still has the parent's pools */

static bool pin(clp_pool *pool, const clp_allocator *allocator)
{
  if (clpi_pool_is_inherited(pool) || (allocator && pool->allocator != allocator))
    return false;
  pthread_mutex_lock(&pool->shards.lock);
  bool is_pinned = !pool->ended;
  pool->pins += is_pinned;
  pthread_mutex_unlock(&pool->shards.lock);
  return is_pinned;
}

clp_pool *clpi_pools_next(const clp_allocator *allocator, clp_pool *last)
{
  pthread_mutex_lock(&all_lock);
  clpi_list *link = last ? last->on_all.next : all.next;
  while (link != &all && !pin(clpi_list_entry(link, clp_pool, on_all), allocator))
    link = link->next;
  pthread_mutex_unlock(&all_lock);
  if (last)
    clpi_pool_unpin(last);
  return link == &all ? NULL : clpi_list_entry(link, clp_pool, on_all);
}

/* --- making --- */

static clp_pool *make_pool(clp_allocator *allocator, const clp_pool_options *options, size_t limit)
{
  clp_pool *pool = aligned_alloc(alignof(clp_pool), sizeof(*pool));
  if (!pool)
    return NULL;
  memset(pool, 0, sizeof(*pool));
  pool->options = *options;
  pool->name = options->name ? strdup(options->name) : NULL;
  pool->limit = limit;
  pool->shards.hold_bytes = options->hold_bytes;
  pool->references = 1;
  if ((options->name && !pool->name) ||
      !clpi_shards_init(&pool->shards, pool, options->leading_bits_in_bin_id,
                        allocator->ops.max_block_bytes)) {
    free(pool->name);
    free(pool);
    return NULL;
  }
  clpi_named_pools += pool->name != NULL;
  clpi_pool_hooks_init(&pool->hooks, &pool->shards, allocator->ops.device_id);
  clpi_streams_init(&pool->shards.streams, allocator, &pool->shards.lock, &clpi_pool_owns_streams);
  pool->shards.carving = allocator->carver_lock;
  clpi_shards_set_unusual_locked(&pool->shards, CLPI_CARVES, allocator->carver_lock);
  pthread_cond_init(&pool->left, NULL);
  pool->allocator = clp_allocator_retain(allocator);
  clpi_forks_hold(&all_lock);
  pthread_mutex_lock(&all_lock);
  clpi_list_push_back(&all, &pool->on_all);
  pthread_mutex_unlock(&all_lock);
  return pool;
}

clp_status clp_pool_create(clp_allocator *allocator, const clp_pool_options *options,
                           clp_pool **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_create: out is NULL");
  *out = NULL;
  if (!allocator)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_create: allocator is NULL");
  clp_pool_options checked;
  clp_status status = clpi_pool_options_read(allocator, options, &checked);
  if (!status)
    status = clpi_allocator_check(allocator, "clp_pool_create");
  if (status)
    return status;
  size_t limit = 0;
  status = clpi_environment_bytes("CLPOOL_MEMORY_LIMIT", allocator->name,
                                  allocator->ops.device_bytes, &limit);
  clp_allocator *arena = NULL;
  if (!status && checked.arena)
    status = clpi_default_arena(allocator, NULL, &arena);
  if (status)
    return status;
  clp_pool *pool = make_pool(arena ? arena : allocator, &checked, limit);
  clp_allocator_release(arena);
  if (!pool)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a pool");
  status = clpi_environment_trace.join(&pool->first_hook);
  if (!status && pool->first_hook)
    status = clpi_pool_hooks_begin(&pool->hooks, pool->first_hook);
  if (status) {
    clp_pool_release(pool);
    return status;
  }
  if (allocator->ops.deferred)
    clpi_log(CLP_LOG_WARNING,
             "the pool%s is on the deferred allocator %s: if memory runs out, a kernel launch "
             "fails later, and the pool cannot free memory and retry",
             clpi_pool_quote(pool).text, allocator->name);
  *out = pool;
  return CLP_SUCCESS;
}

/* References to an inherited pool are counted without its lock, as those of an allocator. With the
 * last one nothing ends, except the child's copy of the trace of CLPOOL_TRACE. */
static void release_inherited(clp_pool *pool)
{
  if (__atomic_sub_fetch(&pool->references, 1, __ATOMIC_ACQ_REL) == 0)
    clpi_environment_trace.leave(pool->first_hook);
}

clp_pool *clp_pool_retain(clp_pool *pool)
{
  if (!pool)
    return NULL;
  if (clpi_pool_is_inherited(pool)) {
    __atomic_fetch_add(&pool->references, 1, __ATOMIC_RELAXED);
    return pool;
  }
  pthread_mutex_lock(&pool->shards.lock);
  bool is_used = pool->references > 0;
  pool->references += is_used;
  pthread_mutex_unlock(&pool->shards.lock);
  if (is_used)
    return pool;
  clpi_shards_lock_all(&pool->shards);
  if (pool->references++ == 0)
    pool->pins -= clpi_shards_sum_locked(&pool->shards).active_blocks;
  clpi_shards_unlock_all(&pool->shards);
  return pool;
}

/* While the program holds references, buffers do not pin the pool, so that the warm path need not
 * count them. When the last reference goes, all active buffers are counted as pins at once. */
void clp_pool_release(clp_pool *pool)
{
  CLPI_UNCANCELLED;
  if (!pool)
    return;
  if (clpi_pool_is_inherited(pool)) {
    release_inherited(pool);
    return;
  }
  clpi_shards *shards = &pool->shards;
  pthread_mutex_lock(&shards->lock);
  if (pool->references > 1) {
    pool->references--;
    pthread_mutex_unlock(&shards->lock);
    return;
  }
  pool->pins++;
  pthread_mutex_unlock(&shards->lock);
  CLPI_KEEPS_ERROR;
  clp_pool_stop_holding(pool); /* what the device refuses now is freed when the pool ends */
  clpi_shards_lock_all(shards);
  if (--pool->references == 0)
    pool->pins += clpi_shards_sum_locked(shards).active_blocks;
  clpi_shards_unlock_all(shards);
  clpi_pool_unpin(pool);
}

/* Frees the pool, which no other thread can reach any more. */
static void end_pool(clp_pool *pool)
{
  pthread_mutex_lock(&all_lock);
  clpi_list_remove(&pool->on_all);
  pthread_mutex_unlock(&all_lock);
  clpi_pool_hooks_end(&pool->hooks);
  clpi_environment_trace.leave(pool->first_hook);
  clpi_streams_end(&pool->shards.streams);
  clpi_shards_end(&pool->shards);
  pthread_cond_destroy(&pool->left);
  clp_allocator_release(pool->allocator);
  clpi_named_pools -= pool->name != NULL;
  free(pool->name);
  free(pool);
}

/* Tries again to free the blocks that the device refused before. The caller still has the last pin,
 * because hooks see these frees, and their callbacks may use the pool. Under no lock. */
static void free_rest(clp_pool *pool)
{
  CLPI_KEEPS_ERROR;
  clp_pool_free_held(pool);
  clpi_shards_lock_all(&pool->shards);
  clp_pool_stats left = clpi_shards_sum_locked(&pool->shards);
  clpi_shards_unlock_all(&pool->shards);
  if (left.held_blocks)
    clpi_log(CLP_LOG_ERROR,
             "%s could not free %zu blocks, %zu bytes in all, at the end of the pool%s: %s",
             pool->allocator->name, left.held_blocks, left.held_bytes, clpi_pool_quote(pool).text,
             clp_last_error()->message);
}

void clpi_pool_unpin_and_unlock(clp_pool *pool)
{
  if (pool->pins == 1 && pool->references == 0) {
    pthread_mutex_unlock(&pool->shards.lock);
    free_rest(pool);
    pthread_mutex_lock(&pool->shards.lock);
  }
  pool->ended = --pool->pins == 0 && pool->references == 0;
  bool ended = pool->ended;
  pthread_mutex_unlock(&pool->shards.lock);
  if (ended)
    end_pool(pool);
}

size_t clp_pool_bin_number(const clp_pool *pool, size_t size)
{
  return pool ? clp_bin_number(pool->options.leading_bits_in_bin_id, size) : 0;
}

size_t clp_pool_alloc_size(const clp_pool *pool, size_t bin)
{
  return pool ? clpi_bins_block_bytes(&pool->shards.bins, bin) : 0;
}

const char *clp_pool_name(const clp_pool *pool)
{
  return pool ? pool->name : NULL;
}

clp_allocator *clp_pool_allocator(const clp_pool *pool)
{
  return pool ? pool->allocator : NULL;
}

/* --- hooks --- */

static clp_status check_hook(const clp_pool *pool, const clp_hook *hook, const char *function)
{
  if (!pool || !hook)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: pool or hook is NULL", function);
  return clpi_pool_check(pool, function);
}

clp_status clp_pool_add_hook(clp_pool *pool, const clp_hook *hook)
{
  clp_status status = check_hook(pool, hook, "clp_pool_add_hook");
  return status ? status : clpi_pool_hooks_add(&pool->hooks, hook);
}

clp_status clp_pool_remove_hook(clp_pool *pool, const clp_hook *hook)
{
  CLPI_UNCANCELLED;
  clp_status status = check_hook(pool, hook, "clp_pool_remove_hook");
  return status ? status : clpi_pool_hooks_remove(&pool->hooks, hook);
}
