/* SPDX-License-Identifier: MIT */
/* Runs the cases of stream order on a backend. */
#include "order_run.h"

#include "core/allocator/allocator.h"
#include "pools.h"

#include <clpool/arena.h>

enum { FLAGS = 4 };

static clpt_order_run current;

static bool can_run(const clpt_order_run *run)
{
  unsigned lacks = clpt_order_real.home_stream ? CLPT_NEEDS_NO_HOME : CLPT_NEEDS_HOME;
  for (int i = 0; i < CLPT_ORDER_STREAMS; i++)
    if (!clpt_order_is_in_order(run, i))
      lacks |= CLPT_NEEDS_ORDER;
  if (run->backend->drop == NULL)
    lacks |= CLPT_NEEDS_DROP;
  if (run->is.on_arena)
    lacks |= CLPT_NEEDS_NO_ARENA;
  /* No stream has the rest of a segment then: home is to touch it, and who waits for that? */
  if (run->is.on_arena && clpt_order_real.allocate_uses_home &&
      !(run->flags & CLPT_WHEN_STREAMS_WAIT))
    return false;
  return (run->it->needs & lacks) == 0;
}

static void start(clpt_order_run *run)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_arena_options small = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *arena = NULL;
  small.min_segment_bytes = 32768;
  options.reuse_flags = run->flags;
  clpt_order_watch(run);
  if (run->is.on_arena)
    clpt_ok(clp_arena_allocator_create(run->is.allocator, &small, &arena));
  clpt_ok(clp_pool_create(arena ? arena : run->is.allocator, &options, &run->pool));
  clp_allocator_release(arena);
  run->ballast = arena ? clpt_allocate(run->pool, CLPT_ORDER_BYTES) : NULL;
}

static void release_all(const clpt_order_run *run)
{
  for (const clpt_order_slot *it = run->slots; it < run->slots + CLPT_ORDER_BUFFERS; it++)
    if (it->buffer)
      clpt_ok(clp_buffer_release_on(it->buffer, run->is.streams[it->stream]));
  for (size_t i = 0; i < run->spare_count; i++)
    clpt_ok(clp_buffer_release_on(run->spares[i], run->is.streams[CLPT_T]));
}

/* Each buffer has what was written last, whoever else was to write before. */
static void finish(clpt_order_run *run)
{
  clpt_order_open_all_gates(run);
  for (const clpt_order_slot *it = run->slots; it < run->slots + CLPT_ORDER_BUFFERS; it++)
    if (it->buffer)
      clpt_order_read(run, it, it->stream);
  release_all(run);
  run->backend->finish_all();
  for (const clpt_order_reading *it = run->readings; it < run->readings + run->reading_count;
       it++) {
    for (size_t k = 0; k < CLPT_ORDER_WORDS; k++)
      if (it->words[k] != it->expected)
        ck_abort_msg("%s: word %zu is %x, not %x", run->it->name, k, it->words[k], it->expected);
    free(it->words);
  }
  clpt_order_end_visit(run);
}

/* Which a case that failed has left: a driver waits for them at its end. */
static void open_forgotten_gates(void)
{
  clpt_order_open_all_gates(&current);
}

static void run_case(const clpt_order_backend *backend, const clpt_order_case *it, int variant,
                     unsigned flags)
{
  open_forgotten_gates();
  current = (clpt_order_run){.backend = backend, .it = it, .flags = flags};
  if (!backend->open(variant, &current.is))
    return;
  start(&current);
  if (can_run(&current)) {
    for (const clpt_order_step *step = it->steps; step->act; step++)
      step->act(&current, step);
    finish(&current);
  }
  clpt_order_end_pool(&current);
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
      run_case(tested, it, variant, flags);
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
