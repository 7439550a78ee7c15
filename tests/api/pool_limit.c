/* SPDX-License-Identifier: MIT */
/* The limit on managed bytes, and what is under way when a pool ends, frees or asks: lifetime. */
#include "support/pools.h"
#include "support/suite.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>

typedef struct nested {
  clp_pool *pool;
  clp_status status; /* of an allocation from inside a free */
  bool makes_room;   /* first, by a limit */
} nested;

static void allocate_in_free(clpt_device *device, clpt_call call, size_t bytes)
{
  nested *it = device->on_call_data;
  clp_buffer *buffer = NULL;
  if (call != CLPT_FREE || it->status)
    return;
  if (it->makes_room)
    clpt_ok(clp_pool_set_limit(it->pool, 0));
  it->status = clp_pool_allocate(it->pool, bytes, &buffer);
  clpt_ok(clp_buffer_release(buffer));
  device->on_call = NULL;
}

START_TEST(a_free_that_would_wait_for_itself_is_busy)
{
  nested it = {.makes_room = _i};
  clp_buffer *buffer = NULL;
  clpt_rig rig;

  clpt_rig_start(&rig);
  it.pool = rig.pool;
  rig.device.on_call = allocate_in_free;
  rig.device.on_call_data = &it;
  clpt_ok(clp_pool_set_limit(rig.pool, 103));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_allocate(rig.pool, 50, &buffer)); /* which frees what is held */
  ck_assert_int_eq(it.status, it.makes_room ? CLP_SUCCESS : CLP_BUSY);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_refusal_tells_the_figures_and_changes_none)
{
  clpt_rig rig;
  clp_buffer *active, *buffer = NULL;

  clpt_rig_start(&rig);
  active = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_set_limit(rig.pool, 1111));
  clp_pool_stats before = clpt_stats(rig.pool);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 2000, &buffer));
  clpt_message_has("2047"); /* rounded */
  clpt_message_has("1111"); /* limit */
  clpt_message_has("103");  /* managed */
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  clp_pool_stats after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_uint_eq(after.out_of_memory_reactions, 0);
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(requests_near_the_end_of_size_t_do_not_wrap_around_a_limit)
{
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 103, SIZE_MAX - 102, SIZE_MAX / 2 + 1};
  clpt_rig rig;
  clp_buffer *active, *buffer = NULL;

  clpt_rig_start(&rig);
  active = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_set_limit(rig.pool, 10000));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, sizes[_i], &buffer));
  clpt_device_trace_is(&rig.device, "A103");
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_device_without_memory_for_a_give_back_is_reacted_to)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_ok(clp_pool_set_limit(rig.pool, 1100));
  clpt_hold(rig.pool, 1000, 1);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
  clpt_ok(clp_buffer_release(clpt_allocate(rig.pool, 200)));
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 1);
  clpt_rig_end(&rig);
}
END_TEST

typedef struct second_request {
  clp_pool *pool;
  clp_buffer *buffer;
  clp_status status;
} second_request;

static void ask_meanwhile(clpt_device *device, clpt_call call, size_t bytes)
{
  second_request *second = device->on_call_data;

  if (call == CLPT_ALLOCATE && bytes == 1023)
    second->status = clp_pool_allocate(second->pool, 103, &second->buffer);
}

/* The second request comes while the device is asked for the first; both fit, or one byte less
 * refuses the second. */
START_TEST(what_is_under_way_counts)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  second_request second = {.pool = rig.pool};
  rig.device.on_call = ask_meanwhile;
  rig.device.on_call_data = &second;
  clpt_ok(clp_pool_set_limit(rig.pool, 1023 + 103 - (size_t)_i));
  clp_buffer *first = clpt_allocate(rig.pool, 1023);
  ck_assert_int_eq(second.status, _i ? CLP_LIMIT_EXCEEDED : CLP_SUCCESS);
  clpt_ok(clp_buffer_release(second.buffer));
  clpt_ok(clp_buffer_release(first));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_is_of_the_devices_memory)
{
  static const struct {
    double fraction;
    size_t limit;
  } limits[] = {{0.5, 5000}, {0.25, 2500}, {1.0, 10000}, {0.0, 0}, {-0.0, 0}, {0.00015, 1}};
  clpt_rig rig;

  clpt_rig_start_on(&rig, 10000);
  clpt_ok(clp_pool_set_limit(rig.pool, 77));
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, limits[_i].fraction));
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), limits[_i].limit);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_too_small_for_a_byte_does_not_become_no_limit)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start_on(&rig, 10000);
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, 1.0e-9));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, 100, &buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_of_the_largest_device_is_exact_enough)
{
  static const size_t devices[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 2};
  size_t bytes = devices[_i];
  clpt_rig rig;

  clpt_rig_start_on(&rig, bytes);
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, 1.0));
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), bytes);
  clpt_ok(clp_pool_set_limit_fraction(rig.pool, nextafter(1.0, 0.0)));
  ck_assert_uint_le(clp_pool_get_limit(rig.pool), bytes);
  ck_assert_uint_ge(clp_pool_get_limit(rig.pool), bytes / 4 * 3);
  clpt_rig_end(&rig);
}
END_TEST

