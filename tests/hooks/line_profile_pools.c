/* SPDX-License-Identifier: MIT */
/* The line profile on pools: requests, and which frames there are.
 * tests/hooks/check-line-profile.sh looks at programs that use the shared library. */
#include "hooks/line_profile.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/hook.h>
#include <stdio.h>

enum { KB = 1024, PLACES = 8 };

static clpt_rig rig;
static clp_line_profile *profile;

static void start(unsigned max_depth, const clp_pool_options *options)
{
  clpt_rig_start_with(&rig, options);
  clpt_ok(clp_line_profile_create(max_depth, &profile));
}

static void setup(void)
{
  clpt_device_init(&rig.device);
}

static void teardown(void)
{
  clp_line_profile_destroy(profile);
  clpt_rig_end(&rig);
}

/* The report's first line. */
static void root_is(clp_line_profile_view view, const char *figures)
{
  char text[8192] = "";
  FILE *file = fmemopen(text, sizeof(text), "w");
  clpt_ok(clp_line_profile_print_view(profile, view, file));
  fclose(file);
  *strchr(text, ')') = '\0';
  ck_assert_str_eq(strchr(text, '(') + 1, figures);
}

/* --- requests --- */

/* A pool rounds 1 KB up to 1,087 bytes, 1.06 KB. */
static const struct {
  size_t capacity, limit, held, bytes; /* held: bytes of a block; 0: none */
  clp_status status;
  const char *sums, *now;
} requests[] = {
    {0, 0, 0, KB, CLP_SUCCESS, "1.06KB, 1.06KB", "1.06KB"},
    {0, 0, KB, KB, CLP_SUCCESS, "1.06KB, 0.00B", "1.06KB"},
    {0, 0, 0, 0, CLP_SUCCESS, "0.00B, 0.00B", "0.00B"},
    /* Refused by the device, each time that it is asked, or by the limit. */
    {KB - 1, 0, 0, KB, CLP_OUT_OF_DEVICE_MEMORY, "1.06KB, 0.00B", "0.00B"},
    {0, 10, 0, KB, CLP_LIMIT_EXCEEDED, "1.06KB, 0.00B", "0.00B"},
    /* Served at last: after the held block went back, or with the requested size. */
    {1087, 0, 100, KB, CLP_SUCCESS, "1.06KB, 1.06KB", "1.06KB"},
    {KB, 0, 0, KB, CLP_SUCCESS, "1.06KB, 1.00KB", "1.00KB"},
    {0, KB, 0, KB, CLP_SUCCESS, "1.06KB, 1.00KB", "1.00KB"},
};

START_TEST(a_request_is_used_once_and_acquires_what_the_device_gives)
{
  clp_buffer *buffer;
  rig.device.ops.alignment = 1;
  start(1, NULL);
  if (requests[_i].held)
    clpt_hold(rig.pool, requests[_i].held, 1);
  rig.device.capacity = requests[_i].capacity;
  clpt_ok(clp_pool_set_limit(rig.pool, requests[_i].limit));
  clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  clp_status status = clp_pool_allocate(rig.pool, requests[_i].bytes, &buffer);
  ck_assert_int_eq(status, requests[_i].status);
  root_is(CLP_VIEW_SUMS, requests[_i].sums);
  root_is(CLP_VIEW_NOW, requests[_i].now);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  root_is(CLP_VIEW_SUMS, requests[_i].sums);
  root_is(CLP_VIEW_NOW, "0.00B");
  root_is(CLP_VIEW_PEAK, requests[_i].now);
}
END_TEST

/* --- frames: the program's alone --- */

static clpi_call_stack here;

/* Remembers the caller's stack, whose last frame is the caller's. */
__attribute__((noinline)) static void remember_stack(void)
{
  clpi_call_stack_capture(&here, clpi_walk_stack,
                          __builtin_extract_return_addr(__builtin_return_address(0)));
}

/* The device, or the callback, takes a buffer from a second pool when it is asked for `call`. */
static struct {
  clp_pool *second;
  clpt_call call;
} nested;

__attribute__((noinline)) static void take_from_second(clpt_device *device, clpt_call call,
                                                       size_t bytes)
{
  (void)device, (void)bytes;
  if (call != nested.call)
    return;
  nested.call = 0; /* once */
  clpt_hold(nested.second, 100, 1);
}

static bool make_room(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes, (void)user_data;
  take_from_second(NULL, CLPT_CALLBACK, 0);
  return false;
}

static const clpt_call operations[] = {CLPT_ALLOCATE, CLPT_FREE, CLPT_DRAIN, CLPT_RETURN_CACHED,
                                       CLPT_CALLBACK};

