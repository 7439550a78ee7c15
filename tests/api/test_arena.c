/* SPDX-License-Identifier: MIT */
/* The arena as an allocator: lib/arena. What a refused request leaves behind, and requests while
 * segments of other threads are on their way. */
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/pools.h"
#include "support/suite.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

enum { KIB = 1024 };

static void setup(void)
{
  clpt_arena_setup();
  clpt_arena_start();
}

START_TEST(blocks_share_a_segment)
{
  clpt_arena_start();
  clp_memory first = clpt_arena_take(1000), second = clpt_arena_take(1),
             third = clpt_arena_take(256);
  clpt_device_trace_is(&clpt_arena_device, "A65536");
  ck_assert_uint_eq(second, first + 1024);
  ck_assert_uint_eq(third, first + 1280);
  clp_arena_stats stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.segments, 1);
  ck_assert_uint_eq(stats.free_segments, 0);
  ck_assert_uint_eq(stats.reserved_bytes, CLPT_SEGMENT);
  ck_assert_uint_eq(stats.used_bytes, 1536);
  ck_assert_uint_eq(stats.used_blocks, 3);
  ck_assert_uint_eq(stats.free_ranges, 1);
  ck_assert_uint_eq(stats.largest_free_bytes, CLPT_SEGMENT - 1536);
  ck_assert_double_eq(stats.fragmentation, 0.0);

  clpt_arena_give(first, 1000);
  stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.free_ranges, 2);
  ck_assert_double_eq_tol(stats.fragmentation, 1024.0 / (CLPT_SEGMENT - 512), 1e-9);
  ck_assert_uint_eq(clpt_arena_take(900), first); /* the first that fits */
  clpt_arena_give(first, 900);
  clpt_arena_give(second, 1);
  clpt_arena_give(third, 256);
  stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.free_segments, 1);
  ck_assert_uint_eq(stats.used_blocks, 0);
  ck_assert_uint_eq(stats.largest_free_bytes, CLPT_SEGMENT);
  ck_assert_uint_eq(stats.peak_used_bytes, 1536);
  clpt_arena_end();
}
END_TEST

START_TEST(large_requests_have_segments_of_their_own)
{
  clpt_arena_start();
  clp_memory large = clpt_arena_take(10 * CLPT_SEGMENT + 1);
  (void)clpt_arena_take(1); /* what nobody frees goes with the arena */
  clpt_device_trace_is(&clpt_arena_device, "A655616 A65536");
  clpt_arena_give(large, 10 * CLPT_SEGMENT + 1);
  clp_arena_stats stats = clpt_arena_figures();
  ck_assert_uint_eq(stats.largest_free_bytes, 655616); /* a segment without blocks counts, too */
  ck_assert_double_eq_tol(stats.fragmentation, 65280.0 / (655616 + 65280), 1e-9);
  clpt_arena_end();
}
END_TEST

START_TEST(other_failures_pass_and_change_nothing)
{
  clpt_arena_start();
  clp_memory kept = clpt_arena_take(100), memory = 7;
  clp_arena_stats before = clpt_arena_figures(), after;
  clpt_arena_device.allocate_fault = (clpt_fault){
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "as bad as it gets"};
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_allocate(clpt_arena, 2 * CLPT_SEGMENT, &memory));
  clpt_message_has("as bad as it gets");
  ck_assert_uint_eq(memory, 0);
  after = clpt_arena_figures();
  ck_assert_int_eq(memcmp(&before, &after, sizeof(after)), 0);
  clpt_arena_give(kept, 100);
  clpt_arena_end();
}
END_TEST

