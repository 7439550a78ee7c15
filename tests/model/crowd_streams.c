/* SPDX-License-Identifier: MIT */
/* Blocks of a device whose streams run late. Work that uses a block writes to it and reads it; the
 * device finds what comes too early. A member orders its own streams among themselves. It leaves
 * the streams of others alone where the plan has forget_stream, because they may end. */
#include "crowd.h"

static clpt_late_device *late_of(crowd_member *self)
{
  return &self->crowd->device.late;
}

static clp_stream home_of(crowd_member *self)
{
  return late_of(self)->ops.home_stream;
}

static clp_stream own_stream(crowd_member *self)
{
  return self->streams[clpt_chance_below(&self->chance, self->crowd->plan.streams)];
}

/* The stream that the block's user gives its work to. */
static clp_stream user_of(crowd_member *self, const crowd_block *block)
{
  return block->stream != NULL ? block->stream : home_of(self);
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

/* --- releases --- */

static clp_status release_plainly(crowd_member *self, const crowd_block *block)
{
  bool tries = self->crowd->plan.uses_try && clpt_chance_below(&self->chance, 4) > 0;

  if (block->stream == NULL)
    return tries && clp_buffer_try_release(block->buffer) ? CLP_SUCCESS
                                                          : clp_buffer_release(block->buffer);
  if (tries && clp_buffer_try_release_on(block->buffer, block->stream))
    return CLP_SUCCESS;
  return clp_buffer_release_on(block->buffer, block->stream);
}

/* Another stream reads the block, after the one that wrote to it. */
static void share(crowd_member *self, const crowd_block *block)
{
  clp_stream reader = own_stream(self);

  clpt_late_order(late_of(self), user_of(self, block), reader);
  clpt_late_read(late_of(self), reader, clp_buffer_memory(block->buffer));
  (void)crowd_note(self->crowd, "record_use", clp_buffer_record_use(block->buffer, reader));
}

/* The library makes the second stream wait for the first. */
static clp_status release_bound(crowd_member *self, const crowd_block *block)
{
  clp_stream next = own_stream(self);

  (void)crowd_note(self->crowd, "bind", clp_buffer_bind(block->buffer, block->stream));
  (void)crowd_note(self->crowd, "bind", clp_buffer_bind(block->buffer, next));
  clpt_late_write(late_of(self), next, clp_buffer_memory(block->buffer));
  return clp_buffer_release(block->buffer);
}

clp_status crowd_release_late(crowd_member *self, crowd_block *block)
{
  uint64_t way = clpt_chance_below(&self->chance, 8);

  if (block->bytes > 0 && way == 0)
    share(self, block);
  if (block->bytes > 0 && way == 1 && block->stream != NULL)
    return release_bound(self, block);
  return release_plainly(self, block);
}

/* --- from thread to thread --- */

void crowd_send_late(crowd_member *self, crowd_block *block)
{
  if (!crowd_plan_has(&self->crowd->plan, CROWD_FORGET_STREAM))
    return;
  clpt_late_finish(late_of(self), user_of(self, block));
  block->stream = NULL;
}

void crowd_receive_late(crowd_member *self, crowd_block *block)
{
  clp_stream mine = own_stream(self);

  if (!crowd_plan_has(&self->crowd->plan, CROWD_FORGET_STREAM))
    clpt_late_order(late_of(self), user_of(self, block), mine);
  block->stream = mine;
  if (block->bytes > 0) {
    clpt_late_read(late_of(self), mine, clp_buffer_memory(block->buffer));
    clpt_late_write(late_of(self), mine, clp_buffer_memory(block->buffer));
  }
}

/* --- marked and forgotten --- */

void crowd_mark_stream(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;
  unsigned pool = (unsigned)clpt_chance_below(&self->chance, plan->pools);

  if (self->has_reference[pool])
    (void)crowd_note(self->crowd, "mark_stream",
                     clp_pool_mark_stream(self->crowd->pools[pool].known, own_stream(self)));
}

/* Blocks that the stream was the last to use are released before, but its work goes on. */
void crowd_forget_stream(crowd_member *self)
{
  const crowd_plan *plan = &self->crowd->plan;
  size_t which = (size_t)clpt_chance_below(&self->chance, plan->streams);
  clp_stream stream = self->streams[which];

  for (size_t i = self->count; i-- > 0;)
    if (self->kept[i].stream == stream) {
      crowd_block block = self->kept[i];
      self->kept[i] = self->kept[--self->count];
      crowd_give(self, &block);
    }
  for (unsigned i = 0; i < plan->pools; i++)
    (void)crowd_note(self->crowd, "forget_stream",
                     clp_pool_forget_stream(self->crowd->pools[i].known, stream));
  if (crowd_is_wrong(self->crowd))
    return;
  clpt_late_stream_destroy(late_of(self), stream);
  self->streams[which] = clpt_late_stream_new(late_of(self));
}
