/* SPDX-License-Identifier: MIT */
/* Registering hooks for threads and pools: how long they run, whose are called, what is refused;
 * also while others are inside the pool, and in callbacks that end their thread. */
#include "core/hooks/hook.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

static clpt_recorder first, second;
static clpt_rig rig;
static unsigned refused, asked;

static clp_status add(const clp_hook *hook)
{
  return clp_pool_add_hook(rig.pool, hook);
}

static clp_status remove_from_pool(const clp_hook *hook)
{
  return clp_pool_remove_hook(rig.pool, hook);
}

/* Both ways: for the thread and for the pool. */
static const struct way {
  clp_status (*begin)(const clp_hook *hook);
  clp_status (*end)(const clp_hook *hook);
} ways[] = {{clp_hook_push, clp_hook_pop}, {add, remove_from_pool}};
enum { WAYS = 2 };

/* Each of the four calls that would change hooks is refused. */
static void try_to_change(clpt_recorder *self, const clp_hook_event *event)
{
  for (int i = 0; i < WAYS; i++) {
    refused += ways[i].begin(&second.hook) == CLP_BUSY;
    refused += ways[i].end(&first.hook) == CLP_BUSY;
  }
}

static bool change_when_out_of_memory(clp_pool *pool, size_t bytes, void *user_data)
{
  try_to_change(NULL, NULL);
  asked++;
  return false;
}

static void setup(void)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.on_out_of_memory = change_when_out_of_memory;
  clpt_device_init_split(&rig.device);
  clpt_rig_start_with(&rig, &options);
  clpt_recorder_init(&first, "first");
  clpt_recorder_init(&second, "second");
  second.log_of = &first;
  refused = asked = 0;
}

static void teardown(void)
{
  clpt_rig_end(&rig);
  ck_assert(!clpi_is_watched());
}

START_TEST(callbacks_may_be_missing)
{
  clp_hook none = CLP_HOOK_INIT;
  none.name = "none";
  first.hook.malloc_preprocess = first.hook.alloc_postprocess = first.hook.free_preprocess = NULL;
  second.hook.struct_size = offsetof(clp_hook, alloc_preprocess); /* an older caller's */
  clpt_ok(ways[_i].begin(&none));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_ok(ways[_i].begin(&second.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_recorder_is(&first, "second:m<100:103 a<103 m>100:103 second:m>100:103 f>100:103 "
                           "d<103 d>103");
  clpt_ok(ways[_i].end(&none));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].end(&second.hook));
}
END_TEST

START_TEST(a_name_is_registered_once_for_each)
{
  char name[] = "first"; /* another text that reads the same */
  second.hook.name = name;
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&first.hook));
  clpt_fails(CLP_BUSY, ways[_i].begin(&second.hook));
  clpt_message_has("\"first\"");
  clpt_fails(CLP_NOT_FOUND, ways[_i].end(&second.hook));
  clpt_fails(CLP_NOT_FOUND, ways[1 - _i].end(&first.hook));
  clpt_ok(ways[1 - _i].begin(&second.hook)); /* the thread's names are not the pool's */
  clpt_ok(ways[1 - _i].end(&second.hook));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_ok(ways[_i].begin(&second.hook));
  clpt_ok(ways[_i].end(&second.hook));
}
END_TEST

START_TEST(hooks_do_not_change_in_callbacks)
{
  clp_buffer *none;
  first.also = try_to_change;
  clpt_ok(ways[_i].begin(&first.hook));
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(first.count, 8); /* each callback */
  rig.device.capacity = 1;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 100, &none));
  clpt_ok(ways[_i].end(&first.hook));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 100, &none));
  ck_assert_uint_eq(asked, 2); /* with the hook and without */
  ck_assert_uint_eq(refused, 4 * (first.count + asked));
}
END_TEST

START_TEST(registering_needs_host_memory_and_ending_none)
{
  clp_status status[3];
  for (int i = 0; i < 3; i++) {
    clpt_host_start(i == 1 ? CLPT_HOST_COUNTS : CLPT_HOST_STAYS_OUT, 0);
    status[i] = (i < 2 ? ways[_i].begin : ways[_i].end)(&first.hook);
    (void)clpt_host_stop();
  }
  ck_assert(status[0] == CLP_OUT_OF_HOST_MEMORY && !status[1] && !status[2]);
  ck_assert(!clpt_host_failed()); /* it did not even ask */
  ck_assert_int_eq(clpt_host_live(), 0);
  clp_hook *none = &first.hook;
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  status[0] = clp_debug_print_hook_create(stdout, &none);
  (void)clpt_host_stop();
  ck_assert(status[0] == CLP_OUT_OF_HOST_MEMORY && !none);
}
END_TEST

/* --- how long hooks last --- */

static void *push_and_end(void *unused)
{
  if (clp_hook_pop(&first.hook) != CLP_NOT_FOUND)
    return "popped another thread's hook";
  return clp_hook_push(&first.hook) || clp_hook_push(&second.hook) ? "a push failed" : NULL;
}

