/* SPDX-License-Identifier: MIT */
/* Memory of an arena that streams may still use. Random programs are in test_arena_streams.c. */
#include "core/allocator/allocator.h"
#include "support/late_arena.h"
#include "support/suite.h"

#include <time.h>

enum { SEGMENT = CLPT_LATE_SEGMENT, MANY_STREAMS = 80 };

/* A block that S still has to use goes back to the arena beside an active one, so that its segment
 * stays; returns the active one. */
static clp_buffer *leave_pending(clpt_late_rig *rig)
{
  clp_buffer *active = clpt_late_take(rig, rig->s);
  clpt_late_hold(rig, rig->s);
  clpt_ok(clp_pool_free_held(rig->pool));
  ck_assert_uint_eq(clpt_stats(rig->pool).held_blocks, 0);
  clpt_late_clear(&rig->device);
  return active;
}

static void end(clpt_late_rig *rig, clp_buffer *active, clp_buffer *other, clp_stream stream)
{
  clpt_late_release_on(rig, active, rig->s);
  if (other)
    clpt_late_release_on(rig, other, stream);
  clpt_late_run_all(&rig->device);
  clpt_late_rig_end(rig);
}

START_TEST(its_stream_has_it_without_a_call)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, (unsigned)_i);
  clp_buffer *active = leave_pending(&rig);
  clp_buffer *again = clpt_late_take(&rig, rig.s);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_ALLOCATE], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  end(&rig, active, again, rig.s);
}
END_TEST

START_TEST(another_stream_is_made_to_wait)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, (unsigned)_i);
  clp_buffer *active = leave_pending(&rig);
  clp_buffer *other = clpt_late_take(&rig, rig.t);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  end(&rig, active, other, rig.t);
}
END_TEST

START_TEST(what_is_done_is_reused_without_a_wait)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLP_REUSE_OPPORTUNISTIC, (unsigned)_i);
  clp_buffer *active = leave_pending(&rig);
  clpt_late_run(&rig.device, rig.s);
  clp_buffer *other = clpt_late_take(&rig, rig.t);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_ALLOCATE], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  end(&rig, active, other, rig.t);
}
END_TEST

/* Where the pool's flags allow no reuse, other memory is taken: what is left of the segment, which
 * S never used, or a new one. */
START_TEST(without_reuse_flags_it_is_left_alone)
{
  clpt_late_rig rig;
  clp_buffer *others[4];

  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, (unsigned)_i);
  clp_buffer *active = leave_pending(&rig);
  for (size_t i = 0; i < 4; i++) {
    others[i] = clpt_late_take(&rig, rig.t);
    clpt_late_run(&rig.device, rig.t);
    ck_assert_uint_eq(clpt_late_left(&rig.device, rig.t), 0);
  }
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  ck_assert_uint_ge(clpt_late_arena_figures(&rig).segments, 2);
  for (size_t i = 1; i < 4; i++)
    clpt_late_release_on(&rig, others[i], rig.t);
  end(&rig, active, others[0], rig.t);
}
END_TEST

/* A pool that runs out waits for its streams, and then the arena knows that they are done. */
START_TEST(what_was_waited_for_is_usable_without_reuse_flags)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, (unsigned)_i);
  rig.device.capacity = SEGMENT;
  clp_buffer *active = clpt_late_take(&rig, rig.s);
  clpt_late_release_on(&rig, clpt_late_take_from(&rig, rig.pool, 3000, rig.s), rig.s);
  clp_buffer *next = clpt_late_take_from(&rig, rig.pool, 3000, rig.t);
  ck_assert_uint_gt(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  end(&rig, active, next, rig.t);
}
END_TEST

/* A segment goes back after all that its blocks were used for: as the device orders frees. */
START_TEST(segments_go_after_their_uses)
{
  static const char *const calls[] = {[CLPT_LATE_FREES_AT_ONCE] = "HF",
                                      [CLPT_LATE_FREES_IN_ORDER] = "F",
                                      [CLPT_LATE_FREES_ON_STREAMS] = "O"};
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, (unsigned)_i);
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_str_eq(rig.device.trace, calls[_i % CLPT_LATE_FREEINGS]);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

/* Growing never makes the host wait: a segment that could only go so stays for now. */
START_TEST(growth_does_not_wait_for_unused_segments)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, CLPT_LATE_FREES_AT_ONCE);
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clp_buffer *large = clpt_late_take_from(&rig, rig.pool, 4 * SEGMENT, rig.t);
  ck_assert_str_eq(rig.device.trace, "A");
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 2);
  clpt_late_release_on(&rig, large, rig.t);
  clpt_late_run_all(&rig.device);
  clpt_late_rig_end(&rig);
}
END_TEST

