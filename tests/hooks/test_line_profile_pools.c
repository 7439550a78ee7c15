/* SPDX-License-Identifier: MIT */
/* The line profile on pools: what cupy's own tests of LineProfileHook ask, and which frames there
 * are. The library's objects are linked into this program; tests/hooks/check-line-profile.sh looks
 * at programs that use the shared library. */
#include "hooks/line_profile.h"
#include "support/pools.h"
#include "support/profiles.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/hook.h>
#include <fnmatch.h>

enum { KB = 1024 };

/* A pool whose blocks are just as large as what is asked for, and a profile. */
typedef struct profiled {
  clpt_rig rig;
  clp_line_profile *profile;
} profiled;

static void start_with(profiled *it, unsigned max_depth, const clp_pool_options *given)
{
  clp_pool_options options = *given;
  options.leading_bits_in_bin_id = CLP_MAX_LEADING_BITS;
  clpt_device_init(&it->rig.device);
  clpt_rig_start_with(&it->rig, &options);
  clpt_ok(clp_line_profile_create(max_depth, &it->profile));
}

static void start(profiled *it, unsigned max_depth)
{
  start_with(it, max_depth, &(clp_pool_options)CLP_POOL_OPTIONS_INIT);
}

static void end(profiled *it)
{
  clp_line_profile_destroy(it->profile);
  clpt_rig_end(&it->rig);
}

static void push(profiled *it)
{
  clpt_ok(clp_hook_push(clp_line_profile_hook(it->profile)));
}

static void pop(profiled *it)
{
  clpt_ok(clp_hook_pop(clp_line_profile_hook(it->profile)));
}

__attribute__((noinline)) static void take(profiled *it, size_t bytes)
{
  clp_buffer *buffer;
  clpt_ok(clp_pool_allocate(it->rig.pool, bytes, &buffer));
  clpt_ok(clp_buffer_release(buffer));
}

/* How many lines of the report match. */
static unsigned lines_like(clp_line_profile *profile, const char *pattern)
{
  char *text = clpt_printed(profile), *rest = text, *line;
  unsigned count = 0;
  while ((line = strsep(&rest, "\n")))
    count += *line && fnmatch(pattern, line, 0) == 0;
  free(text);
  return count;
}

/* --- cupy's cases --- */

#ifdef HAVE_LIBDW
#define HERE "*tests/hooks/test_line_profile_pools.c:[0-9]*:cupys_report_fn "
#else
#define HERE "*test_line_profile_pools+0x[0-9a-f]* "
#endif

START_TEST(cupys_report)
{
  profiled it;
  clp_buffer *small, *large;
  start(&it, 0);
  clpt_ok(clp_pool_allocate(it.rig.pool, KB, &small));
  clpt_ok(clp_buffer_release(small));
  push(&it);
  clpt_ok(clp_pool_allocate(it.rig.pool, KB, &small));
  clpt_ok(clp_pool_allocate(it.rig.pool, 2 * KB, &large));
  pop(&it);
  clpt_ok(clp_buffer_release(small));
  clpt_ok(clp_buffer_release(large));
  ck_assert_uint_eq(lines_like(it.profile, "_root (3.00KB, 2.00KB)"), 1);
  ck_assert_uint_ge(lines_like(it.profile, HERE "(1.00KB, 0.00B)"), 1);
  ck_assert_uint_ge(lines_like(it.profile, HERE "(2.00KB, 2.00KB)"), 1);
  end(&it);
}
END_TEST

START_TEST(cupys_depths)
{
  profiled it;
  start(&it, (unsigned)_i);
  push(&it);
  take(&it, KB);
  pop(&it);
  ck_assert_uint_eq(lines_like(it.profile, "*"), (unsigned)_i);
  ck_assert_uint_eq(lines_like(it.profile, "*(1.00KB, 1.00KB)"), (unsigned)_i);
  end(&it);
}
END_TEST

/* --- Frames --- */

static clpi_call_stack here;