START_TEST(a_threads_hooks_end_with_it)
{
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL)); /* the thread used no pool */
  ck_assert(!clpi_is_watched());
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_is(&first, "");
  clpt_ok(clp_hook_push(&first.hook)); /* the name is free */
  ck_assert_ptr_null(clpt_aside(push_and_end, NULL));
  ck_assert(clpi_is_watched());
  clpt_ok(clp_hook_pop(&first.hook));
}
END_TEST

/* That is, when its last buffer is released. */
START_TEST(a_pools_hooks_end_with_it)
{
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &first.hook));
  clp_buffer *buffer = clpt_allocate(other, 0);
  clp_pool_release(other);
  clpt_ok(clp_pool_add_hook(clp_buffer_pool(buffer), &second.hook));
  clpt_ok(clp_pool_remove_hook(clp_buffer_pool(buffer), &first.hook));
  clpt_recorder_clear(&first);
  clpt_fails(CLP_NOT_SUPPORTED, clp_buffer_release_on(buffer, &rig)); /* no hook is shown it */
  clpt_ok(clp_buffer_release(buffer));
  clpt_recorder_is(&first, "second:f<0:0 second:f>0:0");
  ck_assert(!clpi_is_watched());
}
END_TEST

START_TEST(a_child_of_fork_has_its_threads_hooks)
{
  int status;
  clpt_ok(clp_hook_push(&first.hook));
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    clp_allocator *its_own;
    clp_pool *pool;
    clp_buffer *buffer;
    bool ok = clp_pool_allocate(rig.pool, 0, &buffer) == CLP_NOT_SUPPORTED &&
              !clp_host_allocator_create(0, &its_own) && !clp_pool_create(its_own, NULL, &pool) &&
              !clp_pool_allocate(pool, 0, &buffer) && !clp_buffer_release(buffer) &&
              !strcmp(first.log, "m<0:0 m>0:0 f<0:0 f>0:0") && !clp_hook_pop(&first.hook) &&
              !clpi_is_watched() && !clp_hook_push(&first.hook) && !clp_hook_pop(&first.hook);
    clpt_leave(!ok);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
  clpt_ok(clp_hook_pop(&first.hook));
}
END_TEST

/* --- threads: one step at a time --- */

static sem_t is_in, may_leave;

static void wait_inside(clpt_recorder *self, const clp_hook_event *event)
{
  if (strcmp(self->last, "m<") != 0)
    return;
  (void)sem_post(&is_in);
  (void)sem_wait(&may_leave);
}

static clp_buffer *taken;

static void *take_and_free(void *unused)
{
  (void)clp_pool_allocate(rig.pool, 100, &taken);
  (void)clp_buffer_release(taken);
  (void)clp_pool_free_held(rig.pool);
  return unused;
}

static void *remove_first(void *unused)
{
  return remove_from_pool(&first.hook) || !strstr(first.log, "m>") ? "removed too early" : NULL;
}

/* Its name is free as soon as the removal begins, and new calls do not see it. A hook that comes
 * meanwhile is not shown the end of what began before it. */
START_TEST(a_removal_waits_for_the_pairs_that_see_the_hook)
{
  pthread_t threads[2];
  void *wrong;
  first.also = wait_inside;
  second.log_of = &second;
  second.hook.name = "first";
  (void)sem_init(&is_in, 0, 0);
  (void)sem_init(&may_leave, 0, 0);
  clpt_ok(add(&first.hook));
  ck_assert_int_eq(pthread_create(&threads[0], NULL, take_and_free, NULL), 0);
  (void)sem_wait(&is_in);
  ck_assert_int_eq(pthread_create(&threads[1], NULL, remove_first, NULL), 0);
  while (add(&second.hook))
    (void)sched_yield();
  (void)usleep(1000); /* the remover comes to where it waits */
  clpt_hold(rig.pool, 0, 1);
  clpt_recorder_is(&first, "m<100:103");
  clpt_recorder_is(&second, "m<0:0 m>0:0 f<0:0 f>0:0");
  clpt_fails(CLP_NOT_FOUND, remove_from_pool(&first.hook));
  (void)sem_post(&may_leave);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
    ck_assert_msg(wrong == NULL, "%s", (const char *)wrong);
  }
  clpt_recorder_is(&first, "m<100:103 a<103 a>103 m>100:103");
  clpt_recorder_is(&second, "m<0:0 m>0:0 f<0:0 f>0:0 f<100:103 f>100:103 d<103 d>103");
  clpt_ok(remove_from_pool(&second.hook));
}
END_TEST

/* --- threads: all at once --- */

static void count(const clp_hook_event *event, void *calls)
{
  atomic_fetch_add((atomic_uint *)calls, 1);
}

