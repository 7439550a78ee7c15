/* SPDX-License-Identifier: MIT */
/* The steps of the cases of stream order. */
#include "order_run.h"

#include "core/allocator/allocator.h"
#include "pools.h"

static bool applies(const clpt_order_run *run, const clpt_order_step *step)
{
  unsigned is = run->flags | CLPT_ALWAYS;
  is |= clpt_order_is_in_order(run, step->stream) ? CLPT_WHEN_IN_ORDER : 0;
  is |= clpt_order_real.allocate_uses_home && !run->is.on_arena ? CLPT_WHEN_HOME_USED : 0;
  return step->when & is;
}

/* --- streams and work --- */

void clpt_step_gate(clpt_order_run *run, const clpt_order_step *step)
{
  run->gates[step->stream] = run->backend->gate(run->is.streams[step->stream]);
}

void clpt_step_open(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_order_open_gate(run, (size_t)step->stream);
  run->backend->finish(run->is.streams[step->stream]);
}

void clpt_step_held_up(clpt_order_run *run, const clpt_order_step *step)
{
  clp_stream stream = run->is.streams[step->stream];
  if (applies(run, step))
    ck_assert(run->backend->is_held_up(stream));
  else if (run->backend->looks == 1)
    ck_assert(!run->backend->is_held_up(stream));
  else if (run->is.are_apart)
    run->backend->finish(stream); /* else it hangs */
}

void clpt_step_order(clpt_order_run *run, const clpt_order_step *step)
{
  run->backend->order(run->is.streams[step->other], run->is.streams[step->stream]);
}

void clpt_order_read(clpt_order_run *run, const clpt_order_slot *it, int stream)
{
  clpt_order_reading *new = &run->readings[run->reading_count];
  ck_assert_uint_lt(run->reading_count, CLPT_MOST_READS);
  new->expected = it->word;
  new->words = malloc(CLPT_ORDER_BYTES);
  ck_assert_ptr_nonnull(new->words);
  if (run->backend->read(run->is.streams[stream], it->buffer, new->words))
    run->reading_count++;
  else
    free(new->words);
}

void clpt_step_read(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_order_read(run, &run->slots[step->buffer], step->stream);
}

void clpt_step_use(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_order_slot *used = &run->slots[step->buffer];
  used->word = ++run->words * 0x01010101U;
  used->stream = step->stream;
  run->backend->write(run->is.streams[step->stream], used->buffer, used->word);
  clpt_order_read(run, used, step->stream);
}

/* --- buffers --- */

static clp_buffer *allocate(const clpt_order_run *run, const clpt_order_step *step)
{
  clp_buffer *buffer = NULL;
  if (step->unordered)
    return clpt_allocate(run->pool, CLPT_ORDER_BYTES);
  clpt_ok(
      clp_pool_allocate_on(run->pool, CLPT_ORDER_BYTES, run->is.streams[step->stream], &buffer));
  ck_assert_ptr_nonnull(buffer);
  return buffer;
}

static void keep(clpt_order_run *run, const clpt_order_step *step, clp_buffer *buffer)
{
  clpt_order_slot *taken = &run->slots[step->buffer];
  taken->buffer = buffer;
  taken->memory = clp_buffer_memory(buffer);
  clpt_step_use(run, step);
}

/* It is the block that is meant, or a new one, and the host has not waited for that. */
static void assert_as_expected(const clpt_order_run *run, const clpt_order_step *step,
                               const clp_buffer *buffer, uint64_t hits)
{
  bool expected = applies(run, step);
  bool is_known = run->backend->looks == 1 && clpt_order_is_in_order(run, step->stream);
  bool looks = run->flags & CLPT_WHEN_IT_LOOKS;
  ck_assert_int_eq(clp_buffer_memory(buffer) == run->slots[step->other].memory, expected);
  if (!run->is.on_arena) /* whose other segments may serve a new block */
    ck_assert_uint_eq(hits, expected);
  ck_assert_uint_eq(clpt_order_counted.host_waits, 0);
  if (expected && is_known)
    ck_assert_uint_eq(clpt_order_counted.stream_waits, step->count);
  else if (expected && !looks) /* it may have seen that some work is done */
    ck_assert_uint_ge(clpt_order_counted.stream_waits, step->count);
  else if (!expected && !clpt_order_real.allocate_uses_home)
    ck_assert_uint_eq(clpt_order_counted.stream_waits, 0);
}

void clpt_step_take(clpt_order_run *run, const clpt_order_step *step)
{
  uint64_t hits = clpt_stats(run->pool).hits;
  clpt_order_counted.stream_waits = clpt_order_counted.host_waits = 0;
  clp_buffer *buffer = allocate(run, step);
  if (step->when != CLPT_ANYHOW)
    assert_as_expected(run, step, buffer, clpt_stats(run->pool).hits - hits);
  keep(run, step, buffer);
}

/* The work of the block is done, and the driver takes a while to say so. */
void clpt_step_take_done(clpt_order_run *run, const clpt_order_step *step)
{
  clp_memory memory = run->slots[step->other].memory;
  unsigned looks = 0;
  clp_buffer *buffer;
  clpt_order_counted.stream_waits = clpt_order_counted.host_waits = 0;
  for (;;) {
    buffer = allocate(run, step);
    if (clp_buffer_memory(buffer) == memory || ++looks == run->backend->looks)
      break;
    run->spares[run->spare_count++] = buffer;
    for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
      if (run->gates[i] == NULL)
        run->backend->finish(run->is.streams[i]);
  }
  ck_assert_int_eq(clp_buffer_memory(buffer) == memory, applies(run, step));
  ck_assert_uint_eq(clpt_order_counted.host_waits, 0);
  if (run->backend->looks == 1 && run->flags & CLP_REUSE_OPPORTUNISTIC && applies(run, step))
    ck_assert_uint_eq(clpt_order_counted.stream_waits, 0);
  keep(run, step, buffer);
}

