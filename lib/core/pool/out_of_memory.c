/* SPDX-License-Identifier: MIT */
/* The out-of-memory ladder: a table of steps that free memory, some for a request over the pool's
 * limit, some for a device out of memory. After each step that has freed something, the request is
 * tried again; when a step has nothing more to free, the next one follows. The pool's own held
 * blocks are freed as in pyopencl.tools.MemoryPool. */
#include "core/pool/request.h"

#include "core/base/boundary.h"
#include "core/pool/leaving.h"

#include <stdio.h>
#include <sys/param.h>

typedef struct ladder {
  clpi_request *wanted;
  clp_status status;       /* of the last attempt */
  unsigned taken;          /* a bit for each step that was taken and is not again in this round */
  bool counted;            /* in the figure out_of_memory_reactions */
  unsigned idle_rounds;    /* of the callback, one after another, in which nothing was gained */
  int64_t gained;          /* bytes given back since it was asked last, less what it took */
  clpi_kept_error failure; /* of the last failed attempt; steps may set other errors */
} ladder;

static void note_failure(ladder *self)
{
  clp_pool *pool = self->wanted->pool;
  if (self->status)
    clpi_error_keep(&self->failure);
  if (self->status != CLP_OUT_OF_DEVICE_MEMORY || self->counted)
    return;
  self->counted = true;
  pthread_mutex_lock(&pool->shards.lock);
  pool->out_of_memory_reactions++;
  pthread_mutex_unlock(&pool->shards.lock);
}

/* --- steps --- */

/* Each returns whether it freed something. A block that the device refuses to take back ends its
 * step: it is held again, and the step would only take it again. */

/* What failed on the way to free something. */
static void fail(ladder *self, clp_status status)
{
  self->status = status;
  self->wanted->lack = status == CLP_OUT_OF_DEVICE_MEMORY ? CLPI_LACKS_MEMORY : CLPI_LACKS_NOTHING;
  note_failure(self);
}

static clp_buffer *take_largest_locked(clp_pool *pool)
{
  clp_buffer *block = clpi_take_largest_locked(&pool->shards);
  if (block)
    clpi_leave_locked(pool, block);
  return block;
}

/* Takes the largest held block, to give it back; if there is none, waits for a leaving one.
 * `*frees` is the number of device frees so far. */
static clp_buffer *take_largest(clp_pool *pool, bool *other_left, uint64_t *frees)
{
  clpi_shards *shards = &pool->shards;
  clpi_shards_lock_all(shards);
  clp_buffer *block = take_largest_locked(pool);
  *frees = shards->device_frees;
  clpi_shards_unlock_but_mutex(shards);
  *other_left = !block && clpi_wait_leaving_locked(pool);
  pthread_mutex_unlock(&shards->lock);
  return block;
}

/* The request's size, rounded to the alignment; a pool that holds nothing asks for no other. */
static size_t exact_bytes(const clpi_request *wanted)
{
  if (wanted->pool->shards.carving)
    return wanted->block_bytes;
  size_t bytes = clpi_aligned(wanted->bytes, wanted->pool->allocator->ops.alignment);
  return bytes < wanted->bytes ? wanted->bin->block_bytes : MIN(bytes, wanted->bin->block_bytes);
}

/* Whether the block alone is larger than the limit, so that it is useless to free anything. */
static bool is_hopeless(const clpi_request *wanted)
{
  size_t limit = clp_pool_get_limit(wanted->pool);
  return wanted->lack == CLPI_LACKS_LIMIT && limit && exact_bytes(wanted) > limit;
}

/* Frees the largest held block. A block that another thread freed since the last attempt also
 * counts. */
static bool free_own_held(ladder *self)
{
  clpi_request *wanted = self->wanted;
  if (is_hopeless(wanted))
    return false;
  bool is_limited = wanted->lack == CLPI_LACKS_LIMIT;
  bool other_left;
  uint64_t frees;
  clp_buffer *block = take_largest(wanted->pool, &other_left, &frees);
  if (!block)
    return other_left || frees != wanted->device_frees;
  int64_t bytes = (int64_t)block->bytes;
  clp_status status = clpi_return_block(wanted->pool, block);
  self->gained += status ? 0 : bytes;
  if (status && is_limited)
    fail(self, status);
  return !status;
}

