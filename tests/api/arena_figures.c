/* SPDX-License-Identifier: MIT */
/* What is told of an arena: the device is what takes real memory. Hits and misses, hooks, profiles
 * and the figures of pools are about segments, and belong to the pool whose request took them. */
#include "core/allocator/allocator.h"
#include "hooks/line_profile.h"
#include "support/arenas.h"
#include "support/chance.h"
#include "support/pools.h"
#include "support/profiles.h"
#include "support/recorder.h"
#include "support/suite.h"

enum { SEGMENT = CLPT_SEGMENT, POOLS = 3 };

static clp_pool *pools[POOLS];
static clpt_recorder seen[POOLS];

/* Each pool's hook writes what it is shown. */
static void start_with(const clp_arena_options *options)
{
  static const char *const names[POOLS] = {"first", "second", "third"};
  clpt_arena_start_with(options);
  for (size_t i = 0; i < POOLS; i++) {
    pools[i] = clpt_pool(clpt_arena);
    clpt_recorder_init(&seen[i], names[i]);
    clpt_ok(clp_pool_add_hook(pools[i], &seen[i].hook));
  }
}

static void start(void)
{
  clp_arena_options options = clpt_arena_small();
  start_with(&options);
}

static void end(void)
{
  for (size_t i = 0; i < POOLS; i++)
    clp_pool_release(pools[i]);
  clpt_arena_end();
}

/* --- hooks --- */

START_TEST(hooks_are_shown_segments)
{
  start();
  clp_buffer *small = clpt_allocate(pools[0], 1000), *next = clpt_allocate(pools[0], 2000);
  clpt_recorder_is(&seen[0], "m<1000:1024 a<65536 a>65536 m>1000:1024 m<2000:2048 m>2000:2048");
  ck_assert_uint_eq(seen[0].events[2].memory, clp_buffer_memory(small));
  clp_pool_stats stats = clpt_stats(pools[0]);
  ck_assert_uint_eq(stats.misses, 1);
  ck_assert_uint_eq(stats.hits, 1);
  ck_assert_uint_eq(stats.device_allocations, 1);
  clpt_recorder_clear(&seen[0]);
  clpt_ok(clp_buffer_release(small));
  clpt_ok(clp_buffer_release(next));
  clpt_recorder_is(&seen[0], "f<1000:1024 f>1000:1024 f<2000:2048 f>2000:2048");
  ck_assert_uint_eq(clpt_stats(pools[0]).device_frees, 0);
  clpt_recorder_clear(&seen[0]);
  clpt_ok(clp_pool_free_held(pools[0]));
  clpt_recorder_is(&seen[0], "d<65536 d>65536");
  ck_assert_uint_eq(clpt_stats(pools[0]).device_frees, 1);
  clpt_recorder_is(&seen[1], "");
  end();
}
END_TEST

/* Another pool's request that such a segment serves is a hit; what a request has given back and
 * taken is its pool's. */
START_TEST(segments_belong_to_the_pool_that_took_them)
{
  start();
  clp_buffer *mine = clpt_allocate(pools[0], 1000), *theirs = clpt_allocate(pools[1], 60000);
  ck_assert_uint_eq(clpt_stats(pools[1]).hits, 1);
  ck_assert_uint_eq(clpt_stats(pools[1]).device_allocations, 0);
  clpt_recorder_is(&seen[1], "m<60000:60160 m>60000:60160");
  clpt_ok(clp_buffer_release(mine));
  clpt_ok(clp_buffer_release(theirs));
  clpt_recorder_clear(&seen[0]);
  clp_buffer *large = clpt_allocate(pools[2], 2 * SEGMENT);
  clpt_recorder_is(&seen[2], "m<131072:131072 d<65536 d>65536 a<131072 a>131072 m>131072:131072");
  clpt_recorder_is(&seen[0], "");
  clp_pool_stats stats = clpt_stats(pools[2]);
  ck_assert_uint_eq(stats.device_allocations, 1);
  ck_assert_uint_eq(stats.device_frees, 1);
  ck_assert_uint_eq(stats.misses, 1);
  clpt_ok(clp_buffer_release(large));
  end();
}
END_TEST

START_TEST(what_is_refused_is_shown_and_counts_nothing)
{
  clp_buffer *refused;
  start();
  clpt_arena_device.capacity = SEGMENT;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pools[0], SEGMENT + 1, &refused));
  ck_assert_ptr_nonnull(strstr(seen[0].log, "a<65792 a>65792!"));
  ck_assert_ptr_nonnull(strstr(seen[0].log, " m>65537:65792!"));
  clp_pool_stats stats = clpt_stats(pools[0]);
  ck_assert_uint_eq(stats.hits + stats.misses + stats.device_allocations, 0);
  clpt_arena_device.free_fault =
      (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "not now"};
  clpt_hold(pools[0], 1000, 1);
  clpt_recorder_clear(&seen[0]);
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_free_held(pools[0]));
  clpt_recorder_is(&seen[0], "d<65536 d>65536!");
  ck_assert_uint_eq(clpt_stats(pools[0]).device_frees, 0);
  end();
}
END_TEST

