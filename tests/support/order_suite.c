/* SPDX-License-Identifier: MIT */
/* Runs the cases of stream order on a backend. */
#include "order_suite.h"

#include "core/allocator/allocator.h"
#include "pools.h"

#include <clpool/arena.h>

enum { FLAGS = 4, MOST_GATES = 16 };
enum { X, Y, Z, V, W, BUFFERS };

/* When a block changes hands, as a step expects it: bits, of which one is enough. The reuse flags
 * are two of them. */
enum {
  NEVER = 0,
  LOOKS = CLP_REUSE_OPPORTUNISTIC,
  WAITS = CLP_REUSE_INTERNAL_DEPENDENCIES,
  IN_TURN = 4,   /* the stream of the step is in order */
  HOME_USED = 8, /* new memory is the home stream's at first */
  ALWAYS = 16,
  ANYHOW = 32, /* it does not matter which block */
  OWN = IN_TURN | WAITS,
  EITHER = LOOKS | WAITS
};

/* What a case needs, as bits; IN_ORDER: all streams are in order. */
enum { HOME = 1, NO_HOME = 2, IN_ORDER = 4, CAN_DROP = 8, NO_ARENA = 16 };

typedef struct order_step {
  void (*act)(const struct order_step *step); /* NULL: the end */
  int buffer, stream, other; /* `other` is a stream, or the buffer whose block is meant */
  unsigned when, count;
  bool unordered; /* by the call that names no stream */
} order_step;

typedef struct order_case {
  const char *name;
  unsigned needs;
  unsigned flags; /* 1u << the reuse flags that it is run with, or-ed */
  order_step steps[24];
} order_case;

typedef struct order_slot {
  clp_buffer *buffer; /* NULL: released */
  clp_memory memory;  /* of the last that was taken */
  int stream;         /* that used it last */
  uint32_t word;      /* that was written last */
} order_slot;

static const clpt_order_backend *backend;

/* The case at work. */
static struct {
  const order_case *it;
  unsigned flags;
  clpt_order_setting is;
  clp_pool *pool;
  clp_buffer *ballast;     /* on an arena: its segment has room for all */
  void *gates[MOST_GATES]; /* of streams by their numbers, then of those that were forgotten */
  size_t gate_count;
  order_slot slots[BUFFERS];
  clp_buffer *spares[CLPT_MOST_LOOKS];
  size_t spare_count;
  struct {
    uint32_t *words, expected;
  } readings[CLPT_MOST_READS];
  size_t reading_count;
  uint32_t words; /* so many different ones were written */
  /* What the pool asked of the allocator since the last step that set them to 0, and how many
   * allocations are yet to be refused. */
  unsigned calls, stream_waits, host_waits, refusals;
} run;

/* --- what the pool asks of the allocator is counted --- */

static clp_allocator_ops real; /* its operations, as they were */

static void open_gate(size_t number)
{
  if (run.gates[number])
    backend->go(run.gates[number]);
  run.gates[number] = NULL;
}

/* Those that a case that failed has left, too: a driver waits for them at its end. */
static void open_all_gates(void)
{
  for (size_t i = 0; i < MOST_GATES; i++)
    open_gate(i);
}

/* What the host waits for now could not go on by itself. */
static void host_waits(void)
{
  run.host_waits++;
  open_all_gates();
}

static clp_status count_allocate(void *self, size_t bytes, clp_memory *out)
{
  run.calls++;
  if (run.refusals == 0)
    return real.allocate(self, bytes, out);
  run.refusals--;
  return clp_set_last_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "refused by the test");
}

#define COUNT(name, also, parameters, ...)                                                         \
  static clp_status count_##name parameters                                                        \
  {                                                                                                \
    run.calls++;                                                                                   \
    also;                                                                                          \
    return real.name(__VA_ARGS__);                                                                 \
  }
COUNT(free, , (void *self, clp_memory memory, size_t bytes), self, memory, bytes)
COUNT(free_on, , (void *self, clp_memory memory, size_t bytes, clp_stream stream), self, memory,
      bytes, stream)
COUNT(stream_retain, , (void *self, clp_stream stream), self, stream)
COUNT(mark_create, , (void *self, clp_stream stream, void **mark), self, stream, mark)
COUNT(mark_is_done, , (void *self, void *mark, bool *done), self, mark, done)
COUNT(drain, host_waits(), (void *self), self)
COUNT(stream_wait, run.stream_waits++, (void *self, clp_stream stream, void *mark), self, stream,
      mark)
COUNT(host_wait, host_waits(), (void *self, void *mark), self, mark)

