/* SPDX-License-Identifier: MIT */
/* Allocating from a pool, and releasing: the warm path through the thread's cache, and the slow one
 * under the pool's lock. Both count in the same tallies. */
#include "core/buffer.h"

#include "core/bin.h"
#include "core/error.h"
#include "core/limit.h"
#include "core/out_of_memory.h"
#include "core/pool.h"
#include "core/reclaim.h"
#include "core/stats.h"
#include "core/thread_cache.h"

static clpi_buffer_state state_of(const clp_buffer *buffer)
{
  return atomic_load_explicit(&buffer->state, memory_order_relaxed);
}

static void set_state(clp_buffer *buffer, clpi_buffer_state state)
{
  atomic_store_explicit(&buffer->state, state, memory_order_relaxed);
}

/* --- the warm path: inside the cache, which makes its owner alone with it -----------------------
 */

static inline clpi_cache_slot *slot_at(const clpi_cache *cache, uint32_t index)
{
  return index < cache->slot_count ? &cache->slots[index] : NULL;
}

static inline unsigned count_of(const clpi_cache_slot *slot)
{
  return atomic_load_explicit(&slot->count, memory_order_relaxed);
}

static inline void set_count(clpi_cache_slot *slot, unsigned count)
{
  atomic_store_explicit(&slot->count, count, memory_order_relaxed);
}

/* Takes the newest block of a slot that has one; the figures are the caller's to count. */
static inline clp_buffer *pop(clpi_cache *cache, clpi_cache_slot *slot)
{
  unsigned count = count_of(slot) - 1;
  clp_buffer *block = slot->blocks[count];
  CLPI_STEP();
  set_count(slot, count);
  cache->cached_bytes -= slot->block_bytes;
  return block;
}

static inline void push(clpi_cache *cache, clpi_cache_slot *slot, clp_buffer *block)
{
  unsigned count = count_of(slot);
  set_state(block, CLPI_BUFFER_HELD);
  block->age = ++cache->tick;
  slot->blocks[count] = block;
  CLPI_STEP();
  set_count(slot, count + 1);
  cache->cached_bytes += slot->block_bytes;
}

static inline bool has_room(const clpi_cache *cache, const clpi_cache_slot *slot)
{
  return slot->block_bytes <= CLPI_CACHE_BYTES - cache->cached_bytes;
}

static inline bool is_full(const clpi_cache_slot *slot)
{
  return count_of(slot) >= slot->capacity;
}

/* NULL: the slow way. */
static inline clp_buffer *allocate_cached(clp_pool *pool, size_t bytes)
{
  clpi_cache *cache = clpi_cache_find(pool);
  if (!cache)
    return NULL;
  uint32_t index =
      clpi_store_index_at(&pool->store, clpi_bin_place_of(pool->store.leading_bits, bytes));
  if (!index || !clpi_cache_enter(cache))
    return NULL;
  clpi_cache_slot *slot = slot_at(cache, index);
  clp_buffer *block = slot && count_of(slot) ? pop(cache, slot) : NULL;
  if (block) {
    set_state(block, CLPI_BUFFER_ACTIVE);
    block->size = bytes;
    slot->tally.hits++;
    slot->tally.requested_bytes += bytes;
    cache->active_bytes += (ptrdiff_t)bytes;
    if (cache->active_bytes > cache->peak_active)
      cache->peak_active = cache->active_bytes;
  }
  clpi_cache_leave(cache);
  return block;
}

/* False: the slow way. */
static inline bool release_cached(clp_pool *pool, clp_buffer *buffer)
{
  clpi_cache *cache = clpi_cache_find(pool);
  if (!cache || !buffer->index || !clpi_cache_enter(cache))
    return false;
  clpi_cache_slot *slot = slot_at(cache, buffer->index);
  bool released = slot && state_of(buffer) == CLPI_BUFFER_ACTIVE && !is_full(slot) &&
                  has_room(cache, slot) && cache->until_sweep > 0;
  if (released) {
    cache->until_sweep--;
    slot->tally.releases++;
    slot->tally.requested_bytes -= buffer->size;
    cache->active_bytes -= (ptrdiff_t)buffer->size;
    push(cache, slot, buffer);
  }
  clpi_cache_leave(cache);
  return released;
}

/* --- the slow way: under the pool's lock ---------------------------------------------------------
 */

/* The thread's cache and its slot for the bin, or neither: then the bin itself counts. */
typedef struct place {
  clpi_cache *cache;
  clpi_cache_slot *slot;
  clpi_tally *tally;
} place;

