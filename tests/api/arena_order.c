/* SPDX-License-Identifier: MIT */
/* Memory of an arena that streams may still use: who gets it, who waits, and what a failure then
 * leaves. Random programs are in tests/model. */
#include "support/failmalloc.h"
#include "support/late_arena.h"
#include "support/suite.h"

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

static size_t segments(void)
{
  return clpt_late_arena_figures(&rig).segments;
}

/* A block that S still has to use goes back to the arena beside an active one, so that its segment
 * stays; returns the active one. */
static clp_buffer *leave_pending(void)
{
  clp_buffer *active = take(CLPT_LATE_BYTES, rig.s);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
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
    {.reuse_flags = CLPT_REUSE_EITHER, .waits = true},
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

/* A segment goes back after all that its blocks were used for: as the device orders frees. */
START_TEST(segments_go_after_their_uses)
{
  static const char *const calls[] = {[CLPT_LATE_FREES_AT_ONCE] = "HF",
                                      [CLPT_LATE_FREES_IN_ORDER] = "F",
                                      [CLPT_LATE_FREES_ON_STREAMS] = "O"};
  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, (unsigned)_i);
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_str_eq(rig.device.trace, calls[_i % CLPT_LATE_FREEINGS]);
  ck_assert_uint_eq(segments(), 0);
  end(NULL, NULL, NULL);
}
END_TEST

/* Also a segment that more streams used than a free range notes. */
START_TEST(an_idle_segment_of_many_streams_goes)
{
  enum { STREAMS = 6 };
  clp_stream streams[STREAMS];
  clp_buffer *buffers[STREAMS];
  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, (unsigned)_i);
  for (size_t i = 0; i < STREAMS; i++) {
    streams[i] = clpt_late_stream_new(&rig.device);
    buffers[i] = take(SEGMENT / 8, streams[i]);
  }
  for (size_t i = 0; i < STREAMS; i++)
    give(buffers[i], streams[i]);
  for (int i = 0; i < 4; i++) { /* blocks that the pool held are the arena's then */
    clpt_ok(clp_pool_trim_idle(rig.pool, 0));
    if (i == 1)
      clpt_late_run_all(&rig.device);
  }
  ck_assert_uint_eq(segments(), 0);
  for (size_t i = 0; i < STREAMS; i++)
    clpt_late_stream_drop(&rig.device, streams[i]);
  end(NULL, NULL, NULL);
}
END_TEST

/* Growing never makes the host wait: a segment that could only go so stays for now. */
START_TEST(growth_does_not_wait_for_unused_segments)
{
  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, CLPT_LATE_FREES_AT_ONCE);
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clp_buffer *large = take(4 * SEGMENT, rig.t);
  ck_assert_str_eq(rig.device.trace, "A");
  ck_assert_uint_eq(segments(), 2);
  end(NULL, large, rig.t);
}
END_TEST

/* A stream whose work a free range still waits for is not forgotten, however many come and go. */
START_TEST(streams_of_ranges_are_kept)
{
  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, (unsigned)_i);
  clp_buffer *active = leave_pending(), *filler = take(SEGMENT / 4, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
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
  give(filler, rig.s);
  end(active, other, rig.t);
}
END_TEST

/* --- exclusive parts --- */

/* Not even its own stream has it before, nor what it became one with, which takes a second segment;
 * then, as the flags allow. */
START_TEST(exclusive_parts_wait_for_their_uses)
{
  clpt_late_arena_start(&rig, (unsigned)_i, CLPT_LATE_EXCLUSIVE);
  clp_buffer *active = leave_pending(), *early = take(CLPT_LATE_BYTES, rig.s);
  ck_assert_uint_eq(segments(), 2);
  clpt_late_run(&rig.device, rig.s);
  clp_buffer *last = take(CLPT_LATE_BYTES, rig.s), *again = take(CLPT_LATE_BYTES, rig.s);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  give(last, rig.s);
  give(again, rig.s);
  ck_assert_uint_eq(segments(), 2);
  end(active, early, rig.s);
}
END_TEST