static void watch(void)
{
  clp_allocator_ops *ops = &run.is.allocator->ops;
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

static bool is_in_order(int stream)
{
  return real.stream_is_in_order(run.is.allocator->self, run.is.streams[stream]);
}

static bool applies(const order_step *step)
{
  unsigned is = run.flags | ALWAYS;
  is |= is_in_order(step->stream) ? IN_TURN : 0;
  is |= real.allocate_uses_home && !run.is.on_arena ? HOME_USED : 0;
  return step->when & is;
}

/* --- steps --- */

/* Gives the stream a look at the buffer, which is checked at the end. */
static void read_slot(const order_slot *it, int stream)
{
  uint32_t *words = malloc(CLPT_ORDER_BYTES);
  ck_assert_uint_lt(run.reading_count, CLPT_MOST_READS);
  ck_assert_ptr_nonnull(words);
  run.readings[run.reading_count].expected = it->word;
  run.readings[run.reading_count++].words = words;
  backend->read(run.is.streams[stream], it->buffer, words);
}

static void use(const order_step *step)
{
  order_slot *used = &run.slots[step->buffer];
  used->word = ++run.words * 0x01010101U;
  used->stream = step->stream;
  backend->write(run.is.streams[step->stream], used->buffer, used->word);
  read_slot(used, step->stream);
}

static clp_buffer *allocate(const order_step *step)
{
  clp_buffer *buffer = NULL;
  if (step->unordered)
    return clpt_allocate(run.pool, CLPT_ORDER_BYTES);
  clpt_ok(clp_pool_allocate_on(run.pool, CLPT_ORDER_BYTES, run.is.streams[step->stream], &buffer));
  return buffer;
}

static void keep(const order_step *step, clp_buffer *buffer)
{
  run.slots[step->buffer].buffer = buffer;
  run.slots[step->buffer].memory = clp_buffer_memory(buffer);
  use(step);
}

/* It is the block that is meant, or a new one, and the host has not waited for that. */
static void take(const order_step *step)
{
  bool expected = applies(step), looks = run.flags & LOOKS;
  uint64_t hits = clpt_stats(run.pool).hits;
  run.stream_waits = run.host_waits = 0;
  clp_buffer *buffer = allocate(step);
  if (step->when != ANYHOW) {
    ck_assert_int_eq(clp_buffer_memory(buffer) == run.slots[step->other].memory, expected);
    if (!run.is.on_arena) /* whose other segments may serve a new block */
      ck_assert_uint_eq(clpt_stats(run.pool).hits - hits, expected);
    ck_assert_uint_eq(run.host_waits, 0);
    if (expected && !looks) /* it may have seen that some work is done */
      ck_assert_uint_ge(run.stream_waits, step->count);
    else if (!expected && !real.allocate_uses_home)
      ck_assert_uint_eq(run.stream_waits, 0);
  }
  keep(step, buffer);
}

/* The work of the block is done, and the driver takes a while to say so. */
static void take_done(const order_step *step)
{
  clp_memory memory = run.slots[step->other].memory;
  clp_buffer *buffer;
  run.stream_waits = run.host_waits = 0;
  for (unsigned looks = 0;;) {
    buffer = allocate(step);
    if (clp_buffer_memory(buffer) == memory || ++looks == CLPT_MOST_LOOKS)
      break;
    run.spares[run.spare_count++] = buffer;
    for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
      if (!run.gates[i])
        backend->finish(run.is.streams[i]);
  }
  ck_assert_int_eq(clp_buffer_memory(buffer) == memory, applies(step));
  ck_assert_uint_eq(run.host_waits, 0);
  keep(step, buffer);
}

static void release(const order_step *step)
{
  order_slot *released = &run.slots[step->buffer];
  size_t active = clpt_stats(run.pool).active_blocks;
  clpt_ok(step->unordered ? clp_buffer_release(released->buffer)
                          : clp_buffer_release_on(released->buffer, run.is.streams[step->stream]));
  released->buffer = NULL;
  ck_assert_uint_eq(clpt_stats(run.pool).active_blocks, active - 1); /* done or not */
}

enum { FREE, TRIM, END_POOL };

static void end_pool(void)
{
  clpt_ok(clp_buffer_release(run.ballast));
  clp_pool_release(run.pool);
  run.ballast = NULL;
  run.pool = NULL;
}

static void give_back(const order_step *step)
{
  run.host_waits = 0;
  if (step->count == END_POOL)
    end_pool();
  else
    clpt_ok(step->count == FREE ? clp_pool_free_held(run.pool) : clp_pool_trim_to(run.pool, 0));
  if (run.pool)
    ck_assert_uint_eq(clpt_stats(run.pool).held_blocks, 0);
  if (run.pool && !run.is.on_arena)
    ck_assert_uint_eq(clpt_stats(run.pool).managed_bytes, 0);
  if (step->when == NEVER || real.free_on || real.free_is_ordered)
    ck_assert_uint_eq(run.host_waits, 0);
  else if (!run.is.on_arena)
    ck_assert_uint_ge(run.host_waits, 1);
}

static void forget(clp_stream *stream, int number)
{
  clpt_ok_quietly(clp_pool_forget_stream(run.pool, *stream));
  run.gates[CLPT_ORDER_STREAMS + run.gate_count++] = run.gates[number];
  run.gates[number] = NULL;
  *stream = backend->renew(*stream);
}

static void see_held_up(const order_step *step)
{
  clp_stream stream = run.is.streams[step->stream];
  if (applies(step))
    ck_assert(backend->is_held_up(stream));
  else if (run.is.are_apart)
    backend->finish(stream); /* else it hangs */
}

/* clang-format off */
#define STREAM run.is.streams[step->stream]
#define BUFFER run.slots[step->buffer].buffer
#define ACT(name, ...) static void name(const order_step *step) { (void)step; __VA_ARGS__; }
ACT(gate_stream, run.gates[step->stream] = backend->gate(STREAM))
ACT(open_stream, open_gate((size_t)step->stream); backend->finish(STREAM))
ACT(order, backend->order(run.is.streams[step->other], STREAM))
ACT(read_buffer, read_slot(&run.slots[step->buffer], step->stream))
ACT(record_use, clpt_ok(clp_buffer_record_use(BUFFER, STREAM)))
ACT(bind, clpt_ok(clp_buffer_bind(BUFFER, STREAM)))
ACT(unbind, run.host_waits = 0; clpt_ok(clp_buffer_unbind(BUFFER)); ck_assert(run.host_waits > 0))
ACT(be_calm, run.calls = 0)
ACT(see_quiet, ck_assert_uint_eq(run.calls, 0))
ACT(refuse, run.host_waits = 0; run.refusals = step->count)
ACT(see_waited, ck_assert_uint_ge(run.host_waits, 1);
    ck_assert_uint_eq(clpt_stats(run.pool).out_of_memory_reactions, 1))
ACT(forget_stream, forget(&STREAM, step->stream))
ACT(drop_stream, backend->drop(STREAM))
/* clang-format on */

#include "order_cases.h"

/* --- runs --- */

static bool can_run(void)
{
  unsigned lacks = real.home_stream ? NO_HOME : HOME;
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    if (!is_in_order(i))
      lacks |= IN_ORDER;
  if (!backend->drop)
    lacks |= CAN_DROP;
  if (run.is.on_arena)
    lacks |= NO_ARENA;
  /* No stream has the rest of a segment then: home is to touch it, and who waits for that? */
  if (run.is.on_arena && real.allocate_uses_home && !(run.flags & WAITS))
    return false;
  return (run.it->needs & lacks) == 0;
}

static void start(void)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_options small = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *arena = NULL;
  small.min_segment_bytes = 32768;
  options.reuse_flags = run.flags;
  watch();
  if (run.is.on_arena)
    clpt_ok(clp_arena_allocator_create(run.is.allocator, &small, &arena));
  clpt_ok(clp_pool_create(arena ? arena : run.is.allocator, &options, &run.pool));
  clp_allocator_release(arena);
  run.ballast = arena ? clpt_allocate(run.pool, CLPT_ORDER_BYTES) : NULL;
}

