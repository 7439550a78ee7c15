/* SPDX-License-Identifier: MIT */
/* The out-of-memory ladder: which steps are taken, in which order, when it stops, what it says; and
 * what on_out_of_memory may do. */
#include "support/ladder.h"
#include "support/suite.h"
#include "support/workers.h"
#include <clpool/arena.h>
#include <clpool/hook.h>

/* --- the steps --- */

/* A request of 1023 bytes, which is its bin's size. */
typedef struct row {
  size_t capacity, limit; /* 0: no bound */
  size_t holds[4];        /* the pool holds a block of each size, */
  size_t others[2];       /* and another pool does, */
  size_t active[4];       /* and these are active. The callback releases them, one a call, */
  bool are_elsewhere;     /* which go to the device, as they are of a pool that holds nothing; */
  unsigned says_yes;      /* it says so often that it freed something */
  size_t cached_bytes;    /* returned by return_cached */
  bool frees_are_pending, is_bare; /* bare: the allocator can neither drain nor return */
  clpt_fault allocate, free, drain, return_cached;
  clp_status status;
  const char *trace; /* A allocate, F free, D drain, R return_cached, C the callback, ! it fails */
} row;

#define ONCE(what)                                                                                 \
  {                                                                                                \
    .count = 1, .status = (what), .native_code = -36, .message = "on purpose"                      \
  }
#define ALL_STEPS "A1023! D A1023! R A1023! C1023"
#define FAILS_AT_ONCE(what)                                                                        \
  {                                                                                                \
    .holds = {100}, .allocate = ONCE(what), .status = (what), .trace = "A1023!"                    \
  }