/* The library's naps, during each of which S goes on, or does not. */
static unsigned naps;
static bool goes_on;

int __wrap_nanosleep(const struct timespec *duration, struct timespec *left);
int __wrap_nanosleep(const struct timespec *duration, struct timespec *left)
{
  (void)duration, (void)left;
  naps++;
  for (int i = 0; i < 2 && goes_on; i++)
    (void)clpt_late_step(&rig.device, rig.s);
  return 0;
}

/* Uses buffers of bins of their own, which are then in flight. Returns how often the host waited.
 */
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

/* What waits for the host itself would never be done. */
START_TEST(the_host_waits_in_vain_but_once)
{
  goes_on = false;
  clpt_late_arena_start(&rig, CLPT_REUSE_EITHER, CLPT_LATE_EXCLUSIVE);
  ck_assert_uint_gt(put_in_flight(0, 4), 0); /* three fit into a segment */
  ck_assert_uint_eq(put_in_flight(4, 20), 0);
  ck_assert_uint_ge(segments(), 4);
  clpt_late_run(&rig.device, rig.s);
  ck_assert_uint_gt(put_in_flight(20, 32), 0);
  end(NULL, NULL, NULL);
}
END_TEST

/* --- before a request is refused --- */

/* The host waits for what streams still use: before a limit refuses, or the device. */
START_TEST(the_host_waits_before_a_refusal)
{
  bool is_limit = _i / CLPT_LATE_WAYS;
  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, (unsigned)_i % CLPT_LATE_WAYS);
  rig.device.capacity = is_limit ? 0 : SEGMENT;
  clpt_ok(clp_pool_set_limit(rig.pool, is_limit ? SEGMENT : 0));
  clp_buffer *active = take(CLPT_LATE_BYTES, rig.s);
  give(take(3000, rig.s), rig.s);
  clp_buffer *next = take(3000, rig.t);
  ck_assert_uint_gt(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, !is_limit);
  end(active, next, rig.t);
}
END_TEST

/* Also where upstream has nothing to drain; and for held blocks that are exclusive. */
START_TEST(a_limit_waits_for_all)
{
  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, CLPT_LATE_FREES_IN_ORDER);
  rig.device.ops.exclusive_parts = _i;
  if (!_i)
    rig.device.ops.drain = NULL;
  goes_on = false;
  clpt_late_arena_start_on(&rig, _i ? CLPT_REUSE_EITHER : CLPT_REUSE_NEVER, &clpt_late_small);
  clpt_ok(clp_pool_set_limit(rig.pool, SEGMENT));
  clp_buffer *active = take(CLPT_LATE_BYTES, rig.s);
  give(take(1900, rig.s), rig.s);
  clp_buffer *next = take(2500, rig.t);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  end(active, next, rig.t);
}
END_TEST

/* What fails on the way to a refusal does not become its last error. */
START_TEST(a_limit_tells_itself)
{
  clp_buffer *next = NULL;
  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, CLPT_LATE_FREES_IN_ORDER);
  clpt_ok(clp_pool_set_limit(rig.pool, SEGMENT));
  clp_buffer *active = take(CLPT_LATE_BYTES, rig.s);
  rig.device.failing = 1u << CLPT_LATE_DRAIN | 1u << CLPT_LATE_HOST_WAIT;
  rig.device.fault = (clpt_fault){.count = 100, .status = CLP_BACKEND_ERROR, .message = "broken"};
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate_on(rig.pool, 2 * SEGMENT - 1000, rig.t, &next));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate_on(rig.pool, 3500, rig.t, &next));
  rig.device.failing = 0;
  end(active, NULL, NULL);
}
END_TEST

/* What S may still use of a reserve is T's in the end, though T's pool reuses nothing: the device
 * has no other memory. */
