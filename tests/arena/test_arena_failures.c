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

static clpt_model model;

/* Passes that repeat themselves, with trims, figures and reserves in between. */
static void run(unsigned passes, unsigned steps)
{
  for (unsigned i = 0; i < passes; i++) {
    clpt_chance chance = clpt_chance_seed(1);
    for (unsigned j = 0; j < steps; j++) {
      unsigned slot = (unsigned)clpt_chance_below(&chance, CLPT_SLOTS);
      size_t bytes = 1 + (size_t)clpt_chance_below(&chance, 64u << clpt_chance_below(&chance, 10));
      clpt_model_toggle(&model, slot, bytes, i == 3 ? j % CLPT_USERS : 0);
      if (i == 3 && j % 64 == 0)
        clpt_model_trim(&model, 20000, 0);
      if (i == 3 && j % 100 == 0)
        clpt_model_reserve(&model, j * 300);
    }
    clpt_model_free_all(&model);
  }
}

static void start_model(void)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = 0.1;
  memset(&model, 0, sizeof(model));
  clpt_model_start(&model, &options);
  model.may_lack = true;
}

START_TEST(host_memory_fails_at_each_call)
{
  clpt_host_failure failure = _i ? CLPT_HOST_STAYS_OUT : CLPT_HOST_FAILS_ONCE;
  unsigned long nth = 0;
  for (bool has_failed = true; has_failed; nth += 1 + nth / 8) {
    long live = clpt_host_live();
    clpt_host_start(CLPT_HOST_COUNTS, 0);
    start_model();
    (void)clpt_host_stop();
    clpt_host_start(failure, nth);
    run(5, 300);
    (void)clpt_host_stop();
    has_failed = clpt_host_failed();
    clpt_host_start(CLPT_HOST_COUNTS, 0);
    clpt_model_look(&model);
    run(1, 300); /* as if nothing had been */
    clpt_model_look(&model);
    clpt_model_end(&model);
    (void)clpt_host_stop();
    ck_assert_msg(!model.wrong[0], "call %lu: %s", nth, model.wrong);
    ck_assert_int_eq(clpt_host_live(), live);
  }
  ck_assert_uint_gt(nth, 20);
}
END_TEST

/* Where memory comes in many segments; one call, or several, of taking and giving back. */
START_TEST(the_device_fails_at_each_call)
{
  unsigned nth = 0;
  for (bool has_failed = true; has_failed; nth += 1 + nth / 8) {
    long live = clpt_host_live();
    clpt_host_start(CLPT_HOST_COUNTS, 0);
    start_model();
    model.fails_after = nth;
    model.refusals = (unsigned)_i;
    run(5, 300);
    has_failed = model.refusals < (unsigned)_i;
    clpt_model_look(&model);
    model.refusals = 0;
    run(1, 300);
    clpt_model_look(&model);
    clpt_model_end(&model);
    (void)clpt_host_stop();
    ck_assert_msg(!model.wrong[0], "call %u: %s", nth, model.wrong);
    ck_assert_int_eq(clpt_host_live(), live);
  }
  ck_assert_uint_gt(nth, 20);
}
END_TEST

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

/* --- parts --- */

enum { SLOTS = 24 };

/* A program on a pool that holds blocks, of whose calls some may fail. */
static void use_parts(clp_pool *pool, bool may_fail)
{
  clp_buffer *slots[SLOTS] = {NULL};
  clpt_chance chance = clpt_chance_seed(4);
  for (unsigned i = 0; i < 200; i++) {
    clp_buffer **slot = &slots[clpt_chance_below(&chance, SLOTS)];
    size_t bytes = 1 + (size_t)clpt_chance_below(&chance, 64u << i % 11);
    size_t active = clpt_stats(pool).active_blocks;
    clp_status status = *slot ? clp_buffer_release(*slot) : clp_pool_allocate(pool, bytes, slot);
    clp_pool_stats stats = clpt_stats(pool);
    if (stats.active_blocks < active) /* also if the device did not take it back */
      *slot = NULL;
    else
      ck_assert_uint_eq(stats.active_blocks, active + !status);
    if (i % 32 == 31 && !status)
      status = clp_pool_free_held(pool);
    ck_assert(!status || may_fail);
    stats = clpt_stats(pool);
    ck_assert_uint_eq(clpt_arena_figures().used_blocks, stats.active_blocks + stats.held_blocks);
  }
  for (size_t i = 0; i < SLOTS; i++)
    clpt_ok(clp_buffer_release(slots[i]));
}

static const struct {
  clpt_fault *fault;
  clp_status status;
} part_faults[] = {
    {&clpt_split_fault, CLP_BACKEND_ERROR},
    {&clpt_split_fault, CLP_OUT_OF_HOST_MEMORY},
    {&clpt_split_fault, CLP_OUT_OF_DEVICE_MEMORY},
    {&clpt_unsplit_fault, CLP_BACKEND_ERROR},
    {&clpt_arena_device.free_fault, CLP_BACKEND_ERROR},
    {&clpt_arena_device.allocate_fault, CLP_BACKEND_ERROR},
    {&clpt_arena_device.allocate_fault, CLP_OUT_OF_DEVICE_MEMORY},
};

START_TEST(parts_fail_at_each_call)
{
  unsigned count = 0, least = 0;
  for (unsigned nth = 0; count == 0; nth += 1 + nth / 8) {
    clp_arena_options options = clpt_arena_small();
    clpt_arena_setup_parts();
    options.min_segment_bytes = 4096;
    clpt_arena_start_with(&options);
    clp_pool *pool = clpt_pool(clpt_arena);
    clpt_fault *fault = part_faults[_i].fault;
    *fault = (clpt_fault){
        .after = nth, .count = 1, .status = part_faults[_i].status, .message = "on purpose"};
    use_parts(pool, true);
    least = nth;
    count = fault->count;
    *fault = (clpt_fault){0};
    use_parts(pool, false);
    clp_pool_release(pool);
    clpt_arena_end();
  }
  ck_assert_uint_gt(least, 10);
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

CLPT_MAIN("failures of an arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "failures");
  tcase_add_loop_test(tests, host_memory_fails_at_each_call, 0, 2);
  tcase_add_loop_test(tests, the_device_fails_at_each_call, 1, 4);
  tcase_add_test(tests, host_memory_fails_when_it_is_made);
  tcase_add_loop_test(tests, parts_fail_at_each_call, 0,
                      sizeof(part_faults) / sizeof(part_faults[0]));
  tcase_add_test(tests, a_part_and_host_memory_fail);
  tcase_add_loop_test(tests, a_segment_is_not_freed_under_its_work, 0, 4);
}