START_TEST(the_dump)
{
  char *text = NULL;
  size_t bytes;
  FILE *file = open_memstream(&text, &bytes);

  clpt_arena_start();
  clp_memory first = clpt_arena_take(1000), second = clpt_arena_take(1);
  clpt_arena_give(first, 1000);
  clpt_ok(clp_arena_dump(clpt_arena, file));
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_str_eq(text, "{\"segments\": 1, \"free_segments\": 0, \"reserved_bytes\": 65536, "
                         "\"used_bytes\": 256, \"used_blocks\": 1, \"free_ranges\": 2, "
                         "\"largest_free_bytes\": 64256, \"fragmentation\": 0.015686, "
                         "\"peak_reserved_bytes\": 65536, \"peak_used_bytes\": 1280, "
                         "\"segments_taken\": 1, \"segments_given_back\": 0, "
                         "\"reserve_bytes\": 0, \"repeated_blocks\": 0,\n\"map\": [\n"
                         "{\"bytes\": 65536, \"used_bytes\": 256, \"ranges\": [\n"
                         "  {\"offset\": 0, \"bytes\": 1024, \"used\": false},\n"
                         "  {\"offset\": 1024, \"bytes\": 256, \"used\": true},\n"
                         "  {\"offset\": 1280, \"bytes\": 64256, \"used\": false}]}]}\n");
  free(text);
  clpt_arena_give(second, 1);
  clpt_arena_end();
}
END_TEST

START_TEST(a_dump_to_a_full_disk)
{
  FILE *full = fopen("/dev/full", "w");

  ck_assert_ptr_nonnull(full);
  clpt_arena_start();
  clpt_fails(CLP_IO_ERROR, clp_arena_dump(clpt_arena, full));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  fclose(full);
  clpt_arena_end();
}
END_TEST

/* --- refused requests --- */

/* Else nothing would go back below that any more. */
START_TEST(a_refused_request_raises_no_peak)
{
  clp_memory refused = 0;

  clpt_arena_device.capacity = 16 * CLPT_SEGMENT;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_allocator_allocate(clpt_arena, (size_t)64 << 30, &refused));
  ck_assert_uint_eq(clpt_arena_figures().peak_used_bytes, 0);
  clp_memory memory = clpt_arena_take(CLPT_SEGMENT);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_allocator_allocate(clpt_arena, SIZE_MAX - KIB, &refused));
  clpt_arena_give(memory, CLPT_SEGMENT);
  clpt_device_clear_trace(&clpt_arena_device);
  clpt_arena_give(clpt_arena_take(3 * CLPT_SEGMENT), 3 * CLPT_SEGMENT);
  clpt_device_trace_is(&clpt_arena_device, "F65536 A196608");
}
END_TEST

START_TEST(what_fails_on_the_way_is_not_told)
{
  clpt_arena_device.capacity = CLPT_SEGMENT + 32 * KIB;
  clp_memory first = clpt_arena_take(CLPT_SEGMENT);
  clp_set_last_error(CLP_IO_ERROR, 5, "from before");
  clp_memory second = clpt_arena_take(20 * KIB); /* for a segment of 64 KiB there is no memory */
  ck_assert_int_eq(clp_last_error()->status, CLP_IO_ERROR);
  ck_assert_str_eq(clp_last_error()->message, "from before");
  clpt_arena_give(first, CLPT_SEGMENT);
  clpt_arena_give(second, 20 * KIB);
}
END_TEST

/* Nor does a segment that cannot go fail who needs another. */
START_TEST(a_segment_that_cannot_go_fails_no_request)
{
  clpt_arena_give(clpt_arena_take(CLPT_SEGMENT), CLPT_SEGMENT);
  clpt_arena_device.free_fault =
      (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "not now"};
  clp_memory larger = clpt_arena_take(2 * CLPT_SEGMENT);
  ck_assert_uint_eq(clpt_arena_figures().segments, 2);
  clpt_arena_give(larger, 2 * CLPT_SEGMENT);
}
END_TEST

/* --- segments on their way --- */

static sem_t on_the_way;
static clpt_call slow_call;
static size_t most_live;

/* The first such call takes long enough for another thread to come to wait for it. It may come too
 * late, which then shows nothing. */
static void be_slow(clpt_device *called, clpt_call call, size_t bytes)
{
  (void)bytes;
  pthread_mutex_lock(&called->lock);
  bool is_slow = call == slow_call;
  if (is_slow)
    slow_call = CLPT_DESTROY;
  if (call == CLPT_ALLOCATE && called->live_bytes + bytes > most_live)
    most_live = called->live_bytes + bytes;
  pthread_mutex_unlock(&called->lock);
  if (!is_slow)
    return;
  sem_post(&on_the_way);
  usleep(50000);
}

static void *take_and_give(void *unused)
{
  clp_memory memory = 0;
  if (!clp_allocator_allocate(clpt_arena, KIB, &memory))
    (void)clp_allocator_free(clpt_arena, memory, KIB);
  return unused;
}

