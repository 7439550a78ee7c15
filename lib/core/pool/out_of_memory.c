/* SPDX-License-Identifier: MIT */
/* The out-of-memory ladder. Each step is taken only while the request still fails, and the request
 * is tried again after each thing that was freed. Semantics of the first step:
 * pyopencl.tools.MemoryPool. */
#include "core/pool/out_of_memory.h"

#include "core/base/boundary.h"
#include "core/base/error.h"
#include "core/cache/thread_cache.h"
#include "core/hooks/hook_call.h"
#include "core/pool/fitting.h"
#include "core/pool/limit.h"
#include "core/pool/reclaim.h"
#include "core/pool/reuse.h"

#include <stdio.h>

typedef struct miss {
  clp_pool *pool;
  clpi_bin *bin;
  size_t bytes; /* as asked for */
  const clpi_stream *stream;
  clpi_obtained *obtained;
  bool drained, returned; /* done in this round */
  int native_code; /* what the device said last, over which steps may write their own errors */
  char device_message[256];
} miss;

static clp_status call_device(const miss *wanted, clp_memory *memory)
{
  size_t block_bytes = wanted->bin->block_bytes;
  const clpi_hook_scope *scope = clpi_scope_of_malloc(wanted->pool);
  if (!scope)
    return clpi_allocate_fitting(wanted->pool, block_bytes, wanted->stream, memory);
  clp_hook_event event = clpi_scope_event(scope);
  event.mem_size = block_bytes;
  clpi_scope_show(scope, CLPI_ALLOC_PREPROCESS, &event);
  clp_status status = clpi_allocate_fitting(wanted->pool, block_bytes, wanted->stream, memory);
  event.memory = *memory;
  clpi_scope_show(scope, CLPI_ALLOC_POSTPROCESS, &event);
  return status;
}

/* Reserves room for the block and takes it from the device. */
static clp_status take_block(const miss *wanted, clp_memory *memory)
{
  clp_pool *pool = wanted->pool;
  size_t block_bytes = wanted->bin->block_bytes;
  clp_status status = clpi_reserve(pool, block_bytes);
  if (status)
    return status;
  status = call_device(wanted, memory);
  if (!status)
    return CLP_SUCCESS;
  pthread_mutex_lock(&pool->lock);
  clpi_unreserve_locked(pool, block_bytes);
  pthread_mutex_unlock(&pool->lock);
  return status;
}

static clp_status ask_device(miss *wanted)
{
  clp_status status = take_block(wanted, &wanted->obtained->memory);
  if (!status)
    return CLP_SUCCESS;
  const clp_error *error = clp_last_error();
  wanted->native_code = error->native_code;
  snprintf(wanted->device_message, sizeof(wanted->device_message), "%s", error->message);
  return status;
}

/* Another thread, or the callback, may have released a block of the bin meanwhile. */
static clp_status try_again(miss *wanted)
{
  clp_pool *pool = wanted->pool;
  pthread_mutex_lock(&pool->lock);
  clpi_caches_steal_locked(pool, wanted->bin);
  wanted->obtained->reused = clpi_order_take_settled_locked(pool, wanted->bin, wanted->stream);
  pthread_mutex_unlock(&pool->lock);
  return wanted->obtained->reused ? CLP_SUCCESS : ask_device(wanted);
}

/* The steps. Each frees something and says so, or has nothing more to free in this round. A block
 * that the device does not take back ends its step: it is held again, and would be next again. */

static bool free_own_held(miss *wanted)
{
  clp_pool *pool = wanted->pool;
  pthread_mutex_lock(&pool->lock);
  clp_buffer *block = clpi_take_largest_leaving_locked(pool);
  bool other_left = !block && clpi_wait_leaving_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  return block ? !clpi_return_block(pool, block) : other_left;
}

/* Takes the largest held block of the first other pool that has one, and pins that pool. */
static clp_buffer *take_from_other_pool(clp_pool *pool)
{
  clp_allocator *allocator = pool->allocator;
  clp_buffer *block = NULL;
  pthread_mutex_lock(&allocator->pools_lock);
  for (clpi_list *link = allocator->pools.next; !block && link != &allocator->pools;
       link = link->next) {
    clp_pool *other = clpi_list_entry(link, clp_pool, on_allocator);
    if (other == pool)
      continue;
    pthread_mutex_lock(&other->lock);
    if (!other->ended)
      block = clpi_take_largest_leaving_locked(other);
    if (block)
      other->pins++;
    pthread_mutex_unlock(&other->lock);
  }
  pthread_mutex_unlock(&allocator->pools_lock);
  return block;
}

