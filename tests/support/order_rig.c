/* SPDX-License-Identifier: MIT */
/* Runs the cases of stream order. What the pool asks of the allocator is counted on the way. */
#include "order_rig.h"

#include "core/allocator/allocator.h"
#include "pools.h"

#include <clpool/arena.h>
#include <pthread.h>

enum { MOST_GATES = 16, FLAGS = 4 };

typedef struct slot {
  clp_buffer *buffer; /* NULL: released */
  clp_memory memory;  /* of the last that was taken */
  int stream;         /* that used it last */
  uint32_t word;      /* that was written last */
} slot;

typedef struct reading {
  uint32_t *words, expected;
} reading;

typedef struct visitor {
  clpt_order_rig *rig;
  const clpt_order_step *step;
  pthread_barrier_t is_there, may_go;
  pthread_t thread;
} visitor;

struct clpt_order_rig {
  const clpt_order_backend *backend;
  const clpt_order_case *it;
  unsigned flags;
  clpt_order_setting is;
  clp_pool *pool;
  clp_buffer *ballast;     /* on an arena: its segment has room for all */
  void *gates[MOST_GATES]; /* of streams by their numbers, then of those that were forgotten */
  size_t gate_count;
  slot slots[CLPT_ORDER_BUFFERS];
  clp_buffer *spares[CLPT_MOST_LOOKS];
  size_t spare_count;
  reading readings[CLPT_MOST_READS];
  size_t reading_count;
  uint32_t words; /* so many different ones were written */
  visitor visitor;
  bool is_visited;
};

/* --- the allocator's operations, counted --- */

static clp_allocator_ops real;
static clpt_order_rig current;
static struct {
  unsigned calls, stream_waits, host_waits, refusals;
} counts;

static void open_gate(clpt_order_rig *rig, size_t number)
{
  if (rig->gates[number] != NULL)
    rig->backend->go(rig->gates[number]);
  rig->gates[number] = NULL;
}

static void open_all_gates(clpt_order_rig *rig)
{
  for (size_t i = 0; i < MOST_GATES; i++)
    open_gate(rig, i);
}

/* What the host waits for now could not go on by itself. */
static void host_waits(void)
{
  counts.calls++;
  counts.host_waits++;
  open_all_gates(&current);
}

static clp_status count_allocate(void *self, size_t bytes, clp_memory *out)
{
  counts.calls++;
  if (counts.refusals == 0)
    return real.allocate(self, bytes, out);
  counts.refusals--;
  return clp_set_last_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "refused by the test");
}

static clp_status count_free(void *self, clp_memory memory, size_t bytes)
{
  counts.calls++;
  return real.free(self, memory, bytes);
}

static clp_status count_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  counts.calls++;
  return real.free_on(self, memory, bytes, stream);
}

static clp_status count_drain(void *self)
{
  host_waits();
  return real.drain(self);
}

static clp_status count_stream_retain(void *self, clp_stream stream)
{
  counts.calls++;
  return real.stream_retain(self, stream);
}

static clp_status count_mark_create(void *self, clp_stream stream, void **mark)
{
  counts.calls++;
  return real.mark_create(self, stream, mark);
}

static clp_status count_mark_is_done(void *self, void *mark, bool *done)
{
  counts.calls++;
  return real.mark_is_done(self, mark, done);
}

static clp_status count_stream_wait(void *self, clp_stream stream, void *mark)
{
  counts.calls++;
  counts.stream_waits++;
  return real.stream_wait(self, stream, mark);
}

static clp_status count_host_wait(void *self, void *mark)
{
  host_waits();
  return real.host_wait(self, mark);
}

static void watch(clpt_order_rig *rig)
{
  clp_allocator_ops *ops = &rig->is.allocator->ops;

  memset(&counts, 0, sizeof(counts));
  real = *ops;
  ops->allocate = count_allocate;
  ops->free = count_free;
  ops->free_on = ops->free_on ? count_free_on : NULL;
  ops->drain = count_drain;
  ops->stream_retain = count_stream_retain;
  ops->mark_create = count_mark_create;
  ops->mark_is_done = count_mark_is_done;
  ops->stream_wait = count_stream_wait;
  ops->host_wait = count_host_wait;
}

