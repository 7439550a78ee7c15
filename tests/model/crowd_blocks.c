/* SPDX-License-Identifier: MIT */
/* Blocks of the crowd's members: allocated, filled, looked at, handed over and released. */
#include "crowd.h"

#include <stdlib.h>
#include <string.h>

static _Thread_local crowd_member *acting;

void crowd_act_as(crowd_member *member)
{
  acting = member;
}

bool crowd_free_room(clp_pool *pool, size_t bytes, void *unused)
{
  (void)pool, (void)bytes, (void)unused;
  return acting != NULL && crowd_give_any(acting);
}

/* --- sizes and contents --- */

static size_t draw_bytes(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;
  size_t most = plan->most_bytes;

  if (plan->uses_zero && clpt_chance_below(&self->chance, 16) == 0)
    return 0;
  switch (plan->sizes) {
  case CROWD_ONE_SIZE:
    return most;
  case CROWD_FEW_SIZES:
    return most >> clpt_chance_below(&self->chance, 3);
  case CROWD_BIN_EDGES: {
    size_t edge = clp_pool_alloc_size(self->crowd->pools[0].known,
                                      clp_pool_bin_number(self->crowd->pools[0].known, most));
    return edge / 2 + clpt_chance_below(&self->chance, 2) * (edge / 2) +
           clpt_chance_below(&self->chance, 3) - 1;
  }
  default:
    return 1 + (size_t)clpt_chance_below(&self->chance, most);
  }
}

static unsigned char byte_at(uint64_t pattern, size_t offset)
{
  return (unsigned char)((pattern * UINT64_C(0x9e3779b97f4a7c15) >> 40) + offset * 31);
}

/* The bytes that are written and looked at: some of each stretch, and the last. */
static size_t next_offset(size_t offset, size_t capacity)
{
  size_t next = offset + (offset < 64 ? 1 : offset < 4096 ? 61 : 1021);

  return next < capacity || offset + 1 >= capacity ? next : capacity - 1;
}

static void fill(const crowd_block *block)
{
  unsigned char *bytes = (unsigned char *)clp_buffer_memory(block->buffer);
  size_t capacity = clp_buffer_capacity(block->buffer);

  for (size_t i = 0; i < capacity; i = next_offset(i, capacity))
    bytes[i] = byte_at(block->pattern, i);
}

static bool is_filled(const crowd_block *block)
{
  const unsigned char *bytes = (const unsigned char *)clp_buffer_memory(block->buffer);
  size_t capacity = clp_buffer_capacity(block->buffer);

  for (size_t i = 0; i < capacity; i = next_offset(i, capacity))
    if (bytes[i] != byte_at(block->pattern, i))
      return false;
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
  if (all->plan.checks_ranges) {
    const char *wrong =
        crowd_ranges_add_block(&all->ranges, clp_buffer_memory(block->buffer), capacity);
    if (wrong != NULL)
      crowd_wrong(all, "%s", wrong);
  }
  block->pattern = (uint64_t)self->number << 48 | ++self->patterns;
  if (all->plan.backend == CROWD_HOST)
    fill(block);
  else if (all->plan.backend == CROWD_LATE)
    crowd_write_late(self, block);
}

static void read_block(crowd_member *self, const crowd_block *block)
{
  crowd *all = self->crowd;

  if (block->bytes == 0)
    return;
  if (all->plan.backend == CROWD_HOST && !is_filled(block))
    crowd_wrong(all, "a block of %zu bytes was overwritten", block->bytes);
  if (all->plan.checks_ranges) {
    const char *wrong = crowd_ranges_remove_block(&all->ranges, clp_buffer_memory(block->buffer),
                                                  clp_buffer_capacity(block->buffer));
    if (wrong != NULL)
      crowd_wrong(all, "%s", wrong);
  }
}

/* --- counts --- */

static size_t add(atomic_size_t *count, size_t bytes)
{
  return bytes + atomic_fetch_add_explicit(count, bytes, memory_order_relaxed);
}

static void subtract(atomic_size_t *count, size_t bytes)
{
  atomic_fetch_sub_explicit(count, bytes, memory_order_relaxed);
}

