/* SPDX-License-Identifier: MIT */
/* Blocks that leave, come to rest, or go back to the device. */
#include "core/pool/leaving.h"

#include "core/pool/request.h"

void clpi_leave_locked(clp_pool *pool, clp_buffer *block)
{
  clpi_set_state(block, CLPI_BUFFER_LEAVING);
  pool->leaving++;
  pool->leaving_bytes += block->bytes;
}

void clpi_come_to_rest_locked(clp_pool *pool, const clp_buffer *block)
{
  pool->leaving--;
  pool->leaving_bytes -= block->bytes;
  pthread_cond_broadcast(&pool->left);
}

clp_buffer *clpi_leave_each_locked(clp_pool *pool, clp_buffer *chain)
{
  for (clp_buffer *block = chain; block; block = block->older)
    clpi_leave_locked(pool, block);
  return chain;
}

/* A free that the thread is inside. Allocators that use other pools nest them. */
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

/* A hook's callback never waits: the leaving block may be its own thread's, or that of a thread
 * that waits for this one. An allocator's free must not wait for itself. */
bool clpi_wait_leaving_locked(clp_pool *pool)
{
  if (pool->leaving == 0 || clpi_own_hooks.in_callback || clpi_is_freeing(pool))
    return false;
  pthread_cond_wait(&pool->left, &pool->shards.lock);
  return true;
}

static void note_freed(const freeing *self)
{
  clpi_shards *shards = &self->pool->shards;
  clpi_shards_lock_pool(shards);
  shards->managed_bytes -= self->block->bytes;
  shards->device_frees++;
  clpi_come_to_rest_locked(self->pool, self->block);
  clpi_buffer_put_locked(shards, self->block);
  clpi_shards_unlock_pool(shards);
}

/* Puts a leaving block into a shard again, as the newest of its bin or at its age; an exact one
 * belongs to no bin. False: the block must be freed, because the pool has stopped holding. */
static bool hold(clp_pool *pool, clp_buffer *block, bool again)
{
  clpi_shards *shards = &pool->shards;
  uint32_t index = clpi_buffer_is_exact(block) ? 0 : block->bin->index;
  clpi_shard *shard = clpi_shards_lock(shards, index);
  bool is_held = clpi_is_holding(shards) || again;
  if (again)
    block->age = ++shard->tick;
  if (is_held) {
    clpi_lane_insert(clpi_slot_at(shard, index), block, &shards->streams.home);
    clpi_come_to_rest_locked(pool, block);
  }
  clpi_shards_unlock(shards, shard);
  return is_held;
}

/* A callback ends the thread: nobody else would bring the block to rest. */
static void end_thread(void *argument)
{
  freeing *self = argument;
  own_frees = self->outer;
  clpi_hooked_free_leave(&self->pair);
  if (self->status)
    (void)hold(self->pool, self->block, true);
  else
    note_freed(self);
}

/* Frees a block after all its uses. If the allocator carves it, no stream waits for that, unless
 * there are too many streams, or one was forgotten. */
static clp_status free_memory(clp_pool *pool, clp_buffer *block)
{
  clpi_streams *streams = &pool->shards.streams;
  clp_allocator *allocator = pool->allocator;
  clpi_uses all = clpi_uses_of(block);
  clpi_stream *pins[CLPI_MOST_FREE_STREAMS];
  clp_stream pending[CLPI_MOST_FREE_STREAMS];
  size_t count = 0;
  bool serves = allocator->carver_lock;
  pthread_mutex_lock(streams->lock);
  for (size_t i = 0; i < all.count && serves; i++) {
    if (clpi_use_is_settled_locked(&all.uses[i], NULL))
      continue;
    serves = count < CLPI_MOST_FREE_STREAMS && !all.uses[i].stream->is_forgotten;
    if (!serves)
      continue;
    pins[count] = all.uses[i].stream;
    pins[count]->pins++;
    pending[count] = pins[count]->handle;
    count++;
  }
  pthread_mutex_unlock(streams->lock);
  clp_status status = serves
                          ? allocator->carver->free_after(allocator->self, block->memory,
                                                          block->bytes, pending, count)
                          : clpi_ordered_free(streams, allocator, block->memory, block->bytes, all);
  if (serves && !status)
    clpi_note_given_back((int64_t)block->bytes);
  pthread_mutex_lock(streams->lock);
  while (count)
    clpi_stream_unpin_locked(streams, pins[--count]);
  pthread_mutex_unlock(streams->lock);
  return status;
}

clp_status clpi_return_block(clp_pool *pool, clp_buffer *block)
{
  clpi_streams *streams = &pool->shards.streams;
  size_t bytes = block->bytes;
  freeing self;
  self.pool = pool;
  self.block = block;
  self.status = CLP_BUSY;
  self.outer = own_frees;
  pthread_cleanup_push(end_thread, &self);
  self.pair.is_shown = false;
  if (!pool->allocator->ops.allocate_within) /* else the memory stays with the allocator */
    clpi_hooked_free_begin(&self.pair, &pool->hooks, streams->home.handle, block->memory, bytes);
  own_frees = &self;
  self.status = free_memory(pool, block);
  own_frees = self.outer;
  clpi_hooked_free_end(&self.pair, self.status);
  pthread_cleanup_pop(false);
  if (self.status)
    (void)hold(pool, block, true);
  else
    note_freed(&self);
  return self.status;
}

void clpi_put_back(clp_pool *pool, clp_buffer *block)
{
  if (!hold(pool, block, false))
    (void)clpi_return_block(pool, block); /* or it is freed when the pool ends */
}

/* A callback ends the thread: nobody else would bring the rest to rest. */
static void hold_rest(void *argument)
{
  for (clp_buffer *block = *(clp_buffer **)argument, *next; block; block = next) {
    next = block->older;
    (void)hold(block->pool, block, true);
  }
}

/* Asks the allocator whether all uses of a block are done. */
static bool is_done(clp_pool *pool, clp_buffer *block)
{
  CLPI_KEEPS_ERROR;
  return clpi_buffer_settle(block, &pool->shards.streams, NULL, CLPI_POLL);
}

static clp_status return_each(clp_pool *pool, clp_buffer **rest, bool if_done)
{
  clp_status failure = CLP_SUCCESS;
  for (clp_buffer *block; (block = *rest);) {
    *rest = block->older;
    if (if_done && !is_done(pool, block)) {
      clpi_put_back(pool, block);
      continue;
    }
    clp_status status = clpi_return_block(pool, block);
    failure = status ? status : failure;
  }
  return failure;
}

clp_status clpi_return_chain(clp_pool *pool, clp_buffer **rest, bool if_done)
{
  clp_status status;
  pthread_cleanup_push(hold_rest, rest);
  status = return_each(pool, rest, if_done);
  pthread_cleanup_pop(false);
  return status;
}