static const row rows[] = {
    /* Own held blocks go, largest first, one at a time, until it works. */
    {.capacity = 103 + 207 + 415 + 1023, .holds = {200, 400, 100}, .trace = "A1023"},
    {.capacity = 103 + 207 + 1023, .holds = {200, 400, 100}, .trace = "A1023! F415 A1023"},
    {.capacity = 103 + 1023, .holds = {200, 400, 100}, .trace = "A1023! F415 A1023! F207 A1023"},
    {.capacity = 1023,
     .holds = {200, 400, 100},
     .trace = "A1023! F415 A1023! F207 A1023! F103 A1023"},
    /* When all else failed, each step was taken once, in order. */
    {.capacity = 1000,
     .holds = {100},
     .status = CLP_OUT_OF_DEVICE_MEMORY,
     .trace = "A1023! F103 " ALL_STEPS},
    {.capacity = 1000,
     .holds = {100},
     .is_bare = true,
     .status = CLP_OUT_OF_DEVICE_MEMORY,
     .trace = "A1023! F103 A1023! C1023"},
    {.capacity = 1100,
     .holds = {500},
     .frees_are_pending = true,
     .trace = "A1023! F511 A1023! D A1023"},
    {.capacity = 1100, .cached_bytes = 500, .trace = "A1023! D A1023! R A1023"},
    /* A step that fails is passed over. */
    {.capacity = 1100,
     .cached_bytes = 500,
     .drain = ONCE(CLP_BACKEND_ERROR),
     .trace = "A1023! D! R A1023"},
    {.capacity = 1100,
     .cached_bytes = 500,
     .drain = ONCE(CLP_BACKEND_ERROR),
     .return_cached = ONCE(CLP_BACKEND_ERROR),
     .status = CLP_OUT_OF_DEVICE_MEMORY,
     .trace = "A1023! D! R! C1023"},
    {.capacity = 415 + 1000,
     .holds = {400},
     .cached_bytes = 500,
     .free = ONCE(CLP_BACKEND_ERROR),
     .status = CLP_OUT_OF_DEVICE_MEMORY,
     .trace = "A1023! F415! D A1023! R A1023! C1023"},
    /* What is no lack of memory passes at once, also in the middle. */
    FAILS_AT_ONCE(CLP_BACKEND_ERROR),
    FAILS_AT_ONCE(CLP_INVALID_ARGUMENT),
    FAILS_AT_ONCE(CLP_NOT_SUPPORTED),
    FAILS_AT_ONCE(CLP_OUT_OF_HOST_MEMORY),
    FAILS_AT_ONCE(CLP_BUSY),
    FAILS_AT_ONCE(CLP_LIMIT_EXCEEDED), /* the allocator's own: no pool could help */
    {.capacity = 1023,
     .holds = {100, 200},
     .allocate = {.after = 1, .count = 1, .status = CLP_BACKEND_ERROR},
     .status = CLP_BACKEND_ERROR,
     .trace = "A1023! F207 A1023!"},
    /* The callback is asked as long as it says yes, and each time all steps follow. */
    {.capacity = 1000,
     .says_yes = 2,
     .status = CLP_OUT_OF_DEVICE_MEMORY,
     .trace = ALL_STEPS " " ALL_STEPS " " ALL_STEPS},
    {.capacity = 1100,
     .active = {500},
     .are_elsewhere = true,
     .says_yes = 1,
     .trace = ALL_STEPS " F511 A1023"},
    {.capacity = 1100,
     .active = {500},
     .are_elsewhere = true,
     .says_yes = 1,
     .frees_are_pending = true,
     .trace = ALL_STEPS " F511 A1023! D A1023"},
    {.capacity = 1100, .active = {1010}, .says_yes = 1, .trace = ALL_STEPS}, /* it is handed out */
    {.capacity = 1100,
     .active = {100, 400},
     .says_yes = 2,
     .trace = ALL_STEPS " A1023! F103 " ALL_STEPS " A1023! F415 A1023"},
    /* A limit that refuses asks the callback, but not if nothing could help. It neither drains nor
     * takes from other pools. */
    {.limit = 1023, .active = {10}, .status = CLP_LIMIT_EXCEEDED, .trace = "C1023"},
    {.limit = 1022, .others = {100}, .says_yes = 1, .status = CLP_LIMIT_EXCEEDED, .trace = ""},
    {.limit = 1100, .active = {400}, .says_yes = 1, .trace = "C1023 F415 A1023"},
    {.limit = 1100, .active = {400, 200}, .says_yes = 2, .trace = "C1023 F415 C1023 F207 A1023"},
    {.limit = 1100, .active = {1010}, .says_yes = 1, .trace = "C1023"},
    {.limit = 1030,
     .active = {10, 10, 10, 10},
     .others = {100},
     .status = CLP_LIMIT_EXCEEDED,
     .trace = "C1023"},
};

static void start_row(const row *it, clpt_rig *rig, clpt_helper *helper, clp_pool **other)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  *helper = (clpt_helper){.device = &rig->device, .says_yes = it->says_yes};
  clpt_device_init(&rig->device);
  if (it->is_bare)
    rig->device.ops.drain = rig->device.ops.return_cached = NULL;
  options.on_out_of_memory = clpt_help;
  options.user_data = helper;
  clpt_rig_start_with(rig, &options);
  *other = clpt_pool(rig->allocator);
  for (size_t i = 0; i < 4 && it->holds[i]; i++)
    clpt_hold(rig->pool, it->holds[i], 1);
  for (size_t i = 0; i < 4 && it->active[i]; i++)
    helper->releases[i] = clpt_allocate(it->are_elsewhere ? *other : rig->pool, it->active[i]);
  if (it->are_elsewhere)
    clpt_ok(clp_pool_stop_holding(*other));
  if (it->others[0])
    clpt_hold(*other, it->others[0], 1);
  clpt_ok(clp_pool_set_limit(rig->pool, it->limit));
  rig->device.capacity = it->capacity;
  rig->device.cached_bytes = it->cached_bytes;
  rig->device.frees_are_pending = it->frees_are_pending;
  rig->device.allocate_fault = it->allocate;
  rig->device.free_fault = it->free;
  rig->device.drain_fault = it->drain;
  rig->device.return_cached_fault = it->return_cached;
}