/* --- what is so --- */

static bool is_in_order(const clpt_order_rig *rig, int stream)
{
  return real.stream_is_in_order(rig->is.allocator->self, rig->is.streams[stream]);
}

static bool applies(const clpt_order_rig *rig, const clpt_order_step *step)
{
  unsigned is = rig->flags | CLPT_ALWAYS;
  is |= is_in_order(rig, step->stream) ? CLPT_WHEN_IN_ORDER : 0;
  is |= real.allocate_uses_home && !rig->is.on_arena ? CLPT_WHEN_HOME_USED : 0;
  return step->when & is;
}

/* --- streams and work --- */

void clpt_step_gate(clpt_order_rig *rig, const clpt_order_step *step)
{
  rig->gates[step->stream] = rig->backend->gate(rig->is.streams[step->stream]);
}

void clpt_step_open(clpt_order_rig *rig, const clpt_order_step *step)
{
  open_gate(rig, (size_t)step->stream);
  rig->backend->finish(rig->is.streams[step->stream]);
}

void clpt_step_held_up(clpt_order_rig *rig, const clpt_order_step *step)
{
  clp_stream stream = rig->is.streams[step->stream];
  if (applies(rig, step))
    ck_assert(rig->backend->is_held_up(stream));
  else if (rig->backend->looks == 1)
    ck_assert(!rig->backend->is_held_up(stream));
  else if (rig->is.are_apart)
    rig->backend->finish(stream); /* else it hangs */
}

void clpt_step_order(clpt_order_rig *rig, const clpt_order_step *step)
{
  rig->backend->order(rig->is.streams[step->other], rig->is.streams[step->stream]);
}

static void read_slot(clpt_order_rig *rig, const slot *it, int stream)
{
  reading *new = &rig->readings[rig->reading_count];
  ck_assert_uint_lt(rig->reading_count, CLPT_MOST_READS);
  new->expected = it->word;
  new->words = malloc(CLPT_ORDER_BYTES);
  ck_assert_ptr_nonnull(new->words);
  if (rig->backend->read(rig->is.streams[stream], it->buffer, new->words))
    rig->reading_count++;
  else
    free(new->words);
}

void clpt_step_read(clpt_order_rig *rig, const clpt_order_step *step)
{
  read_slot(rig, &rig->slots[step->buffer], step->stream);
}

void clpt_step_use(clpt_order_rig *rig, const clpt_order_step *step)
{
  slot *used = &rig->slots[step->buffer];
  used->word = ++rig->words * 0x01010101U;
  used->stream = step->stream;
  rig->backend->write(rig->is.streams[step->stream], used->buffer, used->word);
  read_slot(rig, used, step->stream);
}

/* --- buffers --- */

static clp_buffer *allocate(const clpt_order_rig *rig, const clpt_order_step *step)
{
  clp_buffer *buffer = NULL;
  if (step->unordered)
    return clpt_allocate(rig->pool, CLPT_ORDER_BYTES);
  clpt_ok(
      clp_pool_allocate_on(rig->pool, CLPT_ORDER_BYTES, rig->is.streams[step->stream], &buffer));
  ck_assert_ptr_nonnull(buffer);
  return buffer;
}

static void keep(clpt_order_rig *rig, const clpt_order_step *step, clp_buffer *buffer)
{
  slot *taken = &rig->slots[step->buffer];
  taken->buffer = buffer;
  taken->memory = clp_buffer_memory(buffer);
  clpt_step_use(rig, step);
}