/* Remembers the caller's stack, whose last frame is the caller's. */
__attribute__((noinline)) static void remember_stack(void)
{
  clpi_call_stack_capture(&here, clpi_walk_stack,
                          __builtin_extract_return_addr(__builtin_return_address(0)));
}

/* What the profile recorded below the function that remembered its stack: the stack of one call in
 * that, with `frames` frames of the program's below, and none of the library's anywhere. */
static const clpi_call_node *recorded_below(const profiled *it, size_t frames)
{
  const clpi_call_tree *stacks = &it->profile->stacks;
  size_t depth = clpi_call_stack_depth(&here);
  ck_assert_uint_eq(stacks->count, 1 + depth + frames);
  for (uint32_t i = 1; i < stacks->count; i++)
    ck_assert_uint_eq(stacks->nodes[i].parent, i - 1);
  for (size_t i = 0; i < depth - 1; i++)
    ck_assert_uint_eq(stacks->nodes[i + 1].key, clpi_call_stack_frame(&here, i));
  return &stacks->nodes[depth];
}

START_TEST(a_miss_is_one_stack)
{
  profiled it;
  start(&it, 0);
  remember_stack();
  push(&it);
  take(&it, KB);
  pop(&it);
  const clpi_call_node *in_take = recorded_below(&it, 1) + 1;
  ck_assert_uint_eq(in_take->bytes.used, KB);
  ck_assert_uint_eq(in_take->bytes.acquired, KB);
  end(&it);
}
END_TEST

START_TEST(a_hit_is_used_only)
{
  profiled it;
  start(&it, 0);
  take(&it, KB);
  remember_stack();
  push(&it);
  take(&it, KB);
  pop(&it);
  const clpi_call_node *in_take = recorded_below(&it, 1) + 1;
  ck_assert_uint_eq(in_take->bytes.used, KB);
  ck_assert_uint_eq(in_take->bytes.acquired, 0);
  end(&it);
}
END_TEST

START_TEST(an_empty_buffer_is_a_line_of_no_bytes)
{
  profiled it;
  start(&it, 0);
  remember_stack();
  push(&it);
  take(&it, 0);
  pop(&it);
  ck_assert_uint_eq(recorded_below(&it, 1)[1].bytes.used, 0);
  end(&it);
}
END_TEST

START_TEST(what_a_limit_refuses_was_asked_for)
{
  profiled it;
  clp_buffer *buffer;
  start(&it, 0);
  clpt_ok(clp_pool_set_limit(it.rig.pool, 10));
  remember_stack();
  push(&it);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(it.rig.pool, KB, &buffer));
  pop(&it);
  ck_assert_uint_eq(recorded_below(&it, 0)->bytes.used, KB);
  ck_assert_uint_eq(recorded_below(&it, 0)->bytes.acquired, 0);
  end(&it);
}
END_TEST

/* --- The program called by the library --- */

/* The first pool's device is full. Its callback takes a buffer from the second one, and frees. */
typedef struct crowded {
  profiled first;
  clpt_rig second;
} crowded;

static bool make_room(clp_pool *pool, size_t bytes, void *user_data)
{
  crowded *it = user_data;
  clp_buffer *buffer;
  (void)pool, (void)bytes;
  clpt_ok(clp_pool_allocate(it->second.pool, 100, &buffer));
  clpt_ok(clp_buffer_release(buffer));
  it->first.rig.device.capacity = 0;
  return true;
}

START_TEST(between_the_program_and_its_callback_is_no_frame)
{
  crowded it;
  clp_buffer *buffer;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.on_out_of_memory = make_room;
  options.user_data = &it;
  start_with(&it.first, 0, &options);
  clpt_rig_start(&it.second);
  it.first.rig.device.capacity = 10;
  remember_stack();
  push(&it.first);
  clpt_ok(clp_pool_allocate(it.first.rig.pool, KB, &buffer));
  pop(&it.first);
  const clpi_call_node *here_node = recorded_below(&it.first, 1);
  ck_assert_uint_eq(here_node[0].bytes.used, KB);
  /* The device was asked four times, and gave once. */
  ck_assert_uint_eq(here_node[0].bytes.acquired, KB);
  ck_assert_uint_eq(here_node[0].in_use, KB);
  ck_assert_uint_eq(here_node[1].bytes.used, 103);
  clpt_ok(clp_buffer_release(buffer));
  end(&it.first);
  clpt_rig_end(&it.second);
}
END_TEST