START_TEST(each_row)
{
  const row *it = &rows[_i];
  bool runs_out =
      strncmp(it->trace, "A1023!", 6) == 0 && (!it->allocate.count || it->allocate.after);
  bool asks = strchr(it->trace, 'C');
  clpt_rig rig;
  clpt_helper helper;
  clp_pool *other;
  clp_buffer *buffer = (clp_buffer *)&rig;

  start_row(it, &rig, &helper, &other);
  clp_pool_stats before = clpt_stats(rig.pool);
  clpt_device_clear_trace(&rig.device);
  clp_status status = clp_pool_allocate(rig.pool, 1023, &buffer);
  clpt_device_trace_is(&rig.device, it->trace);
  ck_assert_int_eq(status, it->status);
  ck_assert(!status == !!buffer);
  ck_assert(!status || clp_last_error()->status == status);
  ck_assert_ptr_eq(helper.seen_pool, asks ? rig.pool : NULL);
  ck_assert_uint_eq(helper.seen_bytes, asks ? 1023 : 0);
  clp_pool_stats after = clpt_stats(rig.pool);
  ck_assert_uint_eq(after.out_of_memory_reactions, runs_out);
  ck_assert_uint_eq(after.allocations - before.allocations, !status);
  ck_assert_uint_eq(after.managed_bytes + clpt_stats(other).managed_bytes, rig.device.live_bytes);
  rig.device.capacity = 0;
  clpt_ok(clp_buffer_release(buffer));
  for (size_t i = helper.released; helper.releases[i]; i++)
    clpt_ok(clp_buffer_release(helper.releases[i]));
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(other_pools_on_the_allocator_give_what_they_hold_before_the_allocator_waits)
{
  clpt_rig rig;
  clp_pool *others[2];

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  for (int i = 0; i < 2; i++)
    others[i] = clpt_pool(rig.allocator);
  clpt_hold(others[0], 200, 1);
  clpt_hold(others[1], 400, 1);
  clp_buffer *active = clpt_allocate(others[1], 10);
  rig.device.capacity = 10 + 1023;
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_buffer_release(clpt_allocate(rig.pool, 1000)));
  /* Own first; in which order the others come is theirs. */
  ck_assert_int_eq(strncmp(rig.device.trace, "A1023! F103 A1023! F", 20), 0);
  ck_assert_ptr_nonnull(strstr(rig.device.trace, "F207"));
  ck_assert_ptr_nonnull(strstr(rig.device.trace, "F415"));
  ck_assert_ptr_null(strchr(rig.device.trace, 'D'));
  for (int i = 0; i < 2; i++) {
    ck_assert_uint_eq(clpt_stats(others[i]).held_blocks, 0);
    ck_assert_uint_eq(clpt_stats(others[i]).device_frees, 1);
    ck_assert_uint_eq(clpt_stats(others[i]).out_of_memory_reactions, 0);
  }
  ck_assert_uint_eq(clpt_stats(others[1]).active_blocks, 1); /* theirs are never touched */
  clpt_ok(clp_buffer_release(active));
  for (int i = 0; i < 2; i++)
    clp_pool_release(others[i]);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_report_is_of_the_allocation_whatever_the_steps_ran_into)
{
  clpt_fault fault = {
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "no such queue"};
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  rig.device.allocate_fault = (clpt_fault){.count = 100,
                                           .status = CLP_OUT_OF_DEVICE_MEMORY,
                                           .native_code = -4,
                                           .message = "mem object allocation failure"};
  rig.device.drain_fault = rig.device.return_cached_fault = fault;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_int_eq(clp_last_error()->native_code, -4);
  clpt_message_has("mem object allocation failure");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_message_has_all_the_figures_and_the_native_code)
{
  clpt_rig rig;
  clp_buffer *active, *buffer = NULL;

  clpt_rig_start(&rig);
  active = clpt_allocate(rig.pool, 200); /* 207 */
  clpt_ok(clp_pool_set_limit(rig.pool, 54321));
  rig.device.allocate_fault = (clpt_fault){.count = 100,
                                           .status = CLP_OUT_OF_DEVICE_MEMORY,
                                           .native_code = -4,
                                           .message = "mem object allocation failure"};
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  clpt_message_has("1000");   /* requested */
  clpt_message_has("1023");   /* rounded */
  clpt_message_has("207");    /* managed */
  clpt_message_has("held 0"); /* held */
  clpt_message_has("54321");  /* limit */
  clpt_message_has("mem object allocation failure");
  ck_assert_int_eq(clp_last_error()->native_code, -4);
  rig.device.allocate_fault.count = 0;
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_silent_allocator_still_leaves_a_message_of_this_failure)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  rig.device.capacity = 10;
  (void)clp_set_last_error(CLP_IO_ERROR, 99, "stale words");
  ck_assert_int_eq(clp_pool_allocate(rig.pool, 1000, &buffer), CLP_OUT_OF_DEVICE_MEMORY);
  ck_assert_int_eq(clp_last_error()->status, CLP_OUT_OF_DEVICE_MEMORY);
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  ck_assert_ptr_null(strstr(clp_last_error()->message, "stale words"));
  clpt_message_has("1023");
  clpt_rig_end(&rig);
}
END_TEST