/* It is the block that is meant, or a new one, and the host has not waited for that. */
static void assert_as_expected(const clpt_order_rig *rig, const clpt_order_step *step,
                               const clp_buffer *buffer, size_t hits)
{
  bool expected = applies(rig, step);
  bool is_known = rig->backend->looks == 1 && is_in_order(rig, step->stream);
  bool looks = rig->flags & CLPT_WHEN_IT_LOOKS;
  ck_assert_int_eq(clp_buffer_memory(buffer) == rig->slots[step->other].memory, expected);
  ck_assert_uint_eq(hits, expected);
  ck_assert_uint_eq(counts.host_waits, 0);
  if (expected && is_known)
    ck_assert_uint_eq(counts.stream_waits, step->count);
  else if (expected && !looks) /* it may have seen that some work is done */
    ck_assert_uint_ge(counts.stream_waits, step->count);
  else if (!expected && !real.allocate_uses_home)
    ck_assert_uint_eq(counts.stream_waits, 0);
}

void clpt_step_take(clpt_order_rig *rig, const clpt_order_step *step)
{
  size_t hits = clpt_stats(rig->pool).hits;
  counts.stream_waits = counts.host_waits = 0;
  clp_buffer *buffer = allocate(rig, step);
  if (step->when != CLPT_ANYHOW)
    assert_as_expected(rig, step, buffer, clpt_stats(rig->pool).hits - hits);
  keep(rig, step, buffer);
}

/* The work of the block is done, and the driver takes a while to say so. */
void clpt_step_take_done(clpt_order_rig *rig, const clpt_order_step *step)
{
  clp_memory memory = rig->slots[step->other].memory;
  unsigned looks = 0;
  clp_buffer *buffer;
  counts.stream_waits = counts.host_waits = 0;
  for (;;) {
    buffer = allocate(rig, step);
    if (clp_buffer_memory(buffer) == memory || ++looks == rig->backend->looks)
      break;
    rig->spares[rig->spare_count++] = buffer;
    for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
      if (rig->gates[i] == NULL)
        rig->backend->finish(rig->is.streams[i]);
  }
  ck_assert_int_eq(clp_buffer_memory(buffer) == memory, applies(rig, step));
  ck_assert_uint_eq(counts.host_waits, 0);
  if (rig->backend->looks == 1 && rig->flags & CLP_REUSE_OPPORTUNISTIC && applies(rig, step))
    ck_assert_uint_eq(counts.stream_waits, 0);
  keep(rig, step, buffer);
}

void clpt_step_release(clpt_order_rig *rig, const clpt_order_step *step)
{
  slot *released = &rig->slots[step->buffer];
  size_t active = clpt_stats(rig->pool).active_blocks;
  clpt_ok(step->unordered ? clp_buffer_release(released->buffer)
                          : clp_buffer_release_on(released->buffer, rig->is.streams[step->stream]));
  released->buffer = NULL;
  ck_assert_uint_eq(clpt_stats(rig->pool).active_blocks, active - 1); /* done or not */
}

void clpt_step_record(clpt_order_rig *rig, const clpt_order_step *step)
{
  clpt_ok(clp_buffer_record_use(rig->slots[step->buffer].buffer, rig->is.streams[step->stream]));
}

void clpt_step_bind(clpt_order_rig *rig, const clpt_order_step *step)
{
  clpt_ok(clp_buffer_bind(rig->slots[step->buffer].buffer, rig->is.streams[step->stream]));
}

void clpt_step_unbind(clpt_order_rig *rig, const clpt_order_step *step)
{
  counts.host_waits = 0;
  clpt_ok(clp_buffer_unbind(rig->slots[step->buffer].buffer));
  ck_assert_uint_ge(counts.host_waits, 1);
}

/* --- the pool and the device --- */

void clpt_step_calm(clpt_order_rig *rig, const clpt_order_step *step)
{
  (void)rig, (void)step;
  memset(&counts, 0, sizeof(counts));
}

/* Since calm. */
void clpt_step_quiet(clpt_order_rig *rig, const clpt_order_step *step)
{
  (void)rig, (void)step;
  ck_assert_uint_eq(counts.calls, 0);
}

static void end_pool(clpt_order_rig *rig)
{
  clpt_ok(clp_buffer_release(rig->ballast));
  clp_pool_release(rig->pool);
  rig->ballast = NULL;
  rig->pool = NULL;
}