/* Each buffer has what was written last, whoever else was to write before. */
static void finish(void)
{
  open_all_gates();
  for (const order_slot *it = run.slots; it < run.slots + BUFFERS; it++)
    if (it->buffer)
      read_slot(it, it->stream);
  for (const order_slot *it = run.slots; it < run.slots + BUFFERS; it++)
    if (it->buffer)
      clpt_ok(clp_buffer_release_on(it->buffer, run.is.streams[it->stream]));
  for (size_t i = 0; i < run.spare_count; i++)
    clpt_ok(clp_buffer_release_on(run.spares[i], run.is.streams[CLPT_T]));
  backend->finish_all();
  for (size_t i = 0; i < run.reading_count; i++) {
    for (size_t k = 0; k < CLPT_ORDER_WORDS; k++)
      ck_assert_uint_eq(run.readings[i].words[k], run.readings[i].expected);
    free(run.readings[i].words);
  }
}

static void run_case(const order_case *it, int variant, unsigned flags)
{
  open_all_gates();
  memset(&run, 0, sizeof(run));
  run.it = it;
  run.flags = flags;
  if (!backend->open(variant, &run.is))
    return;
  start();
  if (can_run()) {
    for (const order_step *step = it->steps; step->act; step++)
      step->act(step);
    finish();
  }
  end_pool();
  clp_allocator_release(run.is.allocator);
  backend->close();
}

START_TEST(holds)
{
  const order_case *it = &cases[_i / FLAGS];
  unsigned flags = (unsigned)(_i % FLAGS);
  if (!(it->flags & 1U << flags))
    return;
  for (int variant = 0; variant < backend->variants; variant++)
    for (unsigned round = 0; round < clpt_iterations(backend->rounds); round++)
      run_case(it, variant, flags);
}
END_TEST

Suite *clpt_order_suite(const char *name, const clpt_order_backend *tested, SFun setup,
                        SFun teardown)
{
  Suite *suite = suite_create(name);
  backend = tested;
  for (int i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++) {
    TCase *tests = clpt_case(suite, cases[i].name);
    tcase_add_unchecked_fixture(tests, setup, teardown);
    tcase_add_unchecked_fixture(tests, NULL, open_all_gates);
    tcase_add_loop_test(tests, holds, i * FLAGS, (i + 1) * FLAGS);
  }
  return suite;
}