/* A stream whose work a free range still waits for is not forgotten, however many come and go. */
START_TEST(streams_of_ranges_are_kept)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, (unsigned)_i);
  clp_buffer *active = leave_pending(&rig);
  clp_buffer *filler = clpt_late_take_from(&rig, rig.pool, SEGMENT / 4, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  for (size_t i = 0; i < MANY_STREAMS; i++) {
    clp_stream passing = clpt_late_stream_new(&rig.device);
    clp_buffer *buffer = clpt_late_take_from(&rig, rig.pool, 3 * SEGMENT, passing);
    clpt_late_run(&rig.device, passing);
    clpt_late_release_on(&rig, buffer, passing);
    clpt_ok(clp_pool_free_held(rig.pool));
    clpt_late_run(&rig.device, passing); /* else its memory is not back yet */
    clpt_late_stream_drop(&rig.device, passing);
  }
  ck_assert_uint_lt(clpt_late_retains(&rig.device), 2 * MANY_STREAMS);
  clp_buffer *other = clpt_late_take(&rig, rig.t);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_late_release_on(&rig, filler, rig.s);
  end(&rig, active, other, rig.t);
}
END_TEST

/* Not even its own stream has it before, nor what it became one with, which takes a second segment;
 * then, as the flags allow. */
START_TEST(exclusive_parts_wait_for_their_uses)
{
  clpt_late_rig rig;

  clpt_late_arena_start_exclusive(&rig, (unsigned)_i, false);
  clp_buffer *active = leave_pending(&rig);
  clp_buffer *early = clpt_late_take(&rig, rig.s);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 2);
  clpt_late_run(&rig.device, rig.s);
  clp_buffer *last = clpt_late_take(&rig, rig.s), *again = clpt_late_take(&rig, rig.s);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  clpt_late_release_on(&rig, last, rig.s);
  clpt_late_release_on(&rig, again, rig.s);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 2);
  end(&rig, active, early, rig.s);
}
END_TEST

/* Held blocks that streams still use would make no room, and stay. */
START_TEST(exclusive_parts_in_use_stay_held)
{
  clpt_late_rig rig;

  clpt_late_arena_start_exclusive(&rig, CLPT_REUSE_EITHER, false);
  clpt_late_hold(&rig, rig.s);
  clp_buffer *large = clpt_late_take_from(&rig, rig.pool, SEGMENT, rig.s);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 1);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 2);
  clpt_late_run(&rig.device, rig.s);
  clp_buffer *next = clpt_late_take_from(&rig, rig.pool, SEGMENT, rig.s);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 2);
  end(&rig, large, next, rig.s);
}
END_TEST

/* --- bounding what is in flight --- */

/* The library's naps, during each of which a stream goes on; NULL: none does. */
static clpt_late_rig *napping;
static unsigned naps;

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  (void)duration;
  (void)left;
  naps++;
  for (int i = 0; i < 2 && napping; i++)
    (void)clpt_late_step(&napping->device, napping->s);
  return 0;
}

static void start_napping(clpt_late_rig *rig, clpt_late_rig *goes_on)
{
  clpt_late_arena_start_exclusive(rig, CLPT_REUSE_EITHER, false);
  napping = goes_on;
  naps = 0;
}

/* Uses a buffer of a bin of its own, which is then in flight. */
static void put_in_flight(clpt_late_rig *rig, unsigned number)
{
  size_t bytes = (size_t)(16 + number % 16) << (6 + number / 16);
  clpt_late_release_on(rig, clpt_late_take_from(rig, rig->pool, bytes, rig->s), rig->s);
}

static void end_napping(clpt_late_rig *rig)
{
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_HOST_WAIT], 0);
  napping = NULL;
  clpt_late_run_all(&rig->device);
  clpt_late_rig_end(rig);
}

/* Each is used alone, so the pool needs no more than the largest of them, and that as often as not.
 */
START_TEST(the_host_does_not_run_ahead_without_bound)
{
  clpt_late_rig rig;

  start_napping(&rig, &rig);
  for (unsigned i = 0; i < 32; i++)
    put_in_flight(&rig, i);
  ck_assert_uint_gt(naps, 0);
  ck_assert_uint_gt(clpt_late_left(&rig.device, rig.s), 0);
  ck_assert_uint_le(clpt_late_arena_figures(&rig).peak_reserved_bytes, (size_t)2 * SEGMENT);
  end_napping(&rig);
}
END_TEST