START_TEST(a_reserve_in_use_fails_no_request)
{
  clpt_late_arena_start(&rig, CLPT_REUSE_NEVER, (unsigned)_i);
  rig.device.capacity = SEGMENT;
  clpt_ok(clp_arena_reserve(rig.allocator, SEGMENT));
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).reserved_bytes, SEGMENT);
  clp_buffer *next = take(CLPT_LATE_BYTES, rig.t);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).reserved_bytes, SEGMENT);
  end(NULL, next, rig.t);
}
END_TEST

/* --- two failures at once --- */

static clpt_late_call last_call;

/* Host memory is out once such a call is over; but the device's own never fails. */
static void be_out(bool is_outside)
{
  if (!is_outside)
    clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clpt_host_count(!is_outside);
}

static void watch(clpt_late_device *device, clpt_late_call call)
{
  if (call == last_call)
    device->outside = be_out;
}

/* A part of a block that is refused was lost; and a segment that goes back while the home stream
 * has work on it, if the device refuses that. */
START_TEST(a_call_and_host_memory_fail)
{
  bool is_part = _i == 4;
  clp_buffer *kept = NULL, *buffer = NULL;
  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, is_part ? CLPT_LATE_FREES_IN_ORDER : CLPT_LATE_FREES_AT_ONCE);
  if (_i / 2 == 1)
    clpt_late_set_addresses(&rig.device);
  rig.device.ops.allocate_uses_home = !is_part;
  rig.home = clpt_late_stream_new(&rig.device);
  clpt_late_arena_start_on(&rig, CLPT_REUSE_EITHER, &clpt_late_small);
  if (is_part)
    kept = clpt_late_take(&rig, rig.s);
  clpt_late_hold(&rig, rig.t); /* streams are known */
  if (!is_part)
    clpt_ok(clp_pool_free_held(rig.pool));
  last_call = is_part ? CLPT_LATE_SPLIT : CLPT_LATE_ALLOCATE;
  rig.device.on_call = watch;
  rig.device.failing = is_part ? 1u << CLPT_LATE_SPLIT : _i % 2 ? 1u << CLPT_LATE_FREE : 0;
  rig.device.fault = (clpt_fault){.count = 1,
                                  .status = is_part ? CLP_OUT_OF_HOST_MEMORY : CLP_BACKEND_ERROR,
                                  .message = "not now"};
  clp_status status = clp_pool_allocate_on(rig.pool, 2000, rig.t, &buffer);
  (void)clpt_host_stop();
  rig.device.on_call = NULL;
  rig.device.outside = NULL;
  rig.device.failing = 0;
  ck_assert(!status == !!buffer);
  ck_assert(status == CLP_OUT_OF_HOST_MEMORY || (!status && !is_part));
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  end(kept, NULL, NULL);
}
END_TEST

CLPT_SUITE("order on an arena")
{
  TCase *tests = clpt_case(suite, "order");
  tcase_add_loop_test(tests, who_gets_what_is_pending, 0,
                      CLPT_LATE_WAYS * sizeof(takers) / sizeof(takers[0]));
  tcase_add_loop_test(tests, segments_go_after_their_uses, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, an_idle_segment_of_many_streams_goes, 0, CLPT_LATE_WAYS);
  tcase_add_test(tests, growth_does_not_wait_for_unused_segments);
  tcase_add_loop_test(tests, streams_of_ranges_are_kept, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, exclusive_parts_wait_for_their_uses, 0, CLPT_REUSE_CHOICES);
  tcase_add_test(tests, the_host_does_not_run_ahead_without_bound);
  tcase_add_test(tests, the_host_waits_in_vain_but_once);
  tcase_add_loop_test(tests, the_host_waits_before_a_refusal, 0, 2 * CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, a_limit_waits_for_all, 0, 2);
  tcase_add_test(tests, a_limit_tells_itself);
  tcase_add_loop_test(tests, a_reserve_in_use_fails_no_request, 0, CLPT_LATE_WAYS);
  tcase_add_loop_test(tests, a_call_and_host_memory_fail, 0, 5);
}
