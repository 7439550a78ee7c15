/* SPDX-License-Identifier: MIT */
/* Stream order: running out of memory while streams are at work, where the allocator cannot drain
 * what is pending, and when the callback comes. */
#include "support/late_rig.h"
#include "support/suite.h"

/* --- without a drain, the pool knows which streams to wait for --- */

static void start_without_drain(clpt_late_rig *rig, clpt_late_freeing freeing)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, freeing);
  rig->device.ops.drain = NULL;
  rig->device.capacity = CLPT_LATE_BLOCK_BYTES;
  rig->home = NULL;
  clpt_late_rig_start_on(
      rig, &(clp_pool_options){.struct_size = sizeof(clp_pool_options), .initialized = 1});
}

/* So many that those which nothing needs are forgotten. */
static void use_many_streams(clpt_late_rig *rig)
{
  enum { STREAMS = 100 };
  clp_buffer *buffer;

  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig->device);
    clpt_ok(clp_pool_allocate_on(rig->pool, 0, stream, &buffer));
    clpt_ok(clp_buffer_release_on(buffer, stream));
    clpt_late_stream_drop(&rig->device, stream);
  }
}

START_TEST(an_allocator_that_cannot_drain_is_waited_for_by_its_streams)
{
  clpt_late_rig rig;

  start_without_drain(&rig, (clpt_late_freeing)_i);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 2);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(streams_that_memory_was_freed_behind_are_waited_for_however_many_came_since)
{
  clpt_late_freeing freeing = _i == 0 ? CLPT_LATE_FREES_IN_ORDER : CLPT_LATE_FREES_ON_STREAMS;
  clpt_late_rig rig;

  start_without_drain(&rig, freeing);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_pool_trim_to(rig.pool, 0));
  use_many_streams(&rig);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* As another thread might, that looks at all streams for its own ends. */
static void look_at_streams(clpt_late_device *device, clpt_late_call call)
{
  clpt_late_rig *rig = device->on_call_data;

  if (call != CLPT_LATE_HOST_WAIT || rig == NULL)
    return;
  device->on_call_data = NULL;
  use_many_streams(rig);
}

START_TEST(streams_that_others_look_at_meanwhile_are_all_waited_for)
{
  clpt_late_rig rig;
  clp_buffer *bound[2];

  start_without_drain(&rig, CLPT_LATE_FREES_ON_STREAMS);
  clpt_ok(clp_pool_allocate_on(rig.pool, 0, rig.s, &bound[0]));
  clpt_ok(clp_buffer_bind(bound[0], rig.s));
  clpt_ok(clp_pool_allocate_on(rig.pool, 0, rig.t, &bound[1]));
  clpt_ok(clp_buffer_bind(bound[1], rig.t)); /* so it is waited for before s */
  clpt_late_hold(&rig, rig.s);
  rig.device.on_call_data = &rig;
  rig.device.on_call = look_at_streams;
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.u), rig.u));
  ck_assert_ptr_null(rig.device.on_call_data);
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_buffer_release(bound[i]));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- the callback --- */

/* In traces, A is allocate, D drain, C this. */
static bool note(clp_pool *pool, size_t bytes, void *rig)
{
  (void)pool, (void)bytes;
  clpt_late_note(&((clpt_late_rig *)rig)->device, 'C');
  return false;
}

START_TEST(the_callback_comes_after_the_waiting)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_late_rig rig;
  clp_buffer *active, *none = (clp_buffer *)&rig;

  options.on_out_of_memory = note;
  options.user_data = &rig;
  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, (clpt_late_freeing)_i);
  rig.device.capacity = (size_t)2 * CLPT_LATE_BLOCK_BYTES + 1;
  rig.home = NULL;
  clpt_late_rig_start_on(&rig, &options);
  active = clpt_late_take(&rig, rig.s);
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_pool_allocate_on(rig.pool, 2 * CLPT_LATE_BLOCK_BYTES + 1, rig.t, &none));
  ck_assert_ptr_null(none);
  ck_assert_ptr_nonnull(strchr(rig.device.trace, 'D'));
  ck_assert_str_eq(strchr(rig.device.trace, 'D'), "DA!C");
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, CLPT_LATE_BLOCK_BYTES);
  clpt_ok(clp_buffer_release_on(active, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_MAIN("order: out of memory", clpt_run)
{
  TCase *tests = clpt_case(suite, "ladder");

  tcase_add_loop_test(tests, an_allocator_that_cannot_drain_is_waited_for_by_its_streams, 0,
                      CLPT_LATE_FREEINGS);
  tcase_add_loop_test(
      tests, streams_that_memory_was_freed_behind_are_waited_for_however_many_came_since, 0, 2);
  tcase_add_test(tests, streams_that_others_look_at_meanwhile_are_all_waited_for);
  tcase_add_loop_test(tests, the_callback_comes_after_the_waiting, 0, CLPT_LATE_FREEINGS);
}