/* After the pool has counted the block. */
static void count_taken(crowd_member *self, const crowd_block *block)
{
  size_t capacity = clp_buffer_capacity(block->buffer);

  crowd_raise(&self->crowd->most_in_use, add(&self->crowd->in_use, capacity));
  self->all_allocations++;
  if (block->pool == CROWD_NO_POOL)
    return;
  crowd_pool *pool = &self->crowd->pools[block->pool];
  crowd_raise(&pool->least_peak_active, add(&pool->least_active, block->bytes));
  crowd_raise(&pool->least_peak_capacity, add(&pool->least_capacity, capacity));
  self->allocations[block->pool]++;
}

/* Before the pool does. */
static void count_given(crowd_member *self, const crowd_block *block)
{
  size_t capacity = clp_buffer_capacity(block->buffer);

  subtract(&self->crowd->in_use, capacity);
  self->all_releases++;
  if (block->pool == CROWD_NO_POOL)
    return;
  crowd_pool *pool = &self->crowd->pools[block->pool];
  subtract(&pool->least_active, block->bytes);
  subtract(&pool->least_capacity, capacity);
  self->releases[block->pool]++;
}

/* --- blocks --- */

static clp_status allocate(crowd_member *self, clp_pool *pool, crowd_block *block)
{
  clp_stream stream = block->stream;
  bool tries = self->crowd->plan.uses_try && clpt_chance_below(&self->chance, 4) > 0;

  if (tries &&
      (stream != NULL ? clp_pool_try_allocate_on(pool, block->bytes, stream, &block->buffer)
                      : clp_pool_try_allocate(pool, block->bytes, &block->buffer)))
    return CLP_SUCCESS;
  if (tries && block->buffer != NULL)
    crowd_wrong(self->crowd, "try_allocate did not serve, and gave a buffer");
  return stream != NULL ? clp_pool_allocate_on(pool, block->bytes, stream, &block->buffer)
                        : clp_pool_allocate(pool, block->bytes, &block->buffer);
}

/* A limit and a full device may refuse where the plan has them. */
static bool may_refuse(const crowd *all, clp_status status)
{
  if (status == CLP_LIMIT_EXCEEDED)
    return all->plan.limit > 0 || crowd_plan_has(&all->plan, CROWD_SET_LIMIT);
  return status == CLP_OUT_OF_DEVICE_MEMORY && all->plan.capacity > 0;
}

static bool keep_new(crowd_member *self, clp_pool *pool, crowd_block block)
{
  clp_status status = allocate(self, pool, &block);

  if (may_refuse(self->crowd, status)) {
    if (block.pool != CROWD_NO_POOL)
      atomic_store_explicit(&self->crowd->pools[block.pool].had_refusals, true,
                            memory_order_relaxed);
    return false;
  }
  if (!crowd_note(self->crowd, "allocate", status))
    return false;
  count_taken(self, &block);
  write_block(self, &block);
  self->kept[self->count++] = block;
  return true;
}

bool crowd_take(crowd_member *self, unsigned number)
{
  crowd_pool *pool = &self->crowd->pools[number];
  crowd_block block = {.pool = (int)number, .bytes = draw_bytes(self)};

  block.stream = crowd_pick_stream(self);
  crowd_raise(&pool->most_peak_active, add(&pool->most_active, block.bytes));
  if (keep_new(self, pool->known, block))
    return true;
  subtract(&pool->most_active, block.bytes);
  return false;
}

bool crowd_take_from(crowd_member *self, clp_pool *pool)
{
  crowd_block block = {.pool = CROWD_NO_POOL, .bytes = draw_bytes(self)};

  block.stream = crowd_pick_stream(self);
  return keep_new(self, pool, block);
}

static clp_status release(crowd_member *self, crowd_block *block)
{
  if (self->crowd->plan.backend == CROWD_LATE)
    return crowd_release_late(self, block);
  if (self->crowd->plan.uses_try && clpt_chance_below(&self->chance, 4) > 0 &&
      clp_buffer_try_release(block->buffer))
    return CLP_SUCCESS;
  return clp_buffer_release(block->buffer);
}

void crowd_give(crowd_member *self, crowd_block *block)
{
  read_block(self, block);
  count_given(self, block);
  (void)crowd_note(self->crowd, "release", release(self, block));
  if (block->pool != CROWD_NO_POOL)
    subtract(&self->crowd->pools[block->pool].most_active, block->bytes);
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