/* If there is no memory for a block of the bin, asks for one of the requested size. */
static bool ask_for_less(ladder *self)
{
  clpi_request *wanted = self->wanted;
  size_t exact = exact_bytes(wanted);
  bool is_less = exact < wanted->block_bytes && !is_hopeless(wanted);
  if (is_less)
    wanted->block_bytes = exact;
  return is_less;
}

/* Takes the largest held block of the first other pool on the allocator that has one, and pins that
 * pool. NULL: none. */
static clp_buffer *take_from_other_pool(clp_pool *pool)
{
  clp_buffer *block = NULL;
  clpi_each_pool (pool->allocator, other) {
    if (other == pool || block)
      continue;
    clpi_shards_lock_all(&other->shards);
    block = take_largest_locked(other);
    other->pins += block != NULL;
    clpi_shards_unlock_all(&other->shards);
  }
  return block;
}

/* Waits for a leaving block of another pool to come to rest. False: there is none. */
static bool wait_for_other_pool(clp_pool *pool)
{
  bool other_left = false;
  clpi_each_pool (pool->allocator, other) {
    if (other == pool || other_left)
      continue;
    pthread_mutex_lock(&other->shards.lock);
    other_left = clpi_wait_leaving_locked(other);
    pthread_mutex_unlock(&other->shards.lock);
  }
  return other_left;
}

static bool free_other_held(ladder *self)
{
  clp_buffer *block = take_from_other_pool(self->wanted->pool);
  if (!block)
    return wait_for_other_pool(self->wanted->pool);
  clp_pool *other = block->pool;
  int64_t bytes = (int64_t)block->bytes;
  clp_status status = clpi_return_block(other, block);
  clpi_pool_unpin(other);
  self->gained += status ? 0 : bytes;
  return !status;
}

/* Memory whose frees are pending in an allocator that keeps memory counts toward the pool's limit,
 * so wait for them. */
CLPI_EXIT static bool drain_kept(ladder *self)
{
  clp_allocator *allocator = self->wanted->pool->allocator;
  return !allocator->ops.drain(allocator->self);
}

/* Waits for the streams of all pools on the allocator, and for its pending frees: memory may come
 * back once they are done. */
CLPI_EXIT static bool drain_pending(ladder *self)
{
  clp_allocator *allocator = self->wanted->pool->allocator;
  bool waited = false;
  clpi_each_pool (allocator, pool)
    waited = clpi_streams_drain(&pool->shards.streams) || waited;
  return !allocator->ops.drain(allocator->self) || waited;
}

static bool return_cached(ladder *self)
{
  return !clpi_call_return_cached(self->wanted->pool);
}

static bool is_asking(const clp_pool *pool)
{
  const clpi_asking *it = clpi_own_asking;
  while (it && it->pool != pool)
    it = it->outer;
  return it;
}

/* Also runs if the callback ends the thread, because destructors may then use the library. */
static void end_asking(void *argument)
{
  const clpi_asking *it = argument;
  clpi_own_asking = it->outer;
  if (it->outer)
    it->outer->bytes += it->bytes;
}

enum { MOST_IDLE_ROUNDS = 64 };

/* The callback may free memory of other libraries, in pieces, such as a staging buffer. So it may
 * take some rounds in which the thread gives no more back to clpool than it takes. */
CLPI_EXIT static bool ask_callback(ladder *self)
{
  clp_pool *pool = self->wanted->pool;
  const clp_pool_options *options = &pool->options;
  self->idle_rounds = self->gained > 0 ? 0 : self->idle_rounds;
  if (!options->on_out_of_memory || is_hopeless(self->wanted) || is_asking(pool) ||
      self->idle_rounds == MOST_IDLE_ROUNDS)
    return false;
  clpi_asking it = {.pool = pool, .outer = clpi_own_asking};
  bool freed;
  clpi_own_asking = &it;
  pthread_cleanup_push(end_asking, &it);
  freed = options->on_out_of_memory(pool, self->wanted->block_bytes, options->user_data);
  pthread_cleanup_pop(true);
  self->gained = it.bytes;
  self->idle_rounds += freed;
  return freed;
}

/* How often a step is taken: as long as it frees something; once in a round; or each success begins
 * a new round. */