static void call(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds; i++) {
    clp_buffer *buffer = NULL;
    clpt_note_failure(self, "allocate", clp_pool_allocate(rig.pool, i % 2000, &buffer));
    clpt_note_failure(self, "release", clp_buffer_release(buffer));
  }
}

/* A hook of one thread, which all threads see: none does once it is gone. */
static void come_and_go(clpt_worker *self)
{
  char name[] = {(char)('0' + self->number), '\0'};
  atomic_uint calls = 0;
  clp_hook hook = {.struct_size = sizeof(hook),
                   .name = name,
                   .user_data = &calls,
                   .malloc_preprocess = count,
                   .malloc_postprocess = count};
  for (unsigned i = 0, before = 0; i < self->rounds / 4; i++) {
    if (before % 2 || calls != before)
      clpt_wrong(self, "%u calls were seen, and then %u", before, calls);
    clpt_note_failure(self, "add", add(&hook));
    if (clpt_chance_below(&self->chance, 2) == 0)
      (void)sched_yield();
    clpt_note_failure(self, "remove", remove_from_pool(&hook));
    before = calls;
  }
}

START_TEST(pool_hooks_come_and_go_while_others_call)
{
  static const clpt_work work[] = {call, call, come_and_go};
  clpt_workers workers;
  clpt_workers_start(&workers, 6, work, 3, clpt_iterations(8000), NULL);
  clpt_workers_join(&workers);
}
END_TEST

/* --- callbacks that end their thread --- */

static const char *const last_callbacks[] = {"m<", "m>", "f<", "f>", "d<", "d>"};
enum { OF_POOLS = 6, OF_ARENAS = 2 }; /* the last ones: after others, its pool might never end */

static void end_thread_at(clpt_recorder *self, const clp_hook_event *event)
{
  if (strcmp(self->last, self->also_data) == 0)
    pthread_exit("in a callback");
}

static void end_a_thread(const char *callback)
{
  first.also = end_thread_at;
  first.also_data = (void *)callback;
  clpt_ok(add(&first.hook));
  ck_assert_str_eq(clpt_aside(take_and_free, NULL), "in a callback");
  clpt_ok(remove_from_pool(&first.hook));
}

/* The device has room for one block, so the last request waits until the thread's has come to
 * rest. An arena has more, and keeps what its device was asked for. */
START_TEST(a_thread_that_ends_in_a_callback_is_not_waited_for)
{
  clp_allocator *arena = NULL;
  clp_pool *plain = rig.pool;
  rig.device.capacity = 103;
  if (_i >= OF_POOLS) {
    clpt_ok(clp_arena_allocator_create(rig.allocator, NULL, &arena));
    rig.pool = clpt_pool(arena);
    rig.device.capacity = 0;
  }
  end_a_thread(last_callbacks[arena ? _i - OF_ARENAS : _i]);
  if (taken && clp_buffer_memory(taken) && clpt_stats(rig.pool).active_blocks)
    clpt_ok(clp_buffer_release(taken));
  clpt_hold(rig.pool, 100, 1);
  clp_pool_release(arena ? rig.pool : NULL);
  rig.pool = plain;
  clp_allocator_release(arena);
}
END_TEST

static void end_thread_in_device(clpt_device *device, clpt_call call, size_t bytes)
{
  device->on_call = NULL;
  pthread_exit("in the device");
}

START_TEST(what_a_thread_was_about_to_free_is_held_again)
{
  rig.device.capacity = 3 * (size_t)103;
  clpt_hold(rig.pool, 100, 3);
  rig.device.on_call = _i ? end_thread_in_device : NULL;
  if (_i)
    ck_assert_str_eq(clpt_aside(take_and_free, NULL), "in the device");
  else
    end_a_thread("d>");
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, _i ? 3 : 2);
  clpt_hold(rig.pool, 100, 3);
}
END_TEST

CLPT_SUITE("hook registration")
{
  TCase *tests = clpt_case(suite, "registration");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, callbacks_may_be_missing, 0, WAYS);
  tcase_add_loop_test(tests, a_name_is_registered_once_for_each, 0, WAYS);
  tcase_add_loop_test(tests, hooks_do_not_change_in_callbacks, 0, WAYS);
  tcase_add_loop_test(tests, registering_needs_host_memory_and_ending_none, 0, WAYS);
  tcase_add_test(tests, a_threads_hooks_end_with_it);
  tcase_add_test(tests, a_pools_hooks_end_with_it);
  tcase_add_test(tests, a_child_of_fork_has_its_threads_hooks);
  tcase_add_test(tests, a_removal_waits_for_the_pairs_that_see_the_hook);
  tcase_add_test(tests, pool_hooks_come_and_go_while_others_call);
  tcase_add_loop_test(tests, a_thread_that_ends_in_a_callback_is_not_waited_for, 0,
                      OF_POOLS + OF_ARENAS);
  tcase_add_loop_test(tests, what_a_thread_was_about_to_free_is_held_again, 0, 2);
}
