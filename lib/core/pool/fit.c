/* SPDX-License-Identifier: MIT */
/* A block from an allocator that keeps memory, such as an arena: held blocks go back to it before
 * it grows. */
#include "core/pool/fit.h"

#include "core/cache/counts.h"
#include "core/pool/in_flight.h"
#include "core/pool/leaving.h"
#include "core/pool/reuse.h"

/* Gives a leaving block back. Where parts are exclusive, one that streams still use would not help,
 * and is held again. */
static void give_back(clp_pool *pool, clp_buffer *block)
{
  if (!pool->allocator->ops.exclusive_parts || clpi_is_done(pool, block)) {
    (void)clpi_return_block(pool, block);
    return;
  }
  pthread_mutex_lock(&pool->stock.lock);
  clpi_put_back_locked(pool, block);
  pthread_mutex_unlock(&pool->stock.lock);
}

/* All at once: of held blocks that lie side by side, those that went first would be cut up before
 * the others follow. `bytes` are wanted. */
static void give_back_held(clp_pool *pool, size_t bytes)
{
  pthread_mutex_lock(&pool->stock.lock);
  clp_buffer *block = clpi_take_all_locked(pool);
  pool->gave_back_tick = pool->stock.tick; /* taking all has moved it on */
  if (pool->allocator->ops.exclusive_parts)
    clpi_in_flight_note_locked(pool, bytes);
  pthread_mutex_unlock(&pool->stock.lock);
  for (clp_buffer *next; block; block = next) {
    next = block->older;
    give_back(pool, block);
  }
}

/* What could go back, less what bins may have rounded up. */
static size_t find_held_locked(const clp_pool *pool)
{
  const clpi_stock *stock = &pool->stock;
  size_t managed = clpi_managed_bytes_locked(stock), active = clpi_active_bytes_locked(stock);
  size_t others = active + (active >> stock->store.leading_bits) + pool->leaving_bytes;
  return managed > others ? managed - others : 0;
}

/* What should go back for a better place. Since all bins are looked at then, it is 0 until there
 * were releases for a fourth of them. Also where work need not be in one order: it might have to
 * wait for other work there. */
static size_t held_bytes(clp_pool *pool)
{
  enum { BINS_A_RELEASE = 4 };
  const clpi_stock *stock = &pool->stock;
  pthread_mutex_lock(&pool->stock.lock);
  uint64_t releases = clpi_tick_locked(stock) - pool->gave_back_tick;
  bool is_one_order = !stock->streams.count && stock->streams.home.is_in_order;
  bool is_due = is_one_order && releases * BINS_A_RELEASE >= stock->store.index_count;
  size_t held = is_due ? find_held_locked(pool) : 0;
  pthread_mutex_unlock(&pool->stock.lock);
  return held;
}

clp_status clpi_fit(clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  clp_memory_request request = {.bytes = wanted->bin->block_bytes,
                                .stream = wanted->stream->handle,
                                .reuse_flags = pool->options.reuse_flags,
                                .held_bytes = held_bytes(pool)};
  clp_status status = clpi_allocator_allocate_within(pool->allocator, &request, &wanted->memory);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  give_back_held(pool, request.bytes);
  if (pool->allocator->ops.exclusive_parts)
    clpi_in_flight_bound(pool, request.bytes);
  size_t limit = clp_pool_get_limit(pool);
  request.most_bytes = limit ? limit : SIZE_MAX;
  request.held_bytes = 0;
  return clpi_allocator_allocate_within(pool->allocator, &request, &wanted->memory);
}
