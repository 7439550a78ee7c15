/* SPDX-License-Identifier: MIT */
/* Blocks that leave, come to rest, or go back to the device. */
#include "core/pool/leaving.h"

#include "core/cache/counts.h"
#include "core/cache/gather.h"
#include "core/cache/transfer.h"
#include "core/hooks/hook_call.h"
#include "core/store/buffer_uses.h"

void clpi_leave_locked(clp_pool *pool, clp_buffer *block)
{
  clpi_set_state(block, CLPI_BUFFER_LEAVING);
  pool->leaving++;
  pool->leaving_bytes += block->bin->block_bytes;
}

void clpi_come_to_rest_locked(clp_pool *pool, const clp_buffer *block)
{
  pool->leaving--;
  pool->leaving_bytes -= block->bin->block_bytes;
  pthread_cond_broadcast(&pool->left);
}

static clp_buffer *take_locked(clp_pool *pool, clp_buffer *(*take)(clpi_block_store *store))
{
  clp_buffer *block = take(&pool->stock.store);
  if (block)
    clpi_leave_locked(pool, block);
  return block;
}

clp_buffer *clpi_take_largest_locked(clp_pool *pool)
{
  clpi_caches_empty_locked(&pool->stock);
  return take_locked(pool, clpi_store_take_largest);
}

clp_buffer *clpi_take_all_locked(clp_pool *pool)
{
  clp_buffer *all = clpi_caches_take_all_locked(&pool->stock);
  for (clp_buffer *block = all; block; block = block->older)
    clpi_leave_locked(pool, block);
  return all;
}

clp_buffer *clpi_take_largest_stored_locked(clp_pool *pool)
{
  return take_locked(pool, clpi_store_take_largest);
}

clp_buffer *clpi_take_oldest_stored_locked(clp_pool *pool)
{
  return take_locked(pool, clpi_store_take_oldest);
}

/* A free that the thread is inside of. Allocators on other pools nest them. */
typedef struct freeing {
  clp_pool *pool;
  clp_buffer *block;
  clp_status status; /* the allocator's; an error until it was asked */
  clpi_hooked_free pair;
  struct freeing *outer;
} freeing;

static _Thread_local freeing *own_frees __attribute__((tls_model("initial-exec")));

bool clpi_is_freeing(const clp_pool *pool)
{
  const freeing *it = own_frees;
  while (it && it->pool != pool)
    it = it->outer;
  return it;
}

/* A hook's callback never waits: the block that leaves may be its own thread's, or that of a thread
 * that waits for this one. Nor does an allocator's free: that is what it would wait for. */
bool clpi_wait_leaving_locked(clp_pool *pool)
{
  if (pool->leaving == 0 || clpi_own_hooks.in_callback || clpi_is_freeing(pool))
    return false;
  pthread_cond_wait(&pool->left, &pool->stock.lock);
  return true;
}

static void note_freed(const freeing *self)
{
  clpi_stock *stock = &self->pool->stock;
  pthread_mutex_lock(&stock->lock);
  clpi_count_device_free_locked(stock, self->block->bin->block_bytes);
  clpi_come_to_rest_locked(self->pool, self->block);
  clpi_buffer_put_locked(stock, self->block);
  pthread_mutex_unlock(&stock->lock);
}

/* A callback ends the thread: nobody else would bring the block to rest. */
static void end_thread(void *argument)
{
  freeing *self = argument;
  own_frees = self->outer;
  clpi_hooked_free_leave(&self->pair);
  if (self->status)
    clpi_hold_again(self->pool, self->block);
  else
    note_freed(self);
}

clp_status clpi_free_block(clp_pool *pool, clp_buffer *block)
{
  clpi_streams *streams = &pool->stock.streams;
  size_t bytes = block->bin->block_bytes;
  freeing self;
  self.pool = pool;
  self.block = block;
  self.status = CLP_BUSY;
  self.outer = own_frees;
  pthread_cleanup_push(end_thread, &self);
  clpi_hooked_free_begin(&self.pair, &pool->hooks, streams->home.handle, block->memory, bytes);
  own_frees = &self;
  self.status =
      clpi_ordered_free(streams, pool->allocator, block->memory, bytes, clpi_uses_of(block));
  own_frees = self.outer;
  clpi_hooked_free_end(&self.pair, self.status);
  pthread_cleanup_pop(false);
  if (!self.status)
    note_freed(&self);
  return self.status;
}

void clpi_hold_again(clp_pool *pool, clp_buffer *block)
{
  clpi_stock *stock = &pool->stock;
  pthread_mutex_lock(&stock->lock);
  clpi_stock_hold_locked(stock, block);
  clpi_come_to_rest_locked(pool, block);
  pthread_mutex_unlock(&stock->lock);
}

clp_status clpi_return_block(clp_pool *pool, clp_buffer *block)
{
  clp_status status = clpi_free_block(pool, block);
  if (status)
    clpi_hold_again(pool, block);
  return status;
}

void clpi_put_back_locked(clp_pool *pool, clp_buffer *block)
{
  if (pool->stock.holding) {
    clpi_store_put_back(&pool->stock.store, block);
    clpi_come_to_rest_locked(pool, block);
    return;
  }
  pthread_mutex_unlock(&pool->stock.lock);
  /* If the device refuses it, it is freed when the pool ends. */
  (void)clpi_return_block(pool, block);
  pthread_mutex_lock(&pool->stock.lock);
}
