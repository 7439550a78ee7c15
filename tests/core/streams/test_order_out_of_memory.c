/* SPDX-License-Identifier: MIT */
/* Stream order: the out-of-memory ladder where streams are at work: pending work is waited for, in
 * its turn, and the request then succeeds. In traces, A is allocate, F free, O free on a stream, D
 * drain, C the callback. */
#include "support/late_rig.h"
#include "support/suite.h"

/* The rest of a ladder for one block that a stream uses, after the device has refused. */
static const char *const freed[CLPT_LATE_FREEINGS] = {"FA", "FA!DA", "OA!DA"};
static const char *const freed_in_vain[CLPT_LATE_FREEINGS] = {"FA!DA!", "FA!DA!", "OA!DA!"};

typedef struct helper {
  clpt_late_rig *rig;
  clp_buffer *buffer; /* to release on s, once; NULL: it cannot help */
} helper;

static bool help(clp_pool *pool, size_t bytes, void *user_data)
{
  helper *self = user_data;
  clp_buffer *buffer = self->buffer;

  (void)pool, (void)bytes;
  clpt_late_note(&self->rig->device, 'C');
  self->buffer = NULL;
  if (buffer != NULL)
    clpt_ok(clp_buffer_release_on(buffer, self->rig->s));
  return buffer != NULL;
}

/* A device of `blocks` blocks, on which blocks stay with their streams. */
static void start(clpt_late_rig *rig, helper *self, size_t blocks, clpt_late_freeing freeing)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  *self = (helper){.rig = rig};
  options.reuse_flags = CLPT_REUSE_NEVER;
  options.on_out_of_memory = help;
  options.user_data = self;
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, freeing);
  rig->device.capacity = blocks * (CLPT_LATE_BLOCK_BYTES + 1);
  rig->home = NULL;
  clpt_late_rig_start_on(rig, &options);
}

/* How often the host waits is the pool's affair; that it waits before a free which needs it, the
 * device checks. */
static void assert_trace(const clpt_late_rig *rig, const char *expected)
{
  const char *trace = rig->device.trace;
  char without_waits[sizeof(rig->device.trace)];
  size_t length = 0;

  for (const char *letter = trace; *letter != '\0'; letter++)
    if (*letter != 'H')
      without_waits[length++] = *letter;
  without_waits[length] = '\0';
  ck_assert_str_eq(without_waits, expected);
}