/* The first pool's device takes a buffer from the second pool when it is asked for `call`. */
static struct {
  clp_allocator_ops plain; /* the device's own operations */
  clp_pool *second;
  clpt_call call;
} nested;

__attribute__((noinline)) static void take_from_second(clpt_call call)
{
  clp_buffer *buffer;
  if (call != nested.call)
    return;
  nested.call = CLPT_DESTROY; /* once */
  clpt_ok(clp_pool_allocate(nested.second, 100, &buffer));
  clpt_ok(clp_buffer_release(buffer));
}

static clp_status take_and_allocate(void *self, size_t bytes, clp_memory *out)
{
  take_from_second(CLPT_ALLOCATE);
  return nested.plain.allocate(self, bytes, out);
}

static clp_status take_and_free(void *self, clp_memory memory, size_t bytes)
{
  take_from_second(CLPT_FREE);
  return nested.plain.free(self, memory, bytes);
}

static clp_status take_and_drain(void *self)
{
  take_from_second(CLPT_DRAIN);
  return nested.plain.drain(self);
}

static clp_status take_and_return_cached(void *self)
{
  take_from_second(CLPT_RETURN_CACHED);
  return nested.plain.return_cached(self);
}

static void start_nested(profiled *it)
{
  clpt_device *device = &it->rig.device;
  clpt_device_init(device);
  nested.plain = device->ops;
  device->ops.allocate = take_and_allocate;
  device->ops.free = take_and_free;
  device->ops.drain = take_and_drain;
  device->ops.return_cached = take_and_return_cached;
  clpt_rig_start_with(&it->rig, NULL);
  clpt_ok(clp_line_profile_create(0, &it->profile));
}

static const clpt_call operations[] = {CLPT_ALLOCATE, CLPT_FREE, CLPT_DRAIN, CLPT_RETURN_CACHED};

/* Where memory is short, each of them is called. */
START_TEST(between_the_program_and_its_allocator_is_no_frame)
{
  profiled it;
  clpt_rig second;
  clp_buffer *buffer;
  start_nested(&it);
  clpt_rig_start(&second);
  clpt_hold(it.rig.pool, KB, 1);
  it.rig.device.capacity = KB;
  nested.second = second.pool;
  nested.call = operations[_i];
  remember_stack();
  push(&it);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(it.rig.pool, 2 * KB, &buffer));
  pop(&it);
  ck_assert_int_eq(nested.call, CLPT_DESTROY);
  const clpi_call_node *here_node = recorded_below(&it, 2); /* the operation and what it calls */
  ck_assert_uint_eq(here_node[2].bytes.used, 103);
  end(&it);
  clpt_rig_end(&second);
}
END_TEST

/* --- Requests --- */