/* Where memory is short, each of them is called. What they take is one stack, below the test's,
 * whose last frames are at most those of the operation and the fixtures. */
START_TEST(between_the_program_and_what_it_gave_the_library_is_no_frame)
{
  enum { FIXTURES = 5 };
  clpt_rig second;
  clp_buffer *buffer;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  options.on_out_of_memory = make_room;
  start(0, &options);
  clpt_rig_start(&second);
  clpt_hold(rig.pool, KB, 1);
  rig.device.capacity = KB;
  rig.device.on_call = take_from_second;
  nested.second = second.pool;
  nested.call = operations[_i];
  remember_stack();
  clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 2 * KB, &buffer));
  clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  ck_assert_int_eq(nested.call, 0);
  const clpi_call_tree *stacks = &profile->stacks;
  size_t depth = clpi_call_stack_depth(&here);
  ck_assert_uint_gt(stacks->count, 1 + depth);
  ck_assert_uint_le(stacks->count, 1 + depth + FIXTURES);
  for (uint32_t i = 1; i < stacks->count; i++)
    ck_assert_uint_eq(stacks->nodes[i].parent, i - 1);
  for (size_t i = 0; i < depth - 1; i++)
    ck_assert_uint_eq(stacks->nodes[i + 1].key, clpi_call_stack_frame(&here, i));
  ck_assert_uint_eq(stacks->nodes[stacks->count - 1].bytes.used, 103);
  clpt_rig_end(&second);
}
END_TEST

/* --- threads --- */

/* Buffers go from thread to thread: each releases what others allocated. */
static clp_buffer *_Atomic places[PLACES];

static void exchange_many(clpt_worker *self)
{
  clp_buffer *buffer;
  for (unsigned i = 0; i < self->rounds; i++) {
    clpt_note_failure(self, "allocate", clp_pool_allocate(rig.pool, KB, &buffer));
    buffer = atomic_exchange(&places[clpt_chance_below(&self->chance, PLACES)], buffer);
    clpt_note_failure(self, "release", clp_buffer_release(buffer));
  }
}

static void report(clpt_worker *self)
{
  for (unsigned i = 0; i < 6; i++) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    clpt_note_failure(self, "a report",
                      i % 2 ? clp_line_profile_print_view(profile, i % 3, out)
                            : clp_line_profile_write_folded_view(profile, i % 3, out));
    fclose(out);
    if (length && (strncmp(text, "_root (", 7) != 0) == i % 2)
      clpt_wrong(self, "no whole report: %s", text);
    free(text);
  }
}

/* A pool's hook sees all threads, and what they hand to each other, while others report. */
START_TEST(threads)
{
  enum { WORKERS = 3 };
  static const clpt_work work[] = {exchange_many, report, exchange_many, exchange_many};
  unsigned rounds = clpt_iterations(2000);
  clpt_workers all;
  uint64_t left = 0;
  start(0, NULL);
  clpt_ok(clp_pool_add_hook(rig.pool, clp_line_profile_hook(profile)));
  clpt_workers_start(&all, WORKERS + 1, work, 4, rounds, NULL);
  clpt_workers_join(&all);
  const uint64_t bytes = clpt_bin_bytes(KB);
  for (size_t i = 0; i < PLACES; i++)
    left += places[i] ? bytes : 0;
  ck_assert_uint_gt(left, 0);
  ck_assert_uint_eq(profile->stacks.in_use, left);
  ck_assert_uint_ge(profile->stacks.peak, left);
  ck_assert_uint_le(profile->stacks.peak, (PLACES + WORKERS) * bytes);
  uint64_t used = 0;
  for (uint32_t i = 0; i < profile->stacks.count; i++)
    used += profile->stacks.nodes[i].bytes.used;
  ck_assert_uint_eq(used, WORKERS * rounds * bytes);
  for (size_t i = 0; i < PLACES; i++)
    clpt_ok(clp_buffer_release(atomic_exchange(&places[i], NULL)));
  root_is(CLP_VIEW_NOW, "0.00B");
  clpt_ok(clp_pool_remove_hook(rig.pool, clp_line_profile_hook(profile)));
}
END_TEST

CLPT_SUITE("line profile of pools")
{
  TCase *tests = clpt_case(suite, "pools");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, a_request_is_used_once_and_acquires_what_the_device_gives, 0,
                      sizeof(requests) / sizeof(requests[0]));
  tcase_add_loop_test(tests, between_the_program_and_what_it_gave_the_library_is_no_frame, 0,
                      sizeof(operations) / sizeof(operations[0]));
  tcase_add_test(tests, threads);
}