/* --- the callback --- */

START_TEST(a_callback_may_use_other_pools_and_its_own)
{
  clpt_rig rig, stranger;
  clpt_helper helper;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&stranger);
  for (int own = 0; own < 2; own++) {
    clpt_start_with_helper(&rig, &helper, 1000);
    helper.uses = own ? rig.pool : stranger.pool;
    helper.says_yes = 3;
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
    ck_assert_uint_eq(helper.says_yes, 0);
    clpt_rig_end(&rig);
  }
  ck_assert_uint_eq(clpt_stats(stranger.pool).held_blocks, 1);
  clpt_rig_end(&stranger);
}
END_TEST

START_TEST(a_callback_that_runs_out_of_memory_itself_nests)
{
  clpt_rig rig, inner;
  clpt_helper helper, inner_helper;
  clp_buffer *active, *buffer = NULL;

  clpt_start_with_helper(&inner, &inner_helper, 15);
  active = clpt_allocate(inner.pool, 9); /* leaves no room for 10 bytes */
  inner_helper.says_yes = 1;
  inner_helper.releases[0] = active;
  clpt_start_with_helper(&rig, &helper, 1000);
  helper.uses = inner.pool;
  helper.says_yes = 2;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  clpt_message_has("1023"); /* of the outer request */
  ck_assert_uint_eq(inner_helper.seen_bytes, 10);
  ck_assert_uint_eq(inner_helper.says_yes, 0);
  ck_assert_uint_eq(helper.seen_bytes, 1023);
  ck_assert_uint_eq(helper.says_yes, 0);
  clpt_rig_end(&rig);
  clpt_rig_end(&inner);
}
END_TEST

/* --- callbacks that ask for memory themselves --- */

/* Where pools stand, and what refuses them. */
enum { ON_DEVICE, AT_LIMIT, ON_ARENA, ASKING_EACH_OTHER, KINDS };

typedef struct asker {
  clp_pool *pool, *other; /* whose callback it is; whom it asks */
  clp_status refusal;     /* what that says */
  unsigned depth, calls;
} asker;

static bool ask_for_more(clp_pool *pool, size_t bytes, void *user_data)
{
  asker *self = user_data;
  clp_buffer *staging = NULL;
  (void)bytes;
  ck_assert_ptr_eq(pool, self->pool);
  ck_assert_uint_eq(self->depth++, 0);
  self->calls++;
  clpt_fails(self->refusal, clp_pool_allocate(self->other, 5000, &staging));
  self->depth--;
  return self->calls < 3;
}