/* Pins the pool after `last` on the allocator, or the first one for NULL, and unpins `last`. */
static clp_pool *next_pool(clp_allocator *allocator, clp_pool *last)
{
  clp_pool *next = NULL;
  pthread_mutex_lock(&allocator->pools_lock);
  clpi_list *link = last ? last->on_allocator.next : allocator->pools.next;
  for (; !next && link != &allocator->pools; link = link->next) {
    clp_pool *pool = clpi_list_entry(link, clp_pool, on_allocator);
    pthread_mutex_lock(&pool->lock);
    if (!pool->ended) {
      pool->pins++;
      next = pool;
    }
    pthread_mutex_unlock(&pool->lock);
  }
  pthread_mutex_unlock(&allocator->pools_lock);
  if (last) {
    pthread_mutex_lock(&last->lock);
    clpi_pool_unpin_and_unlock(last);
  }
  return next;
}

/* Waits until a block that one of the other pools is giving back has come to rest. */
static bool wait_for_other_pool(clp_pool *pool)
{
  bool other_left = false;
  for (clp_pool *other = next_pool(pool->allocator, NULL); other;
       other = next_pool(pool->allocator, other)) {
    if (other == pool || other_left)
      continue;
    pthread_mutex_lock(&other->lock);
    other_left = clpi_wait_leaving_locked(other);
    pthread_mutex_unlock(&other->lock);
  }
  return other_left;
}

static bool free_other_held(miss *wanted)
{
  clp_buffer *block = take_from_other_pool(wanted->pool);
  if (!block)
    return wait_for_other_pool(wanted->pool);
  clp_pool *other = block->pool;
  clp_status status = clpi_return_block(other, block);
  pthread_mutex_lock(&other->lock);
  clpi_pool_unpin_and_unlock(other);
  return !status;
}

/* Memory may come back once streams are done with what was released on them, whichever pool it is
 * of. */
CLPI_EXIT static bool drain_pending(miss *wanted)
{
  clp_allocator *allocator = wanted->pool->allocator;
  bool waited = false;
  if (wanted->drained)
    return false;
  wanted->drained = true;
  for (clp_pool *pool = next_pool(allocator, NULL); pool; pool = next_pool(allocator, pool))
    waited = clpi_order_drain(pool) || waited;
  return !allocator->ops.drain(allocator->self) || waited;
}

CLPI_EXIT static bool return_cached(miss *wanted)
{
  clp_allocator *allocator = wanted->pool->allocator;
  if (wanted->returned)
    return false;
  wanted->returned = true;
  return !allocator->ops.return_cached(allocator->self);
}

static bool (*const steps[])(miss *) = {free_own_held, free_other_held, drain_pending,
                                        return_cached};

static clp_status take_steps(miss *wanted)
{
  clp_status status = CLP_OUT_OF_DEVICE_MEMORY;
  wanted->drained = wanted->returned = false;
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
    while (status == CLP_OUT_OF_DEVICE_MEMORY && steps[i](wanted))
      status = try_again(wanted);
  return status;
}

CLPI_EXIT static bool ask_callback(const miss *wanted)
{
  const clp_pool_options *options = &wanted->pool->options;
  if (!options->on_out_of_memory)
    return false;
  bool were_fixed = clpi_hooks_fix();
  bool freed =
      options->on_out_of_memory(wanted->pool, wanted->bin->block_bytes, options->user_data);
  clpi_hooks_unfix(were_fixed);
  return freed;
}

static clp_status report(const miss *wanted)
{
  clp_pool *pool = wanted->pool;
  pthread_mutex_lock(&pool->lock);
  size_t managed = pool->figures.managed_bytes;
  size_t held = pool->store.held_bytes;
  size_t limit = pool->limit;
  pthread_mutex_unlock(&pool->lock);
  char limit_text[32] = "none";
  if (limit)
    snprintf(limit_text, sizeof(limit_text), "%zu bytes", limit);
  return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, wanted->native_code,
                    "out of device memory: requested %zu bytes, rounded %zu bytes, managed %zu "
                    "bytes, held %zu bytes, limit %s (%s)",
                    wanted->bytes, wanted->bin->block_bytes, managed, held, limit_text,
                    wanted->device_message);
}

static clp_status climb(miss *wanted)
{
  for (;;) {
    clp_status status = take_steps(wanted);
    if (status != CLP_OUT_OF_DEVICE_MEMORY)
      return status;
    if (!ask_callback(wanted))
      return report(wanted);
    status = try_again(wanted);
    if (status != CLP_OUT_OF_DEVICE_MEMORY)
      return status;
  }
}

clp_status clpi_obtain(clp_pool *pool, clpi_bin *bin, size_t bytes, const clpi_stream *stream,
                       clpi_obtained *obtained)
{
  miss wanted = {.pool = pool, .bin = bin, .bytes = bytes, .stream = stream, .obtained = obtained};
  *obtained = (clpi_obtained){0};
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clp_status status = ask_device(&wanted);
  if (status == CLP_OUT_OF_DEVICE_MEMORY) {
    pthread_mutex_lock(&pool->lock);
    pool->figures.out_of_memory_reactions++;
    pthread_mutex_unlock(&pool->lock);
    status = climb(&wanted);
  }
  if (!status)
    clpi_error_restore(&kept);
  return status;
}