/* A pool rounds 1 KB up to 1,087 bytes, 1.06 KB, and 1 TB to 1.06 TB. */
static const struct {
  size_t capacity, limit, held, bytes; /* held: bytes of a block; 0: none */
  clp_status status;
  const char *sums, *now;
} requests[] = {
    {.bytes = KB, .sums = "1.06KB, 1.06KB", .now = "1.06KB"},
    {.held = KB, .bytes = KB, .sums = "1.06KB, 0.00B", .now = "1.06KB"},
    {.bytes = 0, .sums = "0.00B, 0.00B", .now = "0.00B"},
    /* Refused by the device, each time that it is asked. */
    {.capacity = KB - 1,
     .bytes = KB,
     .status = CLP_OUT_OF_DEVICE_MEMORY,
     .sums = "1.06KB, 0.00B",
     .now = "0.00B"},
    {.capacity = 1 << 30,
     .bytes = (size_t)1 << 40,
     .status = CLP_OUT_OF_DEVICE_MEMORY,
     .sums = "1.06TB, 0.00B",
     .now = "0.00B"},
    {.limit = 10,
     .bytes = KB,
     .status = CLP_LIMIT_EXCEEDED,
     .sums = "1.06KB, 0.00B",
     .now = "0.00B"},
    /* Served at last: after the held block went back, or with the requested size. */
    {.capacity = 1087, .held = 100, .bytes = KB, .sums = "1.06KB, 1.06KB", .now = "1.06KB"},
    {.capacity = KB, .bytes = KB, .sums = "1.06KB, 1.00KB", .now = "1.00KB"},
    {.limit = KB, .bytes = KB, .sums = "1.06KB, 1.00KB", .now = "1.00KB"},
};

static void prints_root(clp_line_profile *profile, clp_line_profile_view view, const char *figures)
{
  char expected[64];
  (void)snprintf(expected, sizeof(expected), "_root (%s)\n", figures);
  clpt_prints_view(profile, view, expected);
}

START_TEST(a_request_is_used_once_and_acquires_what_the_device_gives)
{
  profiled it;
  clp_buffer *buffer;
  clpt_device_init(&it.rig.device);
  it.rig.device.ops.alignment = 1;
  clpt_rig_start_with(&it.rig, NULL);
  clpt_ok(clp_line_profile_create(1, &it.profile));
  if (requests[_i].held)
    clpt_hold(it.rig.pool, requests[_i].held, 1);
  it.rig.device.capacity = requests[_i].capacity;
  clpt_ok(clp_pool_set_limit(it.rig.pool, requests[_i].limit));
  push(&it);
  clp_status status = clp_pool_allocate(it.rig.pool, requests[_i].bytes, &buffer);
  ck_assert_int_eq(status, requests[_i].status);
  prints_root(it.profile, CLP_VIEW_SUMS, requests[_i].sums);
  prints_root(it.profile, CLP_VIEW_NOW, requests[_i].now);
  clpt_ok(clp_buffer_release(buffer));
  pop(&it);
  prints_root(it.profile, CLP_VIEW_SUMS, requests[_i].sums);
  prints_root(it.profile, CLP_VIEW_NOW, "0.00B");
  prints_root(it.profile, CLP_VIEW_PEAK, requests[_i].now);
  end(&it);
}
END_TEST

START_TEST(what_the_hook_does_not_see_released_is_in_use_until_it_comes_again)
{
  profiled it;
  clp_buffer *buffer, *again;
  start(&it, 1);
  push(&it);
  clpt_ok(clp_pool_allocate(it.rig.pool, KB, &buffer));
  pop(&it);
  clpt_ok(clp_buffer_release(buffer));
  prints_root(it.profile, CLP_VIEW_NOW, "1.00KB");
  push(&it);
  clpt_ok(clp_pool_allocate(it.rig.pool, KB, &again));
  ck_assert_ptr_eq(again, buffer);
  prints_root(it.profile, CLP_VIEW_NOW, "1.00KB");
  clpt_ok(clp_buffer_release(again));
  prints_root(it.profile, CLP_VIEW_NOW, "0.00B");
  prints_root(it.profile, CLP_VIEW_PEAK, "1.00KB");
  pop(&it);
  end(&it);
}
END_TEST

/* --- Threads --- */

/* Buffers go from thread to thread: each releases what others allocated. */
enum { PLACES = 8 };

typedef struct exchange {
  profiled profiled;
  clp_buffer *_Atomic places[PLACES];
} exchange;