/* The oldest half of what is held goes back, the rest stays held. */
START_TEST(the_host_waits_for_half_of_what_is_in_flight)
{
  enum { BLOCKS = 8, LEFT = 3 };
  clp_buffer *active[BLOCKS];
  clpt_late_rig rig;

  start_napping(&rig, &rig);
  for (unsigned i = 0; i < BLOCKS; i++)
    active[i] = clpt_late_take_from(&rig, rig.pool, SEGMENT + 256 * i, rig.s);
  for (unsigned i = 0; i < BLOCKS; i++)
    clpt_late_release_on(&rig, active[i], rig.s);
  clp_buffer *next = clpt_late_take_from(&rig, rig.pool, SEGMENT + 256 * BLOCKS, rig.s);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, LEFT);
  clp_buffer *newest = clpt_late_take_from(&rig, rig.pool, SEGMENT + 256 * (BLOCKS - 1), rig.s);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, LEFT - 1);
  clpt_late_release_on(&rig, next, rig.s);
  clpt_late_release_on(&rig, newest, rig.s);
  end_napping(&rig);
}
END_TEST

/* What waits for the host itself would never be done. */
START_TEST(the_host_waits_in_vain_but_once)
{
  clpt_late_rig rig;

  start_napping(&rig, NULL);
  for (unsigned i = 0; i < 4; i++)
    put_in_flight(&rig, i); /* three fit into a segment */
  unsigned once = naps;
  ck_assert_uint_gt(once, 0);
  for (unsigned i = 4; i < 20; i++)
    put_in_flight(&rig, i);
  ck_assert_uint_eq(naps, once);
  ck_assert_uint_ge(clpt_late_arena_figures(&rig).segments, 4);
  clpt_late_run(&rig.device, rig.s);
  put_in_flight(&rig, 20);
  for (unsigned i = 21; i < 32; i++)
    put_in_flight(&rig, i);
  ck_assert_uint_gt(naps, once);
  end_napping(&rig);
}
END_TEST

/* As much as was ever active may be in flight without a wait. */
START_TEST(in_flight_may_be_what_was_active)
{
  clpt_late_rig rig;

  start_napping(&rig, &rig);
  clp_buffer *large = clpt_late_take_from(&rig, rig.pool, 5 * SEGMENT, rig.s);
  clpt_late_release_on(&rig, large, rig.s);
  clpt_late_run(&rig.device, rig.s);
  for (unsigned i = 0; i < 15; i++)
    put_in_flight(&rig, i);
  ck_assert_uint_eq(naps, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 15);
  end_napping(&rig);
}
END_TEST

/* Where one thread alone gives work to streams, nothing is exclusive. */
START_TEST(one_thread_overlaps)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clpt_late_device device;
  clp_allocator *arena = NULL;

  clpt_late_init(&device);
  device.ops.exclusive_parts = true;
  clp_allocator *upstream = clpt_late_allocator(&device);
  for (int one_thread = 0; one_thread < 2; one_thread++) {
    options.one_thread = one_thread;
    clpt_ok(clp_arena_allocator_create(upstream, &options, &arena));
    ck_assert(arena->ops.exclusive_parts == !one_thread);
    clp_allocator_release(arena);
  }
  clp_allocator_release(upstream);
  clpt_late_assert_ended(&device);
}
END_TEST

START_TEST(one_thread_has_its_own_at_once)
{
  clpt_late_rig rig;

  clpt_late_arena_start_exclusive(&rig, CLPT_REUSE_NEVER, true);
  rig.device.ops.exclusive_parts = false; /* the device would find the overlap */
  clp_buffer *active = leave_pending(&rig);
  clp_buffer *again = clpt_late_take(&rig, rig.s);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 1);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_MARK_CREATE], 0);
  end(&rig, active, again, rig.s);
}
END_TEST

/* Before a limit refuses, the host waits for what streams still use. */
START_TEST(a_limit_waits_for_what_is_pending)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, (unsigned)_i);
  clpt_ok(clp_pool_set_limit(rig.pool, SEGMENT));
  clp_buffer *active = clpt_late_take(&rig, rig.s);
  clpt_late_release_on(&rig, clpt_late_take_from(&rig, rig.pool, 3000, rig.s), rig.s);
  clp_buffer *next = clpt_late_take_from(&rig, rig.pool, 3000, rig.t);
  ck_assert_uint_gt(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 0);
  end(&rig, active, next, rig.t);
}
END_TEST

