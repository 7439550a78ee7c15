/* SPDX-License-Identifier: MIT */
/* Registering hooks for threads and pools: in which order they run, how long, and what is refused.
 */
#include "core/hooks/hook.h"
#include "support/ladder.h"
#include "support/recorder.h"
#include "support/suite.h"

#include <stdio.h>

static clpt_recorder first, second, third;
static clpt_rig rig;

static void start(void)
{
  clpt_rig_start(&rig);
  clpt_recorder_init(&first, "first");
  clpt_recorder_init(&second, "second");
  clpt_recorder_init(&third, "third");
  second.log_of = third.log_of = &first;
}

static void end(void)
{
  clpt_rig_end(&rig);
  ck_assert(!clpi_is_watched());
}

/* --- Arguments --- */

static clp_status push(const clp_hook *hook)
{
  return clp_hook_push(hook);
}

static clp_status add(const clp_hook *hook)
{
  return clp_pool_add_hook(rig.pool, hook);
}

static clp_status pop(const clp_hook *hook)
{
  return clp_hook_pop(hook);
}

static clp_status remove_from_pool(const clp_hook *hook)
{
  return clp_pool_remove_hook(rig.pool, hook);
}

/* Both ways: for the thread and for the pool. */
static const struct way {
  clp_status (*begin)(const clp_hook *hook);
  clp_status (*end)(const clp_hook *hook);
} ways[] = {{push, pop}, {add, remove_from_pool}};
enum { WAYS = 2 };

START_TEST(an_older_callers_hook_has_the_callbacks_that_it_knows)
{
  start();
  first.hook.struct_size = offsetof(clp_hook, alloc_preprocess);
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_is(&first, "m<100:103 m>100:103");
  clpt_ok(ways[_i].end(&first.hook));
  end();
}
END_TEST

START_TEST(any_callback_may_be_missing)
{
  clp_hook none = CLP_HOOK_INIT;

  start();
  none.name = "none";
  first.hook.malloc_preprocess = NULL;
  first.hook.alloc_postprocess = NULL;
  first.hook.free_preprocess = NULL;
  clpt_ok(ways[_i].begin(&none));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_recorder_is(&first, "a<103 m>100:103 f>100:103 d<103 d>103");
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].end(&none));
  end();
}
END_TEST

START_TEST(a_name_is_registered_once_for_each)
{
  char name[] = "first"; /* another text that reads the same */

  start();
  second.hook.name = name;
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&second.hook));
  clpt_message_has("\"first\"");
  clpt_ok(ways[1 - _i].begin(&second.hook)); /* the thread's names are not the pool's */
  clpt_ok(ways[1 - _i].end(&second.hook));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&second.hook));
  clpt_ok(ways[_i].end(&second.hook));
  end();
}
END_TEST

START_TEST(only_what_is_registered_can_be_ended)
{
  start();
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&second.hook));
  clpt_fails(CLP_NOT_FOUND, ways[1 - _i].end(&first.hook));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&first.hook));
  end();
}
END_TEST

/* --- Order --- */

