/* SPDX-License-Identifier: MIT */
/* An arena where each call in turn fails: of host memory, of the device, of making parts and taking
 * them back. Nothing is lost, figures are as before, and all goes back in the end. */
#include "core/allocator/allocator.h"
#include "support/arena_model.h"
#include "support/arenas.h"
#include "support/failmalloc.h"
#include "support/host_failures.h"
#include "support/late_arena.h"
#include "support/suite.h"

/* --- programs beside the model --- */

START_TEST(host_memory_fails_when_it_is_made)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clpt_arena_setup();
  clp_allocator *upstream = clpt_device_allocator(&clpt_arena_device), *arena = NULL;
  options.reserve_bytes = 20 * CLPT_SEGMENT;
  options.max_segment_bytes = CLPT_SEGMENT;
  clpt_host_failures each = {0};
  while (!each.is_over) {
    clpt_host_fail_next(&each);
    clp_status status = clp_arena_allocator_create(upstream, &options, &arena);
    clpt_host_check(&each, status);
    ck_assert(!status == !!arena);
    ck_assert_uint_eq(clpt_arena_device.live_blocks, status ? 0 : 20);
  }
  ck_assert_uint_gt(each.count, 2);
  clp_allocator_release(arena);
  clp_allocator_release(upstream);
  clpt_device_assert_ended(&clpt_arena_device);
}
END_TEST

/* --- two at once --- */

static clpt_late_rig rig;
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

static void fail_after(clpt_late_call call, clpt_late_call failing, clp_status status)
{
  last_call = call;
  rig.device.on_call = watch;
  rig.device.failing = status ? 1u << failing : 0;
  rig.device.fault = (clpt_fault){.count = 1, .status = status, .message = "not now"};
}

static void fail_no_more(void)
{
  (void)clpt_host_stop();
  rig.device.on_call = NULL;
  rig.device.outside = NULL;
  rig.device.failing = 0;
}

/* Its block was lost. */
START_TEST(a_part_and_host_memory_fail)
{
  clp_buffer *refused = NULL;
  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, CLPT_LATE_FREES_IN_ORDER);
  rig.home = clpt_late_stream_new(&rig.device);
  clpt_late_arena_start_on(&rig, CLPT_REUSE_EITHER, false, 0.0);
  clp_buffer *kept = clpt_late_take(&rig, rig.s);
  clpt_late_hold(&rig, rig.t);
  fail_after(CLPT_LATE_SPLIT, CLPT_LATE_SPLIT, CLP_OUT_OF_HOST_MEMORY);
  clp_status status = clp_pool_allocate(rig.pool, 2000, &refused);
  fail_no_more();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  clp_pool_stats stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).used_blocks,
                    stats.active_blocks + stats.held_blocks);
  clpt_late_release_on(&rig, kept, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).segments, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

/* It went back while the home stream had work on it, and was lost if the device refused it. */
START_TEST(a_segment_is_not_freed_under_its_work)
{
  clp_buffer *buffer = NULL;
  clpt_late_init(&rig.device);
  if (_i / 2)
    clpt_late_set_addresses(&rig.device);
  rig.device.ops.allocate_uses_home = true;
  rig.home = clpt_late_stream_new(&rig.device);
  clpt_late_arena_start_on(&rig, CLPT_REUSE_EITHER, false, 0.0);
  clpt_late_hold(&rig, rig.t); /* streams are known */
  clpt_ok(clp_pool_free_held(rig.pool));
  fail_after(CLPT_LATE_ALLOCATE, CLPT_LATE_FREE, _i % 2 ? CLP_BACKEND_ERROR : CLP_SUCCESS);
  clp_status status = clp_pool_allocate_on(rig.pool, 1000, rig.t, &buffer);
  fail_no_more();
  ck_assert(!status == !!buffer);
  ck_assert(!status || status == CLP_OUT_OF_HOST_MEMORY);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_late_arena_figures(&rig).used_blocks, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_SUITE("failures of an arena")
{
  TCase *tests = clpt_case(suite, "failures");
  tcase_add_test(tests, host_memory_fails_when_it_is_made);
  tcase_add_test(tests, a_part_and_host_memory_fail);
  tcase_add_loop_test(tests, a_segment_is_not_freed_under_its_work, 0, 4);
}
