/* SPDX-License-Identifier: MIT */
/* The tape where work is in flight on streams: lib/arena/ahead.c and expect.c. */
#include "core/allocator/allocator.h"
#include "support/arena_programs.h"
#include "support/suite.h"

static int home, other; /* the streams are their addresses */

/* What was asked of the device's streams, and whether all work on them is done. */
static unsigned waits, marks, frees_on;
static bool is_done;

static clp_status retain(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return CLP_SUCCESS;
}

static void release(void *self, clp_stream stream)
{
  (void)self, (void)stream;
}

static clp_status make_mark(void *self, clp_stream stream, void **mark)
{
  (void)self, (void)stream;
  marks++;
  *mark = &marks;
  return CLP_SUCCESS;
}

static void end_mark(void *self, void *mark)
{
  (void)self, (void)mark;
  marks--;
}

static clp_status ask(void *self, void *mark, bool *done)
{
  (void)self, (void)mark;
  *done = is_done;
  return CLP_SUCCESS;
}

static clp_status wait_on_stream(void *self, clp_stream stream, void *mark)
{
  (void)self, (void)mark;
  waits += stream == &other;
  return CLP_SUCCESS;
}

static clp_status wait_on_host(void *self, void *mark)
{
  (void)self, (void)mark;
  return CLP_SUCCESS;
}

static clp_status free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  frees_on += stream == &home;
  return clpt_free_apart(self, memory, bytes);
}

static void streams_setup(void)
{
  clp_allocator_ops *ops = &clpt_arena_device.ops;
  clpt_apart_setup();
  ops->home_stream = &home;
  ops->stream_retain = retain;
  ops->stream_release = release;
  ops->mark_create = make_mark;
  ops->mark_destroy = end_mark;
  ops->mark_is_done = ask;
  ops->stream_wait = wait_on_stream;
  ops->host_wait = wait_on_host;
  ops->free_on = free_on;
  waits = marks = frees_on = 0;
  is_done = false;
}

/* A block begins and ends ahead, of which the segments are never told; work on it is in flight. */
static void use_ahead(void)
{
  clpt_arena_give(clpt_arena_take(1000), 1000);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  clp_memory memory = clpt_arena_take(1000);
  clpt_ok(clpt_arena->ops.free_on(clpt_arena->self, memory, 1000, &home));
}

START_TEST(another_stream_waits_for_what_the_tape_knows)
{
  const clp_memory_request request = {.bytes = 1000,
                                      .stream = &other,
                                      .reuse_flags = CLP_REUSE_INTERNAL_DEPENDENCIES,
                                      .most_bytes = SIZE_MAX};
  clp_memory memory = 0;

  clpt_apart_start(0.016);
  use_ahead();
  clpt_ok(clpi_allocator_allocate_within(clpt_arena, &request, &memory));
  ck_assert_uint_eq(waits, 1);
  clpt_arena_give(memory, 1000);
  clpt_arena_end();
  ck_assert_uint_eq(marks, 0);
}
END_TEST

START_TEST(a_segment_goes_back_behind_what_the_tape_knows)
{
  clpt_apart_start(0.016);
  use_ahead();
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  ck_assert_uint_eq(frees_on, 1);
  clpt_arena_end();
}
END_TEST

/* What is unused could not go now. */
START_TEST(nothing_is_planned_behind_work_in_flight)
{
  clpt_program it = {0};

  is_done = _i;
  clpt_apart_start(0.016);
  const clpi_arena *arena = clpt_arena->self;
  for (unsigned pass = 0; pass < 4; pass++)
    clpt_program_pass(&it, 3);
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_int_eq(arena->foresight.planned > 0, is_done);
  clpt_arena_end();
}
END_TEST

CLPT_MAIN("tape and streams", clpt_run)
{
  TCase *tests = clpt_case(suite, "streams");

  tcase_add_checked_fixture(tests, streams_setup, NULL);
  tcase_add_test(tests, another_stream_waits_for_what_the_tape_knows);
  tcase_add_test(tests, a_segment_goes_back_behind_what_the_tape_knows);
  tcase_add_loop_test(tests, nothing_is_planned_behind_work_in_flight, 0, 2);
}