START_TEST(inside_its_callback_a_pool_calls_none)
{
  clpt_device device;
  asker askers[2] = {{.calls = 0}};
  clpt_device_init_split(&device);
  clp_allocator *allocator = clpt_device_allocator(&device), *below = allocator;
  if (_i == ON_ARENA)
    clpt_ok(clp_arena_allocator_create(below, NULL, &allocator));
  clp_buffer *active[2], *buffer = NULL;
  for (int i = 0; i < 2; i++) {
    clp_pool_options options = CLP_POOL_OPTIONS_INIT;
    options.on_out_of_memory = ask_for_more;
    options.user_data = &askers[i];
    clpt_ok(clp_pool_create(allocator, &options, &askers[i].pool));
    active[i] = clpt_allocate(askers[i].pool, 4096);
  }
  device.capacity = _i == AT_LIMIT ? 0 : device.live_bytes + 1000;
  if (_i == AT_LIMIT)
    clpt_ok(clp_pool_set_limit(askers[0].pool, 6000));
  clp_status refusal = _i == AT_LIMIT ? CLP_LIMIT_EXCEEDED : CLP_OUT_OF_DEVICE_MEMORY;
  for (int i = 0; i < 2; i++) {
    askers[i].other = askers[_i == ASKING_EACH_OTHER ? !i : i].pool;
    askers[i].refusal = refusal;
  }
  clpt_fails(refusal, clp_pool_allocate(askers[0].pool, 5000, &buffer));
  ck_assert_uint_eq(askers[0].calls, 3);
  ck_assert_uint_eq(askers[1].calls, _i == ASKING_EACH_OTHER ? 5 : 0); /* 3, and 1 each time */
  for (int i = 0; i < 2; i++) {
    clpt_ok(clp_buffer_release(active[i]));
    clp_pool_release(askers[i].pool);
  }
  if (_i == ON_ARENA)
    clp_allocator_release(allocator);
  clp_allocator_release(below);
  clpt_device_assert_ended(&device);
}
END_TEST

static bool end_thread(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes, (void)user_data;
  pthread_exit("in a callback");
}

static clp_status pushed;

static void push_a_hook(void *hook)
{
  pushed = clp_hook_push(hook);
  (void)clp_hook_pop(hook);
}

static void *ask_in_vain(void *pool)
{
  clp_hook hook = CLP_HOOK_INIT;
  clp_buffer *buffer;
  hook.name = "at the end";
  pthread_cleanup_push(push_a_hook, &hook);
  (void)clp_pool_allocate(pool, 1000, &buffer);
  pthread_cleanup_pop(false);
  return NULL;
}