/* In way number `count`; the last is the pool's end. */
void clpt_step_give_back(clpt_order_rig *rig, const clpt_order_step *step)
{
  bool never_waits = step->when == CLPT_WHEN_NEVER || real.free_on || real.free_is_ordered;
  counts.host_waits = 0;
  switch (step->count) {
  case 0:
    clpt_ok(clp_pool_free_held(rig->pool));
    break;
  case 1:
    clpt_ok(clp_pool_trim_to(rig->pool, 0));
    break;
  case 2:
    clpt_ok(clp_pool_stop_holding(rig->pool));
    break;
  default:
    end_pool(rig);
  }
  if (rig->pool != NULL)
    ck_assert_uint_eq(clpt_stats(rig->pool).held_blocks, 0);
  if (rig->pool != NULL && !rig->is.on_arena)
    ck_assert_uint_eq(clpt_stats(rig->pool).managed_bytes, 0);
  if (never_waits)
    ck_assert_uint_eq(counts.host_waits, 0);
  else if (!rig->is.on_arena)
    ck_assert_uint_ge(counts.host_waits, 1);
}

void clpt_step_refuse(clpt_order_rig *rig, const clpt_order_step *step)
{
  (void)rig;
  counts.refusals = step->count;
}

void clpt_step_waited(clpt_order_rig *rig, const clpt_order_step *step)
{
  (void)step;
  ck_assert_uint_ge(counts.host_waits, 1);
  ck_assert_uint_eq(clpt_stats(rig->pool).out_of_memory_reactions, 1);
}

void clpt_step_forget(clpt_order_rig *rig, const clpt_order_step *step)
{
  clp_stream *stream = &rig->is.streams[step->stream];
  clpt_ok_quietly(clp_pool_forget_stream(rig->pool, *stream));
  rig->gates[CLPT_ORDER_STREAMS + rig->gate_count++] = rig->gates[step->stream];
  rig->gates[step->stream] = NULL;
  *stream = rig->backend->renew(*stream);
}

void clpt_step_drop(clpt_order_rig *rig, const clpt_order_step *step)
{
  rig->backend->drop(rig->is.streams[step->stream]);
}

/* --- another thread --- */

static void *visit(void *argument)
{
  visitor *self = argument;
  clp_buffer *buffer = allocate(self->rig, self->step);
  self->rig->slots[self->step->buffer].memory = clp_buffer_memory(buffer);
  clpt_ok(clp_buffer_release_on(buffer, self->rig->is.streams[self->step->stream]));
  pthread_barrier_wait(&self->is_there);
  pthread_barrier_wait(&self->may_go);
  return NULL;
}

static void end_visit(clpt_order_rig *rig)
{
  if (!rig->is_visited)
    return;
  pthread_barrier_wait(&rig->visitor.may_go);
  ck_assert_int_eq(pthread_join(rig->visitor.thread, NULL), 0);
  pthread_barrier_destroy(&rig->visitor.is_there);
  pthread_barrier_destroy(&rig->visitor.may_go);
  rig->is_visited = false;
}

/* It takes a buffer and releases it, and ends before the next step (`count` 0) or stays. */
void clpt_step_visit(clpt_order_rig *rig, const clpt_order_step *step)
{
  visitor *self = &rig->visitor;
  self->rig = rig;
  self->step = step;
  ck_assert_int_eq(pthread_barrier_init(&self->is_there, NULL, 2), 0);
  ck_assert_int_eq(pthread_barrier_init(&self->may_go, NULL, 2), 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, visit, self), 0);
  rig->is_visited = true;
  pthread_barrier_wait(&self->is_there);
  if (step->count == 0)
    end_visit(rig);
}

/* --- a case --- */