static void exchange_many(clpt_worker *self)
{
  exchange *it = self->shared;
  clp_buffer *buffer;
  for (unsigned i = 0; i < self->rounds; i++) {
    if (clp_pool_allocate(it->profiled.rig.pool, KB, &buffer))
      clpt_wrong(self, "%s", clp_last_error()->message);
    buffer = atomic_exchange(&it->places[clpt_chance_below(&self->chance, PLACES)], buffer);
    if (clp_buffer_release(buffer))
      clpt_wrong(self, "%s", clp_last_error()->message);
  }
}

START_TEST(a_pools_hook_follows_buffers_through_threads)
{
  enum { WORKERS = 4 };
  static const clpt_work work[] = {exchange_many};
  clpt_workers all;
  exchange it = {.places = {NULL}};
  uint64_t left = 0;
  start(&it.profiled, 1);
  clp_line_profile *profile = it.profiled.profile;
  clpt_ok(clp_pool_add_hook(it.profiled.rig.pool, clp_line_profile_hook(profile)));
  clpt_workers_start(&all, WORKERS, work, 1, clpt_iterations(2000), &it);
  clpt_workers_join(&all);
  for (size_t i = 0; i < PLACES; i++)
    left += it.places[i] ? KB : 0;
  ck_assert_uint_gt(left, 0);
  ck_assert_uint_eq(profile->stacks.in_use, left);
  ck_assert_uint_ge(profile->stacks.peak, left);
  ck_assert_uint_le(profile->stacks.peak, (PLACES + WORKERS) * KB);
  for (size_t i = 0; i < PLACES; i++)
    clpt_ok(clp_buffer_release(it.places[i]));
  prints_root(profile, CLP_VIEW_NOW, "0.00B");
  clpt_ok(clp_pool_remove_hook(it.profiled.rig.pool, clp_line_profile_hook(profile)));
  end(&it.profiled);
}
END_TEST

static void take_many(clpt_worker *self)
{
  for (unsigned i = 0; i < self->rounds; i++)
    take(self->shared, 1);
}

START_TEST(a_pools_hook_sees_all_threads)
{
  enum { WORKERS = 4 };
  static const clpt_work work[] = {take_many};
  unsigned rounds = clpt_iterations(2000);
  clpt_workers all;
  profiled it;
  start(&it, 1);
  clpt_ok(clp_pool_add_hook(it.rig.pool, clp_line_profile_hook(it.profile)));
  clpt_workers_start(&all, WORKERS, work, 1, rounds, &it);
  clpt_workers_join(&all);
  clpt_ok(clp_pool_remove_hook(it.rig.pool, clp_line_profile_hook(it.profile)));
  ck_assert_uint_eq(it.profile->stacks.nodes[0].bytes.used, WORKERS * rounds);
  end(&it);
}
END_TEST

CLPT_MAIN("line profile of pools", clpt_run)
{
  TCase *cupy = clpt_case(suite, "cupy");
  tcase_add_test(cupy, cupys_report);
  tcase_add_loop_test(cupy, cupys_depths, 1, 4);
  TCase *frames = clpt_case(suite, "frames");
  tcase_add_test(frames, a_miss_is_one_stack);
  tcase_add_test(frames, a_hit_is_used_only);
  tcase_add_test(frames, an_empty_buffer_is_a_line_of_no_bytes);
  tcase_add_test(frames, what_a_limit_refuses_was_asked_for);
  tcase_add_test(frames, between_the_program_and_its_callback_is_no_frame);
  tcase_add_loop_test(frames, between_the_program_and_its_allocator_is_no_frame, 0, 4);
  TCase *asked = clpt_case(suite, "requests");
  tcase_add_loop_test(asked, a_request_is_used_once_and_acquires_what_the_device_gives, 0,
                      sizeof(requests) / sizeof(requests[0]));
  tcase_add_test(asked, what_the_hook_does_not_see_released_is_in_use_until_it_comes_again);
  TCase *threads = clpt_case(suite, "threads");
  tcase_add_test(threads, a_pools_hook_follows_buffers_through_threads);
  tcase_add_test(threads, a_pools_hook_sees_all_threads);
}