static place find_place_locked(clp_pool *pool, clpi_bin *bin)
{
  if (!bin)
    return (place){.tally = &pool->empty};
  clpi_cache *cache = clpi_cache_of_thread_locked(pool);
  clpi_cache_slot *slot = cache ? clpi_cache_slot_locked(cache, bin) : NULL;
  return (place){cache, slot, slot ? &slot->tally : &bin->tally};
}

/* Makes a buffer the user's. Without a reference to the pool, each active buffer pins it. */
static void hand_out_locked(clp_pool *pool, clp_buffer *buffer, size_t bytes, uint64_t *count)
{
  ++*count;
  clpi_count_active_bytes_locked(pool, (ptrdiff_t)bytes, (ptrdiff_t)bytes);
  buffer->size = bytes;
  set_state(buffer, CLPI_BUFFER_ACTIVE);
  pool->pins += pool->references == 0;
}

static void hand_out_held_locked(clp_pool *pool, clp_buffer *block, size_t bytes, const place *at)
{
  at->tally->requested_bytes += bytes;
  hand_out_locked(pool, block, bytes, &at->tally->hits);
}

static void hand_out_new_locked(clp_pool *pool, clp_buffer *handle, clpi_bin *bin,
                                clp_memory memory, size_t bytes)
{
  clpi_unreserve_locked(pool, bin->block_bytes);
  clpi_count_device_allocation_locked(pool, bin->block_bytes);
  handle->bin = bin;
  handle->index = bin->index;
  handle->memory = memory;
  place at = find_place_locked(pool, bin);
  at.tally->requested_bytes += bytes;
  hand_out_locked(pool, handle, bytes, &at.tally->misses);
}

/* Looking into other threads' caches costs as much as some thousand warm pairs. A few looks are
 * free, so that what threads left lying is found; each further one is paid for by some blocks from
 * the device. So a consumer that releases what a producer allocates is not searched for each block,
 * nor do threads go on taking the same few blocks from each other. What is taken from the device
 * instead is at most what caches keep. */
static bool may_steal(const clp_pool *pool)
{
  enum { FREE_STEALS = 16, BLOCKS_A_STEAL = 8 };
  return pool->steals < FREE_STEALS + pool->figures.device_allocations / BLOCKS_A_STEAL;
}

/* A held block of the bin, wherever it is; NULL: there is none. */
static clp_buffer *take_held_locked(clp_pool *pool, clpi_bin *bin, const place *at)
{
  if (at->slot && count_of(at->slot))
    return pop(at->cache, at->slot);
  if (!bin->held_blocks && may_steal(pool))
    clpi_caches_steal_locked(pool, bin);
  if (at->slot)
    clpi_cache_refill_locked(pool, at->cache, at->slot, bin);
  return at->slot && count_of(at->slot) ? pop(at->cache, at->slot)
                                        : clpi_store_take(&pool->store, bin);
}

static clp_status no_host_memory(size_t bytes)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a buffer of %zu bytes", bytes);
}

/* A handle without a block serves: there is nothing to hold, so nothing is. */
static clp_status allocate_empty(clp_pool *pool, clp_buffer **out)
{
  pthread_mutex_lock(&pool->lock);
  clp_buffer *handle = clpi_handle_take_locked(pool, clpi_cache_of_thread_locked(pool));
  if (handle) {
    handle->bin = NULL;
    handle->index = 0;
    hand_out_locked(pool, handle, 0, &pool->empty.hits);
  }
  pthread_mutex_unlock(&pool->lock);
  *out = handle;
  return handle ? CLP_SUCCESS : no_host_memory(0);
}