/* Not even where a request makes it whole again: 3 segments are exchanged for 6 and 2. */
START_TEST(a_reserve_is_nobodys)
{
  start();
  clpt_arena_device.capacity = 8 * SEGMENT;
  clp_buffer *buffer = clpt_allocate(pools[0], 3 * SEGMENT);
  clpt_ok(clp_arena_reserve(clpt_arena, 8 * SEGMENT));
  clpt_ok(clp_buffer_release(buffer));
  buffer = clpt_allocate(pools[1], 6 * SEGMENT);
  ck_assert_uint_eq(clpt_arena_figures().segments_taken, 4);
  ck_assert_uint_eq(clpt_stats(pools[0]).device_allocations, 1);
  ck_assert_uint_eq(clpt_stats(pools[1]).device_allocations, 1);
  ck_assert_ptr_null(strstr(seen[1].log, "a>131072"));
  clpt_ok(clp_buffer_release(buffer));
  end();
}
END_TEST

/* What a callback does with the arena is shown to none. */
static void use_arena(clpt_recorder *self, const clp_hook_event *event)
{
  (void)event;
  if (strcmp(self->last, "a<") != 0 || self->count > 20)
    return;
  clpt_arena_give(clpt_arena_take(3 * SEGMENT), 3 * SEGMENT);
  clpt_hold(pools[1], 5 * SEGMENT, 1);
  clpt_ok(clp_arena_reserve(clpt_arena, 6 * SEGMENT));
  clpt_ok(clp_arena_reserve(clpt_arena, 0));
}

START_TEST(hooks_are_not_shown_what_they_do)
{
  start();
  seen[0].also = use_arena;
  clpt_hold(pools[0], 1000, 1);
  clpt_recorder_is(&seen[0], "m<1000:1024 a<65536 a>65536 m>1000:1024 f<1000:1024 f>1000:1024");
  clpt_recorder_is(&seen[1], "");
  ck_assert_uint_eq(clpt_stats(pools[0]).device_allocations, 1);
  ck_assert_uint_eq(clpt_stats(pools[1]).device_allocations, 1);
  end();
}
END_TEST

/* --- sums --- */

/* How many calls of the device the hooks were shown, and how many the pools count. */
typedef struct sums {
  uint64_t allocations, frees, shown_allocations, shown_frees;
} sums;

/* What the callback asks for does not fit beside the segment that is being taken, and waits for
 * nobody. */
static void allocate_in_vain(const clp_hook_event *event, void *refusals)
{
  clp_buffer *buffer;
  (void)event;
  if (clp_pool_allocate(pools[0], 3 * SEGMENT, &buffer) == CLP_OUT_OF_DEVICE_MEMORY)
    ++*(unsigned *)refusals;
}

START_TEST(a_callback_does_not_wait_for_its_own_request)
{
  unsigned refusals = 0;
  clp_hook hook = {.struct_size = sizeof(hook), .name = "allocates", .user_data = &refusals};
  hook.alloc_preprocess = hook.device_free_preprocess = allocate_in_vain;
  start();
  clpt_arena_device.capacity = 2 * SEGMENT;
  clpt_ok(clp_hook_push(&hook));
  clp_buffer *buffer = clpt_allocate(pools[0], 1000);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_pool_free_held(pools[0]));
  clpt_ok(clp_hook_pop(&hook));
  ck_assert_uint_ge(refusals, 2);
  end();
}
END_TEST

/* --- line profiles --- */

START_TEST(a_profile_acquires_segments)
{
  start();
  clp_line_profile *profile = clpt_profile(0);
  CLPT_SET_STACK(7);
  clpt_ok(clp_hook_push(clp_line_profile_hook(profile)));
  clp_buffer *first = clpt_allocate(pools[0], 1024), *second = clpt_allocate(pools[0], 3072);
  clpt_prints(profile, "_root (4.00KB, 64.00KB)\n"
                       "  p.c:7:f (4.00KB, 64.00KB)\n");
  clpt_ok(clp_line_profile_reset(profile));
  clpt_ok(clp_arena_reserve(clpt_arena, 3 * SEGMENT));
  clpt_ok(clp_buffer_release(first));
  first = clpt_allocate(pools[0], 100 << 10);
  clpt_prints(profile, "_root (100.00KB, 0.00B)\n"
                       "  p.c:7:f (100.00KB, 0.00B)\n");
  clpt_prints_view(profile, CLP_VIEW_NOW,
                   "_root (100.00KB)\n"
                   "  p.c:7:f (100.00KB)\n");
  clpt_ok(clp_buffer_release(first));
  clpt_ok(clp_buffer_release(second));
  clpt_ok(clp_hook_pop(clp_line_profile_hook(profile)));
  clp_line_profile_destroy(profile);
  end();
}
END_TEST

CLPT_SUITE("figures of an arena")
{
  TCase *tests = clpt_case(suite, "figures");
  tcase_add_checked_fixture(tests, clpt_arena_setup, NULL);
  tcase_add_test(tests, hooks_are_shown_segments);
  tcase_add_test(tests, segments_belong_to_the_pool_that_took_them);
  tcase_add_test(tests, what_is_refused_is_shown_and_counts_nothing);
  tcase_add_test(tests, a_reserve_is_nobodys);
  tcase_add_test(tests, hooks_are_not_shown_what_they_do);
  tcase_add_test(tests, a_callback_does_not_wait_for_its_own_request);
  tcase_add_test(tests, a_profile_acquires_segments);
}