/* The pool's last reference goes, and the allocator's. */
static void let_go(clpt_rig *rig)
{
  clp_pool_release(rig->pool);
  clp_allocator_release(rig->allocator);
}

/* That is for the log. */
START_TEST(what_the_device_refuses_at_the_end_of_a_pool_is_not_the_last_releases_failure)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  clp_buffer *last = clpt_allocate(rig.pool, 200);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  let_go(&rig);
  rig.device.free_fault = (clpt_fault){.after = 1, .count = 1, .status = CLP_BACKEND_ERROR};
  clpt_ok_quietly(clp_buffer_release(last));
  ck_assert_uint_eq(rig.device.free_fault.count, 0);
  ck_assert_uint_eq(rig.device.destroyed, 1);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
}
END_TEST

/* What happens in the middle of another pool's ladder: the device calls back into the test. */

typedef struct intrusion {
  clpt_call at;
  clp_pool *victim; /* whose last reference goes; NULL once done */
  bool on_thread;   /* of its own, which is waited for: no lock of the library may be held here */
} intrusion;

static void *release_pool(void *pool)
{
  clp_pool_release(pool);
  return NULL;
}

static void intrude(clpt_device *device, clpt_call call, size_t bytes)
{
  intrusion *plan = device->on_call_data;
  clp_pool *victim = plan->victim;
  pthread_t thread;

  (void)bytes;
  if (victim == NULL || call != plan->at)
    return;
  plan->victim = NULL;
  if (plan->on_thread && pthread_create(&thread, NULL, release_pool, victim) == 0)
    pthread_join(thread, NULL);
  else
    clp_pool_release(victim);
}

/* A full device, another pool that holds two blocks, and its end at the call in question. */
static void end_other_pool_at(clpt_call at, bool with_active_buffer, bool on_thread)
{
  intrusion plan = {.at = at, .on_thread = on_thread};
  clp_buffer *buffer = NULL, *active = NULL;
  clpt_rig rig;

  clpt_rig_start(&rig);
  plan.victim = clpt_pool(rig.allocator);
  clpt_hold(plan.victim, 100, 1);
  clpt_hold(plan.victim, 200, 1);
  if (with_active_buffer)
    active = clpt_allocate(plan.victim, 50);
  rig.device.capacity = 1500;
  rig.device.cached_bytes = 1000; /* so that every step is taken */
  rig.device.on_call_data = &plan;
  rig.device.on_call = intrude;
  buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_ptr_null(plan.victim);
  ck_assert_uint_eq(rig.device.live_blocks, with_active_buffer ? 2 : 1);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}

static const clpt_call calls[] = {CLPT_ALLOCATE, CLPT_FREE, CLPT_DRAIN, CLPT_RETURN_CACHED};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

START_TEST(another_pool_may_end_on_any_thread_at_any_step_of_the_ladder)
{
  end_other_pool_at(calls[_i % CALLS], _i / CALLS & 1, _i / CALLS & 2);
}
END_TEST

/* What happens while the device is asked for a block: the request succeeds all the same, with the
 * last error as it was, and the figures are right. */

typedef struct miss {
  clp_pool *pool;
  clp_buffer *other;                                  /* of the same bin */
  void (*meet)(struct miss *it, clpt_device *device); /* NULL: done */
} miss;

static void meet_the_end(miss *it, clpt_device *device)
{
  (void)device;
  clp_pool_release(it->pool);
}

static void meet_stop_holding(miss *it, clpt_device *device)
{
  (void)device;
  (void)clp_pool_stop_holding(it->pool);
}

static void meet_a_limit(miss *it, clpt_device *device)
{
  (void)device;
  (void)clp_pool_set_limit(it->pool, 1);
}

static void meet_an_error(miss *it, clpt_device *device)
{
  (void)it, (void)device;
  (void)clp_set_last_error(CLP_BACKEND_ERROR, 1, "inner trouble, recovered");
}

static void meet_a_full_device_and_a_release(miss *it, clpt_device *device)
{
  (void)clp_buffer_release(it->other);
  device->allocate_fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
}

static void meet(clpt_device *device, clpt_call call, size_t bytes)
{
  miss *it = device->on_call_data;
  void (*met)(miss *, clpt_device *) = it->meet;

  (void)bytes;
  if (call != CLPT_ALLOCATE || met == NULL)
    return;
  it->meet = NULL;
  met(it, device);
}