START_TEST(hooks_run_in_order_of_registration_whosever_they_are)
{
  start();
  clpt_ok(ways[_i & 1].begin(&first.hook));
  clpt_ok(ways[_i >> 1 & 1].begin(&second.hook));
  clpt_ok(ways[_i >> 2 & 1].begin(&third.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_is(&first, "m<100:103 second:m<100:103 third:m<100:103 "
                           "a<103 second:a<103 third:a<103 a>103 second:a>103 third:a>103 "
                           "m>100:103 second:m>100:103 third:m>100:103 "
                           "f<100:103 second:f<100:103 third:f<100:103 "
                           "f>100:103 second:f>100:103 third:f>100:103");
  clpt_ok(ways[_i & 1].end(&first.hook));
  clpt_ok(ways[_i >> 1 & 1].end(&second.hook));
  clpt_ok(ways[_i >> 2 & 1].end(&third.hook));
  end();
}
END_TEST

START_TEST(a_hook_of_the_thread_and_the_pool_runs_twice)
{
  start();
  clpt_ok(add(&first.hook));
  clpt_ok(push(&first.hook));
  clpt_hold(rig.pool, 0, 1);
  clpt_recorder_is(&first, "m<0:0 m<0:0 m>0:0 m>0:0 f<0:0 f<0:0 f>0:0 f>0:0");
  clpt_ok(pop(&first.hook));
  clpt_ok(remove_from_pool(&first.hook));
  end();
}
END_TEST

/* Hooks that count, for when there are many. */
typedef struct counter {
  clp_hook hook;
  char name[16];
  unsigned *next; /* of all counters: who is to be called next */
  unsigned number, calls, wrong;
} counter;

static void count(const clp_hook_event *event, void *user_data)
{
  counter *self = user_data;

  (void)event;
  self->calls++;
  self->wrong += (*self->next)++ != self->number;
}

static counter *make_counters(unsigned many, unsigned *next)
{
  counter *counters = calloc(many, sizeof(*counters));

  ck_assert_ptr_nonnull(counters);
  for (unsigned i = 0; i < many; i++) {
    (void)snprintf(counters[i].name, sizeof(counters[i].name), "hook %u", i);
    counters[i].hook = (clp_hook){.struct_size = sizeof(clp_hook),
                                  .name = counters[i].name,
                                  .user_data = &counters[i],
                                  .malloc_preprocess = count};
    counters[i].number = i;
    counters[i].next = next;
  }
  return counters;
}

START_TEST(thousands_are_registered_and_ended_in_any_order)
{
  unsigned many = clpt_iterations(3000), next = 0;
  counter *counters = make_counters(many, &next);

  start();
  for (unsigned i = 0; i < many; i++)
    clpt_ok(ways[_i].begin(&counters[i].hook));
  clpt_hold(rig.pool, 100, 1);
  for (unsigned i = 0; i < many; i++)
    ck_assert_uint_eq(counters[i].calls - counters[i].wrong, 1);
  for (unsigned i = 0; i < many; i += 2) /* every other one, then the rest backwards */
    clpt_ok(ways[_i].end(&counters[i].hook));
  clpt_hold(rig.pool, 100, 1);
  for (unsigned i = many; i > 0; i--) {
    ck_assert_uint_eq(counters[i - 1].calls, i % 2 == 1 ? 1 : 2);
    if (i % 2 == 0)
      clpt_ok(ways[_i].end(&counters[i - 1].hook));
  }
  free(counters);
  end();
}
END_TEST

/* --- Not now --- */

/* Every call that would change hooks is refused. */
static void try_to_change(clpt_recorder *self, const clp_hook_event *event)
{
  unsigned *refused = self->also_data;

  (void)event;
  for (int i = 0; i < WAYS; i++) {
    *refused += ways[i].begin(&third.hook) == CLP_BUSY;
    *refused += ways[i].end(&self->hook) == CLP_BUSY;
  }
}

START_TEST(callbacks_must_not_change_hooks)
{
  unsigned refused = 0;

  start();
  first.also = try_to_change;
  first.also_data = &refused;
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(first.count, 8); /* each callback */
  ck_assert_uint_eq(refused, 4 * 8);
  clpt_ok(ways[_i].end(&first.hook));
  end();
}
END_TEST

static bool change_when_out_of_memory(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes;
  first.also_data = user_data;
  try_to_change(&first, NULL);
  return false;
}

START_TEST(on_out_of_memory_must_not_change_hooks)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  unsigned refused = 0;
  clp_buffer *none;

  options.on_out_of_memory = change_when_out_of_memory;
  options.user_data = &refused;
  clpt_device_init(&rig.device);
  rig.device.capacity = 1;
  clpt_rig_start_with(&rig, &options);
  clpt_recorder_init(&first, "first");
  clpt_recorder_init(&third, "third");
  for (int i = 0; i < 2; i++) { /* without and with a hook */
    if (i == 1)
      clpt_ok(push(&first.hook));
    refused = 0;
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 100, &none));
    ck_assert_uint_eq(refused, 4);
  }
  clpt_ok(pop(&first.hook));
  clpt_ok(push(&first.hook)); /* afterwards all is as before */
  clpt_ok(pop(&first.hook));
  end();
}
END_TEST

/* --- Warm calls --- */

static bool may_be_warm(void)
{
  clp_buffer *buffer = NULL;
  bool is_warm = clp_pool_try_allocate(rig.pool, 100, &buffer);

  if (is_warm)
    ck_assert(clp_buffer_try_release(buffer));
  return is_warm;
}

/* The warm path asks for no hooks. */
START_TEST(no_call_is_warm_while_there_is_a_hook)
{
  start();
  clpt_hold(rig.pool, 100, 1);
  ck_assert(may_be_warm());
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_ok(ways[_i].begin(&second.hook));
  clpt_ok(ways[_i].end(&first.hook));
  ck_assert(!may_be_warm());
  clpt_hold(rig.pool, 100, 1);
  ck_assert(!may_be_warm());
  clpt_ok(ways[_i].end(&second.hook));
  ck_assert(may_be_warm());
  end();
}
END_TEST

/* A thread that has hooks before it has used a pool. */
START_TEST(a_first_call_is_not_warm_either)
{
  start();
  clpt_ok(push(&first.hook));
  clpt_hold(rig.pool, 100, 2);
  ck_assert(!may_be_warm());
  clpt_ok(pop(&first.hook));
  ck_assert(may_be_warm());
  end();
}
END_TEST

CLPT_MAIN("hook registration", clpt_run)
{
  TCase *arguments = clpt_case(suite, "arguments"), *order = clpt_case(suite, "order");
  TCase *not_now = clpt_case(suite, "not now"), *warm = clpt_case(suite, "warm");

  tcase_add_loop_test(arguments, an_older_callers_hook_has_the_callbacks_that_it_knows, 0, WAYS);
  tcase_add_loop_test(arguments, any_callback_may_be_missing, 0, WAYS);
  tcase_add_loop_test(arguments, a_name_is_registered_once_for_each, 0, WAYS);
  tcase_add_loop_test(arguments, only_what_is_registered_can_be_ended, 0, WAYS);
  tcase_add_loop_test(order, hooks_run_in_order_of_registration_whosever_they_are, 0, 8);
  tcase_add_test(order, a_hook_of_the_thread_and_the_pool_runs_twice);
  tcase_add_loop_test(order, thousands_are_registered_and_ended_in_any_order, 0, WAYS);
  tcase_add_loop_test(not_now, callbacks_must_not_change_hooks, 0, WAYS);
  tcase_add_test(not_now, on_out_of_memory_must_not_change_hooks);
  tcase_add_loop_test(warm, no_call_is_warm_while_there_is_a_hook, 0, WAYS);
  tcase_add_test(warm, a_first_call_is_not_warm_either);
}
