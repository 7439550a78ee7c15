/* SPDX-License-Identifier: MIT */
/* Memory from the device: reserving within the limit, allocating, ordering after the home
 * stream. */
#include "core/pool/request.h"

#include "core/shard/all.h"

static clp_status refuse(const clp_pool *pool, size_t bytes, size_t limit, size_t managed,
                         size_t held)
{
  if (!limit)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "the pool's total would exceed SIZE_MAX bytes");
  return clpi_error(CLP_LIMIT_EXCEEDED, 0,
                    "a block of %zu bytes would exceed the limit of %zu bytes: the pool%s manages "
                    "%zu bytes, of which it holds %zu",
                    bytes, limit, clpi_pool_quote(pool).text, managed, held);
}

/* Counts the block against the limit before the device is asked. */
static clp_status reserve(clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  clpi_shards *shards = &pool->shards;
  size_t bytes = wanted->block_bytes;
  clpi_shards_lock_pool(shards);
  size_t limit = clpi_relaxed(pool->limit);
  wanted->device_frees = shards->device_frees;
  bool fits = clpi_may_manage_locked(shards, limit, bytes);
  shards->reserved_bytes += fits ? bytes : 0;
  size_t managed = shards->managed_bytes, held = fits ? 0 : clpi_held_bytes_hint(shards);
  clpi_shards_unlock_pool(shards);
  return fits ? CLP_SUCCESS : refuse(pool, bytes, limit, managed, held);
}

static void unreserve(const clpi_request *wanted)
{
  clpi_shards *shards = &wanted->pool->shards;
  clpi_shards_lock_pool(shards);
  shards->reserved_bytes -= wanted->block_bytes;
  clpi_shards_unlock_pool(shards);
}

static clp_status call(clpi_request *wanted)
{
  clp_allocator *allocator = wanted->pool->allocator;
  return clpi_allocator_allocate(allocator, wanted->block_bytes, &wanted->memory);
}

/* An allocator that keeps memory itself shows the hooks its calls to the device. */
static clp_status call_keeper(clpi_request *wanted)
{
  clpi_device_call call;
  clp_status status;
  clpi_device_call_begin(&call, &wanted->pool->hooks, wanted->scope);
  pthread_cleanup_push(clpi_device_call_end, &call);
  status = clpi_fit(wanted);
  wanted->is_miss |= call.has_allocated;
  pthread_cleanup_pop(true);
  return status;
}

static clp_status call_shown(clpi_request *wanted)
{
  clp_hook_event event = clpi_scope_event(wanted->scope);
  event.mem_size = wanted->block_bytes;
  clpi_scope_show(wanted->scope, CLPI_ALLOC_PREPROCESS, &event);
  clp_status status = call(wanted);
  event.memory = wanted->memory;
  clpi_scope_show(wanted->scope, CLPI_ALLOC_POSTPROCESS, &event);
  return status;
}

static clpi_lack lack_of(clp_status status, clpi_lack limited)
{
  if (status == CLP_OUT_OF_DEVICE_MEMORY)
    return CLPI_LACKS_MEMORY;
  return status == CLP_LIMIT_EXCEEDED ? limited : CLPI_LACKS_NOTHING;
}

clp_status clpi_ask_device(clpi_request *wanted)
{
  clpi_lack limited = CLPI_LACKS_LIMIT;
  bool keeps = wanted->pool->allocator->ops.allocate_within;
  clp_status status = reserve(wanted);
  if (!status) {
    wanted->is_miss |= !keeps;
    status = keeps ? call_keeper(wanted) : wanted->scope ? call_shown(wanted) : call(wanted);
    if (!status)
      return CLP_SUCCESS;
    unreserve(wanted);
    limited = keeps ? CLPI_LACKS_ROOM : CLPI_LACKS_NOTHING;
  }
  wanted->status = status;
  wanted->lack = lack_of(status, limited);
  return status;
}

/* Frees new memory that cannot be handed out, after the home stream's work on it. The thread's last
 * error says why, and is kept. */
static void give_back(clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  clpi_use use = clpi_use_now(&pool->shards.streams.home);
  size_t bytes = wanted->block_bytes;
  CLPI_KEEPS_ERROR;
  clpi_hooked_free pair;
  clpi_hooked_free_begin(&pair, &pool->hooks, pool->shards.streams.home.handle, wanted->memory,
                         bytes);
  clp_status status = clpi_ordered_free(&pool->shards.streams, pool->allocator, wanted->memory,
                                        bytes, (clpi_uses){&use, 1});
  clpi_hooked_free_end(&pair, status);
  if (status)
    clpi_log(CLP_LOG_ERROR, "%s could not free a new block of %zu bytes: %s", pool->allocator->name,
             bytes, clp_last_error()->message);
  wanted->memory = 0;
  unreserve(wanted);
}

clp_status clpi_await_home(clpi_request *wanted)
{
  clpi_streams *streams = &wanted->pool->shards.streams;
  clpi_stream *home;
  clp_status status = clpi_stream_pin(streams, wanted->pool->allocator->ops.home_stream, &home);
  if (!status) {
    clpi_use use = clpi_use_now(home);
    status = clpi_use_order(streams, &use, wanted->stream);
    clpi_stream_unpin(streams, home);
  }
  if (status)
    give_back(wanted);
  return status;
}