/* What the thread does then is not done inside of the callback. The pool never ends. */
START_TEST(a_callback_that_ends_its_thread_is_over)
{
  static clpt_device device;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;
  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
  options.on_out_of_memory = end_thread;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  device.capacity = 1;
  pushed = CLP_BUSY;
  ck_assert_str_eq(clpt_aside(ask_in_vain, pool), "in a callback");
  ck_assert_int_eq(pushed, CLP_SUCCESS);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

typedef struct promiser {
  bool is_limited, takes, is_on_arena; /* takes: and releases, memory of the same pool */
  unsigned calls;
} promiser;

static bool promise(clp_pool *pool, size_t bytes, void *user_data)
{
  promiser *self = user_data;
  (void)bytes;
  ck_assert_uint_le(++self->calls, 1000);
  if (self->takes)
    clpt_ok(clp_buffer_release(clpt_allocate(pool, 10)));
  return true;
}

static const promiser promisers[] = {
    {.is_limited = true},
    {.is_limited = false},
    {.is_limited = true, .takes = true},
    {.is_limited = false, .takes = true},
    {.is_limited = true, .takes = true, .is_on_arena = true},
};
enum { PROMISERS = sizeof(promisers) / sizeof(promisers[0]) };

START_TEST(a_callback_that_only_promises_is_not_asked_for_ever)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  promiser it = promisers[_i];
  clpt_rig rig;
  clp_buffer *buffer = NULL;
  clpt_device_init_split(&rig.device);
  rig.device.ops.alignment = 1;
  options.on_out_of_memory = promise;
  options.user_data = &it;
  options.arena = it.is_on_arena;
  clpt_rig_start_with(&rig, &options);
  clp_buffer *active = clpt_allocate(rig.pool, 500);
  if (it.is_limited)
    clpt_ok(clp_pool_set_limit(rig.pool, 1100));
  else
    rig.device.capacity = 1100;
  clpt_fails(it.is_limited ? CLP_LIMIT_EXCEEDED : CLP_OUT_OF_DEVICE_MEMORY,
             clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_uint_eq(it.calls, 64);
  clpt_message_has("on_out_of_memory");
  clpt_message_has("64 times");
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

/* A callback that gives back one piece each time, of a pool or the allocator, with promises
 * between. */
typedef struct pieces {
  clp_allocator *allocator;
  clp_buffer *buffers[200];
  clp_memory memories[200];
  size_t count, calls;
} pieces;

static bool free_a_piece(clp_pool *pool, size_t bytes, void *user_data)
{
  pieces *self = user_data;
  (void)pool, (void)bytes;
  if (self->calls++ % 3 || !self->count)
    return true;
  self->count--;
  if (self->allocator)
    clpt_ok(clp_allocator_free(self->allocator, self->memories[self->count], 1000));
  else
    clpt_ok(clp_buffer_release(self->buffers[self->count]));
  return true;
}

START_TEST(a_callback_that_frees_in_pieces_is_asked_on)
{
  enum { OF_THE_ALLOCATOR, OF_THE_POOL, OF_AN_ARENA, OF_ANOTHER_POOL };
  clpt_device device;
  pieces them = {.count = 200};
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_device_init_split(&device);
  clp_allocator *allocator = clpt_device_allocator(&device), *below = allocator;
  if (_i == OF_AN_ARENA)
    clpt_ok(clp_arena_allocator_create(below, NULL, &allocator));
  clp_pool *pool, *other = clpt_pool(allocator);
  options.leading_bits_in_bin_id = 16;
  options.on_out_of_memory = free_a_piece;
  options.user_data = &them;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  them.allocator = _i == OF_THE_ALLOCATOR ? allocator : NULL;
  for (size_t i = 0; i < them.count; i++)
    if (them.allocator)
      them.memories[i] = clpt_memory(allocator, 1000);
    else
      them.buffers[i] = clpt_allocate(_i == OF_ANOTHER_POOL ? other : pool, 1000);
  device.capacity = device.live_bytes;
  clp_buffer *buffer = clpt_allocate(pool, 200 * 1000);
  ck_assert_uint_lt(them.count, 5); /* an arena rounds each up */
  clpt_ok(clp_buffer_release(buffer));
  while (them.count > 0)
    clpt_ok(clp_buffer_release(them.buffers[--them.count]));
  clp_pool_release(other);
  clp_pool_release(pool);
  if (_i == OF_AN_ARENA)
    clp_allocator_release(allocator);
  clp_allocator_release(below);
  clpt_device_assert_ended(&device);
}
END_TEST

CLPT_SUITE("out of memory")
{
  TCase *tests = clpt_case(suite, "steps");
  tcase_add_loop_test(tests, each_row, 0, sizeof(rows) / sizeof(rows[0]));
  tcase_add_test(tests,
                 other_pools_on_the_allocator_give_what_they_hold_before_the_allocator_waits);
  tcase_add_test(tests, the_report_is_of_the_allocation_whatever_the_steps_ran_into);
  tcase_add_test(tests, the_message_has_all_the_figures_and_the_native_code);
  tcase_add_test(tests, a_silent_allocator_still_leaves_a_message_of_this_failure);

  tests = clpt_case(suite, "callback");
  tcase_add_test(tests, a_callback_may_use_other_pools_and_its_own);
  tcase_add_test(tests, a_callback_that_runs_out_of_memory_itself_nests);

  tcase_add_loop_test(tests, inside_its_callback_a_pool_calls_none, 0, KINDS);
  tcase_add_test(tests, a_callback_that_ends_its_thread_is_over);
  tcase_add_loop_test(tests, a_callback_that_only_promises_is_not_asked_for_ever, 0, PROMISERS);
  tcase_add_loop_test(tests, a_callback_that_frees_in_pieces_is_asked_on, 0, 4);
}
