/* SPDX-License-Identifier: MIT */
/* Blocks of the crowd's members: allocated, filled, looked at, handed over and released. */
#include "crowd.h"

#include <stdlib.h>

static size_t draw_bytes(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;
  const clp_pool *pool = self->crowd->pools[0].pool;
  size_t most = plan->most_bytes, edge;

  if (plan->uses_zero && clpt_chance_below(&self->chance, 16) == 0)
    return 0;
  switch (plan->sizes) {
  case CROWD_ONE_SIZE:
    return most;
  case CROWD_FEW_SIZES:
    return most >> clpt_chance_below(&self->chance, 3);
  case CROWD_BIN_EDGES:
    edge = 1 + (size_t)clpt_chance_below(&self->chance, most);
    edge = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, edge));
    return edge + clpt_chance_below(&self->chance, 3) - (edge > 1);
  default:
    return 1 + (size_t)clpt_chance_below(&self->chance, most);
  }
}

/* Writes the pattern to some bytes of each stretch and to the last, or looks whether it is there.
 */
static bool go_over(const crowd_block *block, bool writes)
{
  unsigned char *bytes = (unsigned char *)clp_buffer_memory(block->buffer);
  size_t last = clp_buffer_capacity(block->buffer) - 1, next;

  for (size_t i = 0; i <= last; i = i < last && next > last ? last : next) {
    unsigned char value =
        (unsigned char)((block->pattern * UINT64_C(0x9e3779b97f4a7c15) >> 40) + i * 31);
    if (writes)
      bytes[i] = value;
    else if (bytes[i] != value)
      return false;
    next = i + (i < 64 ? 1 : i < 4096 ? 61 : 1021);
  }
  return true;
}

static void write_block(crowd_member *self, crowd_block *block)
{
  crowd *all = self->crowd;
  size_t capacity = clp_buffer_capacity(block->buffer);

  if (clp_buffer_size(block->buffer) != block->bytes || capacity < block->bytes ||
      (clp_buffer_memory(block->buffer) == 0) != (block->bytes == 0))
    crowd_wrong(all, "a buffer of %zu bytes says that it has %zu of %zu", block->bytes,
                clp_buffer_size(block->buffer), capacity);
  if (block->bytes == 0)
    return;
  block->pattern = (uint64_t)self->number << 48 | ++self->patterns;
  if (all->plan.backend == CROWD_HOST)
    (void)go_over(block, true);
  else if (all->plan.backend == CROWD_LATE)
    crowd_write_late(self, block);
}

static void raise_to(atomic_size_t *most, size_t value)
{
  size_t before = atomic_load_explicit(most, memory_order_relaxed);

  while (value > before && !atomic_compare_exchange_weak_explicit(
                               most, &before, value, memory_order_relaxed, memory_order_relaxed))
    ;
}

static void add(atomic_size_t *count, size_t bytes, atomic_size_t *peak)
{
  raise_to(peak, bytes + atomic_fetch_add_explicit(count, bytes, memory_order_relaxed));
}

/* After the pool has counted the block. */
static void count_taken(crowd_pool *pool, const crowd_block *block)
{
  add(&pool->least_active, block->bytes, &pool->least_peak_active);
  add(&pool->least_capacity, clp_buffer_capacity(block->buffer), &pool->least_peak_capacity);
  atomic_fetch_add_explicit(&pool->allocations, 1, memory_order_relaxed);
}

/* Before the pool does. */
static void count_given(crowd_pool *pool, const crowd_block *block)
{
  size_t capacity = clp_buffer_capacity(block->buffer);

  atomic_fetch_sub_explicit(&pool->least_active, block->bytes, memory_order_relaxed);
  atomic_fetch_sub_explicit(&pool->least_capacity, capacity, memory_order_relaxed);
}

static bool tries(crowd_member *self)
{
  return self->crowd->plan.uses_try && clpt_chance_below(&self->chance, 4) > 0;
}