static void *return_cached(void *unused)
{
  (void)clpt_arena->ops.return_cached(clpt_arena->self);
  return unused;
}

/* Lets another thread do its slow call, and asks for a block within `most` bytes meanwhile. */
static void ask_meanwhile(clpt_call call, void *(*other)(void *), size_t bytes, size_t most)
{
  clp_memory_request request = {.bytes = bytes, .most_bytes = most};
  clp_memory memory = 0;
  pthread_t thread;

  sem_init(&on_the_way, 0, 0);
  slow_call = call;
  most_live = 0;
  clpt_arena_device.on_call = be_slow;
  ck_assert_int_eq(pthread_create(&thread, NULL, other, NULL), 0);
  sem_wait(&on_the_way);
  clpt_ok(clpi_allocator_allocate_within(clpt_arena, &request, &memory));
  pthread_join(thread, NULL);
  ck_assert_uint_le(most_live, most);
  clpt_arena_device.on_call = NULL;
  clpt_arena_give(memory, bytes);
  sem_destroy(&on_the_way);
}

/* A segment that comes is shared; one that goes makes room in a limit, and on the device. */
START_TEST(a_thread_waits_for_the_segments_of_others)
{
  if (_i == 0) {
    ask_meanwhile(CLPT_ALLOCATE, take_and_give, KIB, CLPT_SEGMENT);
    return;
  }
  clpt_arena_give(clpt_arena_take(CLPT_SEGMENT), CLPT_SEGMENT);
  clpt_arena_device.capacity = _i == 1 ? 0 : CLPT_SEGMENT;
  ask_meanwhile(CLPT_FREE, return_cached, CLPT_SEGMENT, _i == 1 ? CLPT_SEGMENT : SIZE_MAX);
}
END_TEST

/* Attempts that fail are none to wait for, or threads without memory would wait for each other. */
static void be_slow_always(clpt_device *called, clpt_call call, size_t bytes)
{
  (void)called, (void)call, (void)bytes;
  usleep(1000);
}

static void *ask_in_vain(void *refusals)
{
  clp_memory memory = 0;
  if (clp_allocator_allocate(clpt_arena, KIB, &memory) == CLP_OUT_OF_DEVICE_MEMORY)
    atomic_fetch_add((_Atomic int *)refusals, 1);
  return NULL;
}

START_TEST(threads_without_memory_all_come_back)
{
  enum { THREADS = 16 };
  pthread_t threads[THREADS];
  _Atomic int refusals = 0;

  clpt_arena_device.capacity = 1;
  clpt_arena_device.on_call = be_slow_always;
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_in_vain, &refusals), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  clpt_arena_device.on_call = NULL;
  ck_assert_int_eq(refusals, THREADS);
}
END_TEST

/* The device's largest block is less than an arena's smallest. */
START_TEST(no_block_is_small_enough)
{
  clp_memory memory;
  clpt_arena_device.ops.max_block_bytes = 100;
  clpt_arena_start();
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(clpt_arena, 100, &memory));
  clp_pool *pool = clpt_pool(clpt_arena);
  clp_buffer *buffer;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(pool, SIZE_MAX, &buffer));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(pool, 100, &buffer));
  clp_pool_release(pool);
  clpt_arena_end();
}
END_TEST

CLPT_MAIN("arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "arena");
  tcase_add_checked_fixture(tests, clpt_arena_setup, NULL);
  tcase_add_test(tests, blocks_share_a_segment);
  tcase_add_test(tests, large_requests_have_segments_of_their_own);
  tcase_add_test(tests, other_failures_pass_and_change_nothing);
  tcase_add_test(tests, the_dump);
  tcase_add_test(tests, a_dump_to_a_full_disk);
  tcase_add_test(tests, no_block_is_small_enough);
  TCase *refused = clpt_case(suite, "refused");
  tcase_add_checked_fixture(refused, setup, clpt_arena_end);
  tcase_add_test(refused, a_refused_request_raises_no_peak);
  tcase_add_test(refused, what_fails_on_the_way_is_not_told);
  tcase_add_test(refused, a_segment_that_cannot_go_fails_no_request);
  tcase_add_loop_test(refused, a_thread_waits_for_the_segments_of_others, 0, 3);
  tcase_add_test(refused, threads_without_memory_all_come_back);
}