/* Held blocks that are still in use are waited for, too, before a limit refuses. */
START_TEST(a_limit_waits_for_exclusive_parts)
{
  clpt_late_rig rig;

  clpt_late_arena_start_exclusive(&rig, CLPT_REUSE_EITHER, false);
  clpt_ok(clp_pool_set_limit(rig.pool, SEGMENT));
  clp_buffer *active = clpt_late_take(&rig, rig.s);
  clpt_late_release_on(&rig, clpt_late_take_from(&rig, rig.pool, 1900, rig.s), rig.s);
  clp_buffer *next = clpt_late_take_from(&rig, rig.pool, 2500, rig.t);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  end(&rig, active, next, rig.t);
}
END_TEST

START_TEST(a_limit_waits_where_upstream_has_nothing_to_drain)
{
  clpt_late_rig rig;

  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, CLPT_LATE_FREES_IN_ORDER);
  rig.device.ops.drain = NULL;
  rig.home = NULL;
  clpt_late_arena_start_on(&rig, CLPT_REUSE_NEVER, false, 0.0);
  clpt_ok(clp_pool_set_limit(rig.pool, SEGMENT));
  clp_buffer *active = clpt_late_take(&rig, rig.s);
  clpt_late_release_on(&rig, clpt_late_take_from(&rig, rig.pool, 3000, rig.s), rig.s);
  clp_buffer *next = clpt_late_take_from(&rig, rig.pool, 3000, rig.t);
  end(&rig, active, next, rig.t);
}
END_TEST

/* What fails on the way to a refusal does not become its last error. */
START_TEST(a_limit_tells_itself)
{
  clpt_late_rig rig;
  clp_buffer *next = NULL;

  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, CLPT_LATE_FREES_IN_ORDER);
  clpt_ok(clp_pool_set_limit(rig.pool, SEGMENT));
  clp_buffer *active = clpt_late_take(&rig, rig.s);
  rig.device.failing = 1u << CLPT_LATE_DRAIN | 1u << CLPT_LATE_HOST_WAIT;
  rig.device.fault = (clpt_fault){.count = 100, .status = CLP_BACKEND_ERROR, .message = "broken"};
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate_on(rig.pool, 2 * SEGMENT - 1000, rig.t, &next));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate_on(rig.pool, 3500, rig.t, &next));
  rig.device.failing = 0;
  end(&rig, active, NULL, NULL);
}
END_TEST

/* What S may still use of a reserve is T's in the end, though T's pool reuses nothing: the device
 * has no other memory. */
START_TEST(a_reserve_in_use_fails_no_request)
{
  clpt_late_rig rig;

  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, (unsigned)_i);
  rig.device.capacity = SEGMENT;
  clpt_ok(clp_arena_reserve(rig.allocator, SEGMENT));
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).reserved_bytes, SEGMENT);
  clp_buffer *next = clpt_late_take(&rig, rig.t);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).reserved_bytes, SEGMENT);
  end(&rig, next, NULL, NULL);
}
END_TEST

CLPT_MAIN("order on an arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "order");

  tcase_add_loop_test(tests, its_stream_has_it_without_a_call, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, another_stream_is_made_to_wait, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, what_is_done_is_reused_without_a_wait, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, without_reuse_flags_it_is_left_alone, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, what_was_waited_for_is_usable_without_reuse_flags, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, segments_go_after_their_uses, 0, CLPT_LATE_WAYS);
  tcase_add_test(tests, growth_does_not_wait_for_unused_segments);
  tcase_add_loop_test(tests, exclusive_parts_wait_for_their_uses, 0, CLPT_REUSE_CHOICES);
  tcase_add_test(tests, exclusive_parts_in_use_stay_held);
  tcase_add_test(tests, the_host_does_not_run_ahead_without_bound);
  tcase_add_test(tests, the_host_waits_for_half_of_what_is_in_flight);
  tcase_add_test(tests, the_host_waits_in_vain_but_once);
  tcase_add_test(tests, in_flight_may_be_what_was_active);
  tcase_add_test(tests, one_thread_overlaps);
  tcase_add_test(tests, one_thread_has_its_own_at_once);
  tcase_add_loop_test(tests, a_limit_waits_for_what_is_pending, 0, CLPT_LATE_WAYS);
  tcase_add_test(tests, a_limit_waits_for_exclusive_parts);
  tcase_add_test(tests, a_limit_waits_where_upstream_has_nothing_to_drain);
  tcase_add_test(tests, a_limit_tells_itself);
  tcase_add_loop_test(tests, a_reserve_in_use_fails_no_request, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, streams_of_ranges_are_kept, 0, CLPT_LATE_WAYS);
}
