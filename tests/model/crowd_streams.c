/* SPDX-License-Identifier: MIT */
/* Blocks of a device whose streams run late. Work that uses a block writes to it and reads it; the
 * device finds what comes too early. A member orders its own streams among themselves. It leaves
 * the streams of others alone where the plan has forget_stream, because they may end. */
#include "crowd.h"

static clpt_late_device *late_of(crowd_member *self)
{
  return &self->crowd->late;
}

static clp_stream own_stream(crowd_member *self)
{
  return self->streams[clpt_chance_below(&self->chance, self->crowd->plan.streams)];
}

/* The stream that the block's user gives its work to. */
static clp_stream user_of(crowd_member *self, const crowd_block *block)
{
  return block->stream != NULL ? block->stream : late_of(self)->ops.home_stream;
}

clp_stream crowd_pick_stream(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;

  if (plan->backend != CROWD_LATE || (plan->has_home && clpt_chance_below(&self->chance, 4) == 0))
    return NULL;
  return own_stream(self);
}

void crowd_write_late(crowd_member *self, const crowd_block *block)
{
  clp_memory memory = clp_buffer_memory(block->buffer);
  clp_stream stream = user_of(self, block);

  clpt_late_write(late_of(self), stream, memory);
  if (clpt_chance_below(&self->chance, 2) == 0)
    clpt_late_read(late_of(self), stream, memory);
}

/* Another stream reads the block, or writes to it where the library makes it wait. */
void crowd_share_late(crowd_member *self, crowd_block *block)
{
  uint64_t way = clpt_chance_below(&self->chance, 8);
  clp_stream other = own_stream(self);

  if (block->bytes > 0 && way == 0) {
    clpt_late_order(late_of(self), user_of(self, block), other);
    clpt_late_read(late_of(self), other, clp_buffer_memory(block->buffer));
    (void)crowd_note(self->crowd, "record_use", clp_buffer_record_use(block->buffer, other));
  }
  if (block->bytes > 0 && way == 1 && block->stream != NULL) {
    (void)crowd_note(self->crowd, "bind", clp_buffer_bind(block->buffer, block->stream));
    (void)crowd_note(self->crowd, "bind", clp_buffer_bind(block->buffer, other));
    clpt_late_write(late_of(self), other, clp_buffer_memory(block->buffer));
    block->stream = NULL; /* it is released where it is bound */
  }
}

void crowd_send_late(crowd_member *self, crowd_block *block)
{
  if (!crowd_plan_has(&self->crowd->plan, CROWD_forget_stream))
    return;
  clpt_late_finish(late_of(self), user_of(self, block));
  block->stream = NULL;
}

void crowd_receive_late(crowd_member *self, crowd_block *block)
{
  clp_stream mine = own_stream(self);

  if (!crowd_plan_has(&self->crowd->plan, CROWD_forget_stream))
    clpt_late_order(late_of(self), user_of(self, block), mine);
  block->stream = mine;
  if (block->bytes > 0) {
    clpt_late_read(late_of(self), mine, clp_buffer_memory(block->buffer));
    clpt_late_write(late_of(self), mine, clp_buffer_memory(block->buffer));
  }
}

clp_status crowd_call_mark_stream(crowd_member *self, crowd_pool *pool)
{
  return clp_pool_mark_stream(pool->pool, own_stream(self));
}

/* Blocks that the stream was the last to use are released before, but its work goes on. */
clp_status crowd_call_forget_stream(crowd_member *self, crowd_pool *unused)
{
  crowd *all = self->crowd;
  clp_stream *place = &self->streams[clpt_chance_below(&self->chance, all->plan.streams)];

  (void)unused;
  for (size_t i = self->count; i-- > 0;)
    if (self->kept[i].stream == *place) {
      crowd_block block = self->kept[i];
      self->kept[i] = self->kept[--self->count];
      crowd_give(self, &block);
    }
  for (unsigned i = 0; i < all->plan.pools; i++)
    (void)crowd_note(all, "forget_stream", clp_pool_forget_stream(all->pools[i].pool, *place));
  if (crowd_is_wrong(all))
    return CLP_SUCCESS;
  clpt_late_stream_destroy(late_of(self), *place);
  *place = clpt_late_stream_new(late_of(self));
  return CLP_SUCCESS;
}