/* `handle` is a spare one, and goes back if the block that is found has its own. */
static clp_status allocate_miss(clp_pool *pool, clpi_bin *bin, clp_buffer *handle, size_t bytes,
                                clp_buffer **out)
{
  clpi_obtained obtained;
  clp_status status = clpi_obtain(pool, bin, bytes, &obtained);
  pthread_mutex_lock(&pool->lock);
  if (!status && !obtained.reused) {
    hand_out_new_locked(pool, handle, bin, obtained.memory, bytes);
    *out = handle;
  } else {
    clpi_handle_put_locked(handle);
  }
  if (obtained.reused) {
    place at = find_place_locked(pool, bin);
    hand_out_held_locked(pool, obtained.reused, bytes, &at);
    *out = obtained.reused;
  }
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

static clp_status allocate_block(clp_pool *pool, size_t bytes, clp_buffer **out)
{
  size_t number = clpi_bin_number(pool->store.leading_bits, bytes);
  clp_buffer *block = NULL, *handle = NULL;
  pthread_mutex_lock(&pool->lock);
  clpi_bin *bin = clpi_store_use_bin(&pool->store, number);
  if (bin) {
    place at = find_place_locked(pool, bin);
    block = take_held_locked(pool, bin, &at);
    if (block) {
      hand_out_held_locked(pool, block, bytes, &at);
    } else {
      handle = clpi_handle_take_locked(pool, at.cache);
      pool->pins += handle != NULL; /* the miss keeps the pool */
    }
  }
  pthread_mutex_unlock(&pool->lock);
  *out = block;
  if (block)
    return CLP_SUCCESS;
  return handle ? allocate_miss(pool, bin, handle, bytes, out) : no_host_memory(bytes);
}

__attribute__((noinline)) static clp_status allocate_slow(clp_pool *pool, size_t bytes,
                                                          clp_buffer **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: out is NULL");
  *out = NULL;
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: pool is NULL");
  if (bytes > pool->store.max_block_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: %zu bytes are more than the device's largest block, %zu bytes",
                      pool->allocator->name, bytes, pool->store.max_block_bytes);
  return bytes ? allocate_block(pool, bytes, out) : allocate_empty(pool, out);
}

clp_status clp_pool_allocate(clp_pool *pool, size_t bytes, clp_buffer **out)
{
  clp_buffer *block = pool && out && bytes && bytes <= pool->store.max_block_bytes
                          ? allocate_cached(pool, bytes)
                          : NULL;
  if (!block)
    return allocate_slow(pool, bytes, out);
  *out = block;
  return CLP_SUCCESS;
}

static void hold_locked(clp_pool *pool, const place *at, clp_buffer *block)
{
  if (at->slot && has_room(at->cache, at->slot)) {
    if (is_full(at->slot) && !clpi_slot_grow(at->slot))
      clpi_cache_give_half_locked(pool, at->cache, at->slot, block->bin);
    push(at->cache, at->slot, block);
    return;
  }
  /* The newest comes first, so what the cache keeps of the bin must not stand before it. */
  if (at->slot)
    clpi_cache_give_all_locked(pool, at->cache, at->slot);
  block->age = ++pool->tick;
  clpi_store_put(&pool->store, block);
}

__attribute__((noinline)) static clp_status release_slow(clp_pool *pool, clp_buffer *buffer)
{
  clp_status status = CLP_SUCCESS;
  pthread_mutex_lock(&pool->lock);
  if (state_of(buffer) != CLPI_BUFFER_ACTIVE) {
    pthread_mutex_unlock(&pool->lock);
    return clpi_error(CLP_ALREADY_RELEASED, 0, "this buffer was released before");
  }
  pool->pins += pool->references != 0; /* else the buffer itself is a pin */
  place at = find_place_locked(pool, buffer->bin);
  at.tally->releases++;
  at.tally->requested_bytes -= buffer->size;
  clpi_count_active_bytes_locked(pool, (ptrdiff_t)-buffer->size, 0);
  if (at.cache && at.cache->until_sweep == 0)
    clpi_cache_sweep_locked(pool, at.cache);
  if (!buffer->memory) {
    clpi_handle_put_locked(buffer);
  } else if (pool->holding) {
    hold_locked(pool, &at, buffer);
  } else {
    clpi_leave_locked(pool, buffer);
    pthread_mutex_unlock(&pool->lock);
    status = clpi_return_block(pool, buffer);
    pthread_mutex_lock(&pool->lock);
  }
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

clp_status clp_buffer_release(clp_buffer *buffer)
{
  if (!buffer || release_cached(buffer->pool, buffer))
    return CLP_SUCCESS;
  return release_slow(buffer->pool, buffer);
}

clp_memory clp_buffer_memory(const clp_buffer *buffer)
{
  return buffer ? buffer->memory : 0;
}

size_t clp_buffer_size(const clp_buffer *buffer)
{
  return buffer ? buffer->size : 0;
}

size_t clp_buffer_capacity(const clp_buffer *buffer)
{
  return buffer && buffer->memory ? buffer->bin->block_bytes : 0;
}

clp_pool *clp_buffer_pool(const clp_buffer *buffer)
{
  return buffer ? buffer->pool : NULL;
}