START_TEST(own_blocks_that_streams_use_are_freed_and_waited_for)
{
  clpt_late_rig rig;
  helper self;
  char trace[16] = "A!";

  start(&rig, &self, 1, (clpt_late_freeing)_i);
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
  assert_trace(&rig, strcat(trace, freed[_i]));
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 1);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_request_without_a_stream_is_served_so_too)
{
  clpt_late_rig rig;
  helper self;
  clp_buffer *buffer;

  start(&rig, &self, 1, (clpt_late_freeing)_i);
  clpt_late_hold(&rig, rig.s);
  buffer = clpt_late_take_unordered(&rig, rig.t);
  clpt_late_finish(&rig.device, rig.t);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(other_pools_blocks_that_streams_use_are_freed_and_waited_for)
{
  clpt_late_rig rig;
  helper self;
  clp_pool *other;
  char trace[16] = "A!";

  start(&rig, &self, 1, (clpt_late_freeing)_i);
  other = clpt_late_pool(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_buffer_release_on(clpt_late_take_from(&rig, other, CLPT_LATE_BYTES, rig.s), rig.s));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
  assert_trace(&rig, strcat(trace, freed[_i]));
  ck_assert_uint_eq(clpt_stats(other).held_blocks, 0);
  clp_pool_release(other);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(what_was_freed_before_and_is_not_back_is_waited_for)
{
  clpt_late_freeing freeing = _i == 0 ? CLPT_LATE_FREES_IN_ORDER : CLPT_LATE_FREES_ON_STREAMS;
  clpt_late_rig rig;
  helper self;

  start(&rig, &self, 1, freeing);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
  assert_trace(&rig, "A!DA");
  clpt_late_rig_end(&rig);
}
END_TEST

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

START_TEST(the_callback_comes_after_the_waiting)
{
  clpt_late_rig rig;
  helper self;
  clp_buffer *active, *none = (clp_buffer *)&rig;
  clp_pool_stats before, after;
  char trace[16] = "A!";

  start(&rig, &self, 2, (clpt_late_freeing)_i);
  active = clpt_late_take(&rig, rig.s);
  clpt_late_hold(&rig, rig.s);
  before = clpt_stats(rig.pool);
  clpt_late_clear(&rig.device);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_pool_allocate_on(rig.pool, 2 * CLPT_LATE_BYTES, rig.t, &none));
  ck_assert_ptr_null(none);
  assert_trace(&rig, strcat(strcat(trace, freed_in_vain[_i]), "C"));
  after = clpt_stats(rig.pool);
  before.held_blocks = before.held_bytes = 0;
  before.managed_bytes = CLPT_LATE_BLOCK_BYTES;
  clpt_assert_same_figures(&before, &after);
  clpt_ok(clp_buffer_release_on(active, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(what_the_callback_releases_on_a_stream_is_freed_and_waited_for)
{
  clpt_late_rig rig;
  helper self;

  start(&rig, &self, 1, (clpt_late_freeing)_i);
  self.buffer = clpt_late_take(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
  ck_assert_ptr_nonnull(strchr(rig.device.trace, 'C'));
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, CLPT_LATE_BLOCK_BYTES);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(several_streams_at_work_are_all_waited_for)
{
  clpt_late_rig rig;
  helper self;
  clp_buffer *buffer;

  start(&rig, &self, 2, (clpt_late_freeing)_i);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_late_share(&rig, buffer, rig.s, rig.u);
  clpt_ok(clp_buffer_record_use(buffer, rig.u));
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_hold(&rig, rig.u);
  buffer = clpt_late_take_from(&rig, rig.pool, 2 * CLPT_LATE_BYTES, rig.t); /* all there is */
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  ck_assert_uint_eq(clpt_stats(rig.pool).device_frees, 2);
  clpt_late_rig_end(&rig);
}
END_TEST

/* Work is waited for where memory is short, not where a held block serves. */
START_TEST(a_block_that_a_stream_can_wait_for_needs_no_memory)
{
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES, (clpt_late_freeing)_i);
  rig.device.capacity = CLPT_LATE_BLOCK_BYTES;
  clpt_late_hold(&rig, rig.s);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  assert_trace(&rig, "");
  clpt_late_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: out of memory");
  TCase *tests = clpt_case(suite, "ladder");

  tcase_add_loop_test(tests, own_blocks_that_streams_use_are_freed_and_waited_for, 0,
                      CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, a_request_without_a_stream_is_served_so_too, 0, CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, other_pools_blocks_that_streams_use_are_freed_and_waited_for, 0,
                      CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, what_was_freed_before_and_is_not_back_is_waited_for, 0, 2);
  tcase_add_loop_test(tests, an_allocator_that_cannot_drain_is_waited_for_by_its_streams, 0,
                      CLPT_LATE_FREEINGS);
  tcase_add_loop_test(
      tests, streams_that_memory_was_freed_behind_are_waited_for_however_many_came_since, 0, 2);
  tcase_add_test(tests, streams_that_others_look_at_meanwhile_are_all_waited_for);
  tcase_add_loop_test(tests, the_callback_comes_after_the_waiting, 0, CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, what_the_callback_releases_on_a_stream_is_freed_and_waited_for, 0,
                      CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, several_streams_at_work_are_all_waited_for, 0, CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, a_block_that_a_stream_can_wait_for_needs_no_memory, 0,
                      CLPT_LATE_FREEINGS);
  return clpt_run(suite);
}
