/* SPDX-License-Identifier: MIT */
/* Memory of an arena that streams may still use: who gets it, and who waits. Random programs are in
 * tests/model. */
#include "support/late_rig.h"
#include "support/suite.h"

#include <clpool/log.h>
#include <time.h>

enum { SEGMENT = CLPT_LATE_SEGMENT, MANY_STREAMS = 80 };

static clpt_late_rig rig;

static clp_buffer *take(size_t bytes, clp_stream stream)
{
  return clpt_late_take_from(&rig, rig.pool, bytes, stream);
}

static void give(clp_buffer *buffer, clp_stream stream)
{
  clpt_late_release_on(&rig, buffer, stream);
}

/* A block that S still has to use goes back to the arena beside an active one, so that its segment
 * stays; returns the active one. */
static clp_buffer *leave_pending(void)
{
  clp_buffer *active = take(CLPT_LATE_BYTES, rig.s);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_late_clear(&rig.device);
  return active;
}

/* Releases what is left: one of S, and one of a stream. */
static void end(clp_buffer *active, clp_buffer *other, clp_stream stream)
{
  if (active)
    give(active, rig.s);
  if (other)
    give(other, stream);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).used_blocks, 0);
  clpt_late_run_all(&rig.device);
  clpt_late_rig_end(&rig);
}

/* --- what is pending --- */

/* Who gets it, with which flags, whether S is done by then; whether T then waits for S, and whether
 * it is other memory, as that which S never used. */
static const struct {
  unsigned reuse_flags;
  bool is_own, is_done, waits, is_other;
} takers[] = {
    {.reuse_flags = CLPT_REUSE_NEVER, .is_own = true},
    {.reuse_flags = CLP_REUSE_INTERNAL_DEPENDENCIES, .waits = true},
    {.reuse_flags = CLPT_REUSE_EITHER, .is_done = true},
    {.reuse_flags = CLP_REUSE_OPPORTUNISTIC, .is_done = true},
    {.reuse_flags = CLP_REUSE_OPPORTUNISTIC, .is_other = true},
    {.reuse_flags = CLPT_REUSE_NEVER, .is_other = true},
};

START_TEST(who_gets_what_is_pending)
{
  clp_buffer *others[4];
  size_t i = (size_t)_i / CLPT_LATE_WAYS, count = takers[i].is_other ? 4 : 1;
  clpt_late_arena_start(&rig, takers[i].reuse_flags, (unsigned)_i % CLPT_LATE_WAYS);
  clp_stream by = takers[i].is_own ? rig.s : rig.t;
  clp_buffer *active = leave_pending();
  if (takers[i].is_done)
    clpt_late_run(&rig.device, rig.s);
  for (size_t j = 0; j < count; j++)
    others[j] = take(CLPT_LATE_BYTES, by);
  if (!takers[i].is_own)
    ck_assert(clpt_late_is_held_up(&rig.device, rig.t) == takers[i].waits);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], takers[i].waits);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  ck_assert_int_eq(rig.device.calls[CLPT_LATE_ALLOCATE] > 0, takers[i].is_other);
  for (size_t j = 1; j < count; j++)
    give(others[j], by);
  end(active, others[0], by);
}
END_TEST

/* A stream whose work a free range still waits for is not forgotten, however many come and go. */
START_TEST(streams_of_ranges_are_kept)
{
  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, (unsigned)_i);
  clp_buffer *active = leave_pending();
  for (size_t i = 0; i < MANY_STREAMS; i++) {
    clp_stream passing = clpt_late_stream_new(&rig.device);
    clp_buffer *buffer = take(3 * SEGMENT, passing);
    clpt_late_run(&rig.device, passing);
    give(buffer, passing);
    clpt_ok(clp_pool_free_held(rig.pool));
    clpt_late_run(&rig.device, passing); /* else its memory is not back yet */
    clpt_late_stream_drop(&rig.device, passing);
  }
  ck_assert_uint_lt(clpt_late_retains(&rig.device), 2 * MANY_STREAMS);
  clp_buffer *other = take(CLPT_LATE_BYTES, rig.t);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  end(active, other, rig.t);
}
END_TEST

/* --- waits --- */

/* The library's naps, during each of which S goes on, or does not. */
static unsigned naps;
static bool goes_on;

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  naps++;
  for (int i = 0; i < 2 && goes_on; i++)
    (void)clpt_late_step(&rig.device, rig.s);
  return 0;
}

/* Uses buffers of bins of their own, which are then in flight. How often the host waited. */
static unsigned put_in_flight(unsigned first, unsigned last)
{
  naps = 0;
  for (; first < last; first++)
    give(take((size_t)(16 + first % 16) << (6 + first / 16), rig.s), rig.s);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  return naps;
}