static const struct {
  void (*meet)(miss *it, clpt_device *device);
  size_t live_after; /* blocks at the device once the buffer is released */
} meetings[] = {{meet_the_end, 0},
                {meet_stop_holding, 0},
                {meet_a_limit, 1},
                {meet_an_error, 1},
                {meet_a_full_device_and_a_release, 1}};
enum { MEETINGS = sizeof(meetings) / sizeof(meetings[0]) };

START_TEST(whatever_a_miss_meets_it_is_served)
{
  bool ends = meetings[_i].meet == meet_the_end;
  bool runs_out = meetings[_i].meet == meet_a_full_device_and_a_release;
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  miss it = {.pool = rig.pool, .meet = meetings[_i].meet};
  if (runs_out)
    it.other = clpt_allocate(rig.pool, 100);
  rig.device.on_call_data = &it;
  rig.device.on_call = meet;
  clpt_ok_quietly(clp_pool_allocate(rig.pool, 100, &buffer));
  ck_assert_ptr_null(it.meet);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  if (ends)
    rig.pool = NULL;
  else {
    ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 103);
    ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 1);
    ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, runs_out);
  }
  clpt_ok(clp_buffer_release(buffer));
  ck_assert_uint_eq(rig.device.live_blocks, meetings[_i].live_after);
  clpt_rig_end(&rig);
}
END_TEST

static void use_library_at_end(clpt_device *device, clpt_call call, size_t bytes)
{
  clp_allocator *allocator = NULL;

  (void)bytes;
  if (call != CLPT_DESTROY)
    return;
  if (clp_simulated_allocator_create(0, &allocator) != CLP_SUCCESS)
    device->misuses++;
  clp_allocator_release(allocator);
}

START_TEST(an_allocators_destroy_may_use_the_library)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  rig.device.on_call = use_library_at_end;
  clpt_hold(rig.pool, 100, 1);
  clpt_rig_end(&rig);
}
END_TEST

/* Who has a buffer can come by its pool again, after the last reference went. */
START_TEST(a_pool_retained_again_through_a_buffer_ends_once)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  let_go(&rig);
  ck_assert_ptr_eq(clp_pool_retain(clp_buffer_pool(buffer)), rig.pool);
  if (_i)
    clp_pool_release(rig.pool);
  clpt_ok(clp_buffer_release(buffer));
  if (!_i)
    clp_pool_release(rig.pool);
  clpt_device_assert_ended(&rig.device);
}
END_TEST

START_TEST(a_pool_ends_with_its_last_reference)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  clpt_device_clear_trace(&rig.device);
  for (int i = 0; i < 5; i++)
    ck_assert_ptr_eq(clp_pool_retain(rig.pool), rig.pool);
  for (int i = 0; i < 5; i++)
    clp_pool_release(rig.pool);
  clpt_device_trace_is(&rig.device, "");
  clpt_hold(rig.pool, 100, 1); /* it holds as before */
  clpt_device_trace_is(&rig.device, "");
  clpt_rig_end(&rig);
}
END_TEST

CLPT_SUITE("limit")
{
  TCase *tests = clpt_case(suite, "limit");
  tcase_add_loop_test(tests, a_free_that_would_wait_for_itself_is_busy, 0, 2);
  tcase_add_test(tests, a_refusal_tells_the_figures_and_changes_none);
  tcase_add_loop_test(tests, requests_near_the_end_of_size_t_do_not_wrap_around_a_limit, 0, 4);
  tcase_add_test(tests, a_device_without_memory_for_a_give_back_is_reacted_to);
  tcase_add_loop_test(tests, what_is_under_way_counts, 0, 2);

  tests = clpt_case(suite, "fraction");
  tcase_add_loop_test(tests, a_fraction_is_of_the_devices_memory, 0, 6);
  tcase_add_test(tests, a_fraction_too_small_for_a_byte_does_not_become_no_limit);
  tcase_add_loop_test(tests, a_fraction_of_the_largest_device_is_exact_enough, 0, 3);

  tests = clpt_case(suite, "orders");
  tcase_add_loop_test(tests, a_pool_retained_again_through_a_buffer_ends_once, 0, 2);
  tcase_add_test(tests, a_pool_ends_with_its_last_reference);
  tcase_add_test(tests,
                 what_the_device_refuses_at_the_end_of_a_pool_is_not_the_last_releases_failure);

  tests = clpt_case(suite, "in the middle");
  tcase_add_loop_test(tests, another_pool_may_end_on_any_thread_at_any_step_of_the_ladder, 0,
                      4 * CALLS);
  tcase_add_loop_test(tests, whatever_a_miss_meets_it_is_served, 0, MEETINGS);
  tcase_add_test(tests, an_allocators_destroy_may_use_the_library);
}