typedef enum step_kind { REPEATED, ONCE, NEW_ROUND } step_kind;

enum { ANYTHING = CLPI_LACKS_LIMIT | CLPI_LACKS_ROOM | CLPI_LACKS_MEMORY };

static const struct {
  unsigned lacks; /* what it is for */
  bool (*free)(ladder *self);
  step_kind kind;
} steps[] = {
    {ANYTHING, free_own_held, REPEATED},
    {ANYTHING, ask_for_less, REPEATED},
    {CLPI_LACKS_ROOM | CLPI_LACKS_MEMORY, free_other_held, REPEATED},
    {CLPI_LACKS_ROOM, drain_kept, ONCE},
    {CLPI_LACKS_MEMORY, drain_pending, ONCE},
    {CLPI_LACKS_MEMORY, return_cached, ONCE},
    {ANYTHING, ask_callback, NEW_ROUND},
};

/* Takes step `i`, if it helps with what the request lacks. Returns whether it freed something. */
static bool take_step(ladder *self, size_t i)
{
  unsigned bit = 1u << i;
  if (!(steps[i].lacks & self->wanted->lack) || (self->taken & bit))
    return false;
  if (steps[i].kind == ONCE)
    self->taken |= bit;
  return steps[i].free(self);
}

/* --- going through the steps --- */

/* Takes a held block of the bin, which another thread or the callback may have released meanwhile.
 * If there is none, asks the device again. */
static void try_again(ladder *self)
{
  clpi_request *wanted = self->wanted;
  wanted->held = clpi_take_settled(wanted);
  wanted->lack = CLPI_LACKS_NOTHING;
  self->status = wanted->held ? CLP_SUCCESS : clpi_ask_device(wanted);
  note_failure(self);
}

/* What is wrong with the callback, for messages. */
static const char *complaint(const ladder *self)
{
  return self->idle_rounds < MOST_IDLE_ROUNDS
             ? ""
             : "; on_out_of_memory returned true 64 times, but no memory came back to clpool";
}

static clp_status report(const ladder *self)
{
  const clpi_request *wanted = self->wanted;
  clp_pool *pool = wanted->pool;
  clpi_shards *shards = &pool->shards;
  clpi_shards_lock_pool(shards);
  size_t managed = shards->managed_bytes, held = clpi_held_bytes_hint(shards);
  size_t limit = clpi_relaxed(pool->limit);
  clpi_shards_unlock_pool(shards);
  char limit_text[32] = "none";
  if (limit)
    snprintf(limit_text, sizeof(limit_text), "%zu bytes", limit);
  return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, self->failure.error.native_code,
                    "out of device memory%s%s: requested %zu bytes, rounded %zu bytes, managed %zu "
                    "bytes, held %zu bytes, limit %s (%s)%s",
                    pool->name ? " in pool" : "", clpi_pool_quote(pool).text, wanted->bytes,
                    clpi_rounded_bytes(pool, wanted->bytes), managed, held, limit_text,
                    self->failure.message, complaint(self));
}

/* If an attempt fails with another status than before, the steps for that status begin. */
clp_status clpi_free_and_retry(clpi_request *wanted)
{
  ladder self = {.wanted = wanted, .status = wanted->status};
  note_failure(&self);
  wanted->held = clpi_take_settled(wanted); /* which the look without locks may have missed */
  if (wanted->held)
    return CLP_SUCCESS;
  if (clpi_is_freeing(wanted->pool))
    return clpi_error(CLP_BUSY, 0,
                      "%s: its free function allocates from the pool that called it, and %zu bytes "
                      "are not available until it returns",
                      wanted->pool->allocator->name, wanted->bytes);
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]);) {
    clpi_lack lack = wanted->lack;
    bool freed = take_step(&self, i);
    bool is_new_round = freed && steps[i].kind == NEW_ROUND;
    if (is_new_round)
      self.taken = 0;
    if (freed)
      try_again(&self);
    i = is_new_round || wanted->lack != lack ? 0 : i + !freed;
  }
  if (self.status == CLP_OUT_OF_DEVICE_MEMORY)
    return report(&self);
  if (self.status == CLP_LIMIT_EXCEEDED)
    clpi_error(self.status, self.failure.error.native_code, "%s%s", self.failure.message,
               complaint(&self));
  return self.status;
}