static bool can_run(const clpt_order_rig *rig)
{
  unsigned lacks = real.home_stream ? CLPT_NEEDS_NO_HOME : CLPT_NEEDS_HOME;
  if (!is_in_order(rig, CLPT_S) || !is_in_order(rig, CLPT_T))
    lacks |= CLPT_NEEDS_ORDER;
  if (rig->backend->drop == NULL)
    lacks |= CLPT_NEEDS_DROP;
  if (rig->is.on_arena)
    lacks |= CLPT_NEEDS_NO_ARENA;
  /* No stream has the rest of a segment then: home is to touch it, and who waits for that? */
  if (rig->is.on_arena && real.allocate_uses_home && !(rig->flags & CLPT_WHEN_STREAMS_WAIT))
    return false;
  return (rig->it->needs & lacks) == 0;
}

static void start(clpt_order_rig *rig)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_options small = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *arena = NULL;
  small.min_segment_bytes = 32768;
  options.reuse_flags = rig->flags;
  watch(rig);
  if (rig->is.on_arena)
    clpt_ok(clp_arena_allocator_create(rig->is.allocator, &small, &arena));
  clpt_ok(clp_pool_create(arena ? arena : rig->is.allocator, &options, &rig->pool));
  clp_allocator_release(arena);
  rig->ballast = arena ? clpt_allocate(rig->pool, CLPT_ORDER_BYTES) : NULL;
}

static void release_all(const clpt_order_rig *rig)
{
  for (const slot *it = rig->slots; it < rig->slots + CLPT_ORDER_BUFFERS; it++)
    if (it->buffer)
      clpt_ok(clp_buffer_release_on(it->buffer, rig->is.streams[it->stream]));
  for (size_t i = 0; i < rig->spare_count; i++)
    clpt_ok(clp_buffer_release_on(rig->spares[i], rig->is.streams[CLPT_T]));
}

/* Each buffer has what was written last, whoever else was to write before. */
static void finish(clpt_order_rig *rig)
{
  open_all_gates(rig);
  for (const slot *it = rig->slots; it < rig->slots + CLPT_ORDER_BUFFERS; it++)
    if (it->buffer)
      read_slot(rig, it, it->stream);
  release_all(rig);
  rig->backend->finish_all();
  for (const reading *it = rig->readings; it < rig->readings + rig->reading_count; it++) {
    for (size_t k = 0; k < CLPT_ORDER_WORDS; k++)
      if (it->words[k] != it->expected)
        ck_abort_msg("%s: word %zu is %x, not %x", rig->it->name, k, it->words[k], it->expected);
    free(it->words);
  }
  end_visit(rig);
}

/* Which a case that failed has left: a driver waits for them at its end. */
static void open_forgotten_gates(void)
{
  open_all_gates(&current);
}

static void run(const clpt_order_backend *backend, const clpt_order_case *it, int variant,
                unsigned flags)
{
  open_forgotten_gates();
  current = (clpt_order_rig){.backend = backend, .it = it, .flags = flags};
  if (!backend->open(variant, &current.is))
    return;
  start(&current);
  if (can_run(&current)) {
    for (const clpt_order_step *step = it->steps; step->act; step++)
      step->act(&current, step);
    finish(&current);
  }
  end_pool(&current);
  clp_allocator_release(current.is.allocator);
  backend->close();
}

static const clpt_order_backend *tested;

START_TEST(holds)
{
  const clpt_order_case *it = &clpt_order_cases[_i / FLAGS];
  unsigned flags = (unsigned)(_i % FLAGS);
  if (!(it->flags & 1U << flags))
    return;
  for (int variant = 0; variant < tested->variants; variant++)
    for (unsigned round = 0; round < clpt_iterations(tested->rounds); round++)
      run(tested, it, variant, flags);
}
END_TEST

Suite *clpt_order_suite(const char *name, const clpt_order_backend *backend, SFun setup,
                        SFun teardown)
{
  Suite *suite = suite_create(name);
  tested = backend;
  for (int i = 0; i < clpt_order_case_count; i++) {
    TCase *tests = clpt_case(suite, clpt_order_cases[i].name);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_unchecked_fixture(tests, NULL, open_forgotten_gates);
    tcase_add_loop_test(tests, holds, i * FLAGS, (i + 1) * FLAGS);
  }
  return suite;
}