void clpt_step_release(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_order_slot *released = &run->slots[step->buffer];
  size_t active = clpt_stats(run->pool).active_blocks;
  clpt_ok(step->unordered ? clp_buffer_release(released->buffer)
                          : clp_buffer_release_on(released->buffer, run->is.streams[step->stream]));
  released->buffer = NULL;
  ck_assert_uint_eq(clpt_stats(run->pool).active_blocks, active - 1); /* done or not */
}

void clpt_step_record(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_ok(clp_buffer_record_use(run->slots[step->buffer].buffer, run->is.streams[step->stream]));
}

void clpt_step_bind(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_ok(clp_buffer_bind(run->slots[step->buffer].buffer, run->is.streams[step->stream]));
}

void clpt_step_unbind(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_order_counted.host_waits = 0;
  clpt_ok(clp_buffer_unbind(run->slots[step->buffer].buffer));
  ck_assert_uint_ge(clpt_order_counted.host_waits, 1);
}

/* --- the pool and the device --- */

void clpt_step_calm(clpt_order_run *run, const clpt_order_step *step)
{
  (void)run, (void)step;
  memset(&clpt_order_counted, 0, sizeof(clpt_order_counted));
}

/* Since calm. */
void clpt_step_quiet(clpt_order_run *run, const clpt_order_step *step)
{
  (void)run, (void)step;
  ck_assert_uint_eq(clpt_order_counted.calls, 0);
}

void clpt_order_end_pool(clpt_order_run *run)
{
  clpt_ok(clp_buffer_release(run->ballast));
  clp_pool_release(run->pool);
  run->ballast = NULL;
  run->pool = NULL;
}

/* In way number `count`; the last is the pool's end. */
void clpt_step_give_back(clpt_order_run *run, const clpt_order_step *step)
{
  bool never_waits =
      step->when == CLPT_WHEN_NEVER || clpt_order_real.free_on || clpt_order_real.free_is_ordered;
  clpt_order_counted.host_waits = 0;
  switch (step->count) {
  case 0:
    clpt_ok(clp_pool_free_held(run->pool));
    break;
  case 1:
    clpt_ok(clp_pool_trim_to(run->pool, 0));
    break;
  case 2:
    clpt_ok(clp_pool_stop_holding(run->pool));
    break;
  default:
    clpt_order_end_pool(run);
  }
  if (run->pool != NULL)
    ck_assert_uint_eq(clpt_stats(run->pool).held_blocks, 0);
  if (run->pool != NULL && !run->is.on_arena)
    ck_assert_uint_eq(clpt_stats(run->pool).managed_bytes, 0);
  if (never_waits)
    ck_assert_uint_eq(clpt_order_counted.host_waits, 0);
  else if (!run->is.on_arena)
    ck_assert_uint_ge(clpt_order_counted.host_waits, 1);
}

void clpt_step_refuse(clpt_order_run *run, const clpt_order_step *step)
{
  (void)run;
  clpt_order_counted.refusals = step->count;
}

void clpt_step_waited(clpt_order_run *run, const clpt_order_step *step)
{
  (void)step;
  ck_assert_uint_ge(clpt_order_counted.host_waits, 1);
  ck_assert_uint_eq(clpt_stats(run->pool).out_of_memory_reactions, 1);
}

void clpt_step_forget(clpt_order_run *run, const clpt_order_step *step)
{
  clp_stream *stream = &run->is.streams[step->stream];
  clpt_ok_quietly(clp_pool_forget_stream(run->pool, *stream));
  run->gates[CLPT_ORDER_STREAMS + run->gate_count++] = run->gates[step->stream];
  run->gates[step->stream] = NULL;
  *stream = run->backend->renew(*stream);
}

void clpt_step_drop(clpt_order_run *run, const clpt_order_step *step)
{
  run->backend->drop(run->is.streams[step->stream]);
}

/* --- another thread --- */

static void *visit(void *argument)
{
  clpt_order_visitor *self = argument;
  clp_buffer *buffer = allocate(self->run, self->step);
  self->run->slots[self->step->buffer].memory = clp_buffer_memory(buffer);
  clpt_ok(clp_buffer_release_on(buffer, self->run->is.streams[self->step->stream]));
  pthread_barrier_wait(&self->is_there);
  pthread_barrier_wait(&self->may_go);
  return NULL;
}

void clpt_order_end_visit(clpt_order_run *run)
{
  if (!run->is_visited)
    return;
  pthread_barrier_wait(&run->visitor.may_go);
  ck_assert_int_eq(pthread_join(run->visitor.thread, NULL), 0);
  pthread_barrier_destroy(&run->visitor.is_there);
  pthread_barrier_destroy(&run->visitor.may_go);
  run->is_visited = false;
}

/* It takes a buffer and releases it, and ends before the next step (`count` 0) or stays. */
void clpt_step_visit(clpt_order_run *run, const clpt_order_step *step)
{
  clpt_order_visitor *self = &run->visitor;
  self->run = run;
  self->step = step;
  ck_assert_int_eq(pthread_barrier_init(&self->is_there, NULL, 2), 0);
  ck_assert_int_eq(pthread_barrier_init(&self->may_go, NULL, 2), 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, visit, self), 0);
  run->is_visited = true;
  pthread_barrier_wait(&self->is_there);
  if (step->count == 0)
    clpt_order_end_visit(run);
}