static clp_status allocate(crowd_member *self, clp_pool *pool, crowd_block *block)
{
  clp_stream stream = block->stream;

  if (tries(self) &&
      (stream != NULL ? clp_pool_try_allocate_on(pool, block->bytes, stream, &block->buffer)
                      : clp_pool_try_allocate(pool, block->bytes, &block->buffer)))
    return CLP_SUCCESS;
  if (block->buffer != NULL)
    crowd_wrong(self->crowd, "try_allocate did not serve, and gave a buffer");
  return stream != NULL ? clp_pool_allocate_on(pool, block->bytes, stream, &block->buffer)
                        : clp_pool_allocate(pool, block->bytes, &block->buffer);
}

/* A limit and a full device may refuse where the plan has them. */
static bool may_refuse(const crowd_plan *plan, clp_status status)
{
  if (status == CLP_LIMIT_EXCEEDED)
    return plan->limit > 0 || crowd_plan_has(plan, CROWD_set_limit);
  return status == CLP_OUT_OF_DEVICE_MEMORY && plan->capacity > 0;
}

bool crowd_take(crowd_member *self, clp_pool *pool, int number)
{
  crowd_block block = {
      .pool = number, .bytes = draw_bytes(self), .stream = crowd_pick_stream(self)};
  clp_status status = allocate(self, pool, &block);

  if (may_refuse(&self->crowd->plan, status) || !crowd_note(self->crowd, "allocate", status))
    return false;
  if (number != CROWD_NO_POOL)
    count_taken(&self->crowd->pools[number], &block);
  write_block(self, &block);
  self->kept[self->count++] = block;
  return true;
}

static clp_status release(crowd_member *self, const crowd_block *block)
{
  clp_stream stream = block->stream;

  if (tries(self) && (stream != NULL ? clp_buffer_try_release_on(block->buffer, stream)
                                     : clp_buffer_try_release(block->buffer)))
    return CLP_SUCCESS;
  return stream != NULL ? clp_buffer_release_on(block->buffer, stream)
                        : clp_buffer_release(block->buffer);
}

void crowd_give(crowd_member *self, crowd_block *block)
{
  crowd *all = self->crowd;

  if (block->bytes > 0 && all->plan.backend == CROWD_HOST && !go_over(block, false))
    crowd_wrong(all, "a block of %zu bytes was overwritten", block->bytes);
  if (all->plan.backend == CROWD_LATE)
    crowd_share_late(self, block);
  if (block->pool != CROWD_NO_POOL)
    count_given(&all->pools[block->pool], block);
  (void)crowd_note(all, "release", release(self, block));
  block->buffer = NULL;
}

/* Takes a block by chance out of those that the member keeps. */
static crowd_block pull_out(crowd_member *self)
{
  size_t place = (size_t)clpt_chance_below(&self->chance, self->count);
  crowd_block block = self->kept[place];

  self->kept[place] = self->kept[--self->count];
  return block;
}

bool crowd_give_any(crowd_member *self)
{
  crowd_block block;

  if (self->count == 0)
    return false;
  block = pull_out(self);
  crowd_give(self, &block);
  return true;
}

void crowd_hand_over(crowd_member *self)
{
  crowd *all = self->crowd;
  size_t place = (size_t)clpt_chance_below(&self->chance, CROWD_MAILBOX);
  crowd_block *mine = malloc(sizeof(*mine)), *found;

  if (mine == NULL)
    abort();
  *mine = pull_out(self);
  if (all->plan.backend == CROWD_LATE)
    crowd_send_late(self, mine);
  found = atomic_exchange_explicit(&all->mailbox[place], mine, memory_order_acq_rel);
  if (found == NULL)
    return;
  if (all->plan.backend == CROWD_LATE)
    crowd_receive_late(self, found);
  crowd_give(self, found);
  free(found);
}