/* Each is used alone, so the pool needs no more than the largest of them, and that as often as not;
 * but as much as was ever active may be in flight without a wait. */
START_TEST(the_host_does_not_run_ahead_without_bound)
{
  goes_on = true;
  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, CLPT_LATE_EXCLUSIVE);
  ck_assert_uint_gt(put_in_flight(0, 32), 0);
  ck_assert_uint_gt(clpt_late_left(&rig.device, rig.s), 0);
  ck_assert_uint_le(clpt_late_arena_figures(&rig).peak_reserved_bytes, (size_t)2 * SEGMENT);
  clpt_late_run(&rig.device, rig.s);
  give(take(5 * SEGMENT, rig.s), rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_late_run(&rig.device, rig.s);
  ck_assert_uint_eq(put_in_flight(0, 15), 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 15);
  end(NULL, NULL, NULL);
}
END_TEST

/* What waits for the host itself would never be done, nor would what has no mark. */
START_TEST(the_host_waits_in_vain_but_once)
{
  goes_on = false;
  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, CLPT_LATE_EXCLUSIVE);
  rig.device.failing = _i ? 1u << CLPT_LATE_MARK_CREATE : 0;
  rig.device.fault = (clpt_fault){.count = 1000, .status = CLP_BACKEND_ERROR};
  ck_assert_int_eq(put_in_flight(0, 4) > 0, !_i); /* three fit into a segment */
  ck_assert_uint_eq(put_in_flight(4, 20), 0);
  ck_assert_uint_ge(clpt_late_arena_figures(&rig).segments, 4);
  clpt_late_run(&rig.device, rig.s);
  ck_assert_int_eq(put_in_flight(20, 32) > 0, !_i);
  end(NULL, NULL, NULL);
}
END_TEST

/* --- before a request is refused --- */

/* The host waits for what streams still use: before the device refuses, or a limit, which then
 * waits for held blocks, too, that are exclusive. */
START_TEST(the_host_waits_before_a_refusal)
{
  bool is_limit = _i / CLPT_LATE_WAYS, is_exclusive = _i == 2 * CLPT_LATE_WAYS;
  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER,
                        is_exclusive ? CLPT_LATE_EXCLUSIVE : (unsigned)_i % CLPT_LATE_WAYS);
  rig.device.capacity = is_limit ? 0 : SEGMENT;
  clpt_ok(clp_pool_set_limit(rig.pool, is_limit ? SEGMENT : 0));
  clp_buffer *active = take(CLPT_LATE_BYTES, rig.s);
  give(take(3000, rig.s), rig.s);
  clp_buffer *next = take(3000, rig.t);
  ck_assert(rig.device.calls[CLPT_LATE_HOST_WAIT] || is_exclusive);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, !is_limit);
  end(active, next, rig.t);
}
END_TEST

static void count_error(clp_log_level level, const char *message, void *count)
{
  *(unsigned *)count += level == CLP_LOG_ERROR && strstr(message, "an arena");
}

START_TEST(what_upstream_does_not_take_back_is_logged)
{
  clp_allocator *arena;
  unsigned errors = 0;
  clpt_late_init(&rig.device);
  clp_allocator *upstream = clpt_late_allocator(&rig.device);
  clpt_ok(clp_arena_allocator_create(upstream, NULL, &arena));
  clpt_ok(clp_allocator_free(arena, clpt_memory(arena, 1000), 1000));
  rig.device.failing = 1u << CLPT_LATE_UNSPLIT | 1u << CLPT_LATE_FREE;
  rig.device.fault = (clpt_fault){.count = 2, .status = CLP_BACKEND_ERROR};
  clp_set_log(count_error, &errors);
  clp_allocator_release(arena);
  ck_assert_uint_eq(errors, 2);
  clp_set_log(NULL, NULL);
  clp_allocator_release(upstream);
  clpt_late_end(&rig.device);
}
END_TEST

CLPT_SUITE("order on an arena")
{
  TCase *tests = clpt_case(suite, "order");
  tcase_add_loop_test(tests, who_gets_what_is_pending, 0,
                      CLPT_LATE_WAYS * sizeof(takers) / sizeof(takers[0]));
  tcase_add_loop_test(tests, streams_of_ranges_are_kept, 0, CLPT_LATE_WAYS);
  tcase_add_test(tests, the_host_does_not_run_ahead_without_bound);
  tcase_add_test(tests, what_upstream_does_not_take_back_is_logged);
  tcase_add_loop_test(tests, the_host_waits_in_vain_but_once, 0, 2);
  tcase_add_loop_test(tests, the_host_waits_before_a_refusal, 0, 2 * CLPT_LATE_WAYS + 1);
}
