/* SPDX-License-Identifier: MIT */
/* The arena as an allocator (clpool/arena.h): what it takes, keeps and gives back, what a refusal
 * leaves, what it tells, and requests while segments of other threads are on their way. */
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/suite.h"

#include <errno.h>
#include <semaphore.h>
#include <unistd.h>

enum { UNIT = CLPT_SEGMENT, MOST_BLOCKS = 8 };

/* Steps: R4 reserves 4 units, A3 allocates 3 units, F0 frees the block of the first A, T trims; of
 * the device, the next free (X) or allocation (B) fails. `!` means that the step is refused, =4
 * that the arena has 4 units afterwards. */
typedef struct program {
  const char *steps;
  unsigned taken;                                         /* segments, in all */
  size_t capacity, largest_block, largest_segment, least; /* units; 0: no bound, or one */
  bool is_size_known;                                     /* the device tells its capacity */
} program;

static const program programs[] = {
    /* It is taken at once, and kept with blocks and without. */
    {.steps = "R4=4 T=4 A1=4 F0=4 T=4 A2=4 A2=4", .taken = 1},
    {.steps = "A3=3 R4=4 F0=4 T=4", .taken = 2}, /* as far as missing */
    {.steps = "A3=3 A3=6 R4=6 F0=6 T=6 R2=6 T=3 F1=3 T=3", .taken = 2},
    {.steps = "R4=4 R4=4 R3=4 T=4 R5=5 T=5", .taken = 2},
    /* Blocks of any size come from it before the arena grows. */
    {.steps = "R8=8 A1=8 A4=8 A3=8 F1=8 A4=8", .taken = 1},
    {.steps = "R1=1 R8=8 A1=8 A7=8 F0=8 F1=8 A6=8", .taken = 2},
    /* 0 ends it, less than before lets go of what is not needed. */
    {.steps = "R4=4 R0=4 T=0", .taken = 1},
    {.steps = "R1=1 R4=4 R3=4 T=3 R1=3 T=3 R0=3 T=0", .taken = 2},
    /* What is beyond it goes back, when the arena grows or is trimmed. */
    {.steps = "R4=4 A3=4 A2=6 F1=6 A4=8 F2=8 T=4", .taken = 3},
    /* A larger segment takes its place. */
    {.steps = "R4=4 A5=5 F0=5 T=5 A4=5", .taken = 2},
    {.steps = "A3=3 R5=5 F0=5 A4=6 T=6", .taken = 3},
    /* No request fails because of its unused segments, and it is whole again afterwards. */
    {.capacity = 8, .steps = "A3=3 R8=8 F0=8 A6=8 A2=8", .taken = 4},
    {.capacity = 8, .steps = "A3=3 R8=8 F0=8 A8=8 F1=8 T=8", .taken = 3},
    {.capacity = 8, .steps = "R4=4 A9!=4 T=4 A4=4", .taken = 2},
    {.capacity = 8, .is_size_known = true, .steps = "R4=4 A9!=4 A4=4 A5!=4", .taken = 1},
    {.capacity = 8, .steps = "R6=6 A1=6 A6!=6 T=6 F0=6 T=6", .taken = 1},
    /* What is refused changes nothing. */
    {.capacity = 4, .steps = "R5!=0 R2=2 R5!=2 T=2 R0=2 T=0", .taken = 1},
    {.capacity = 4, .steps = "A2=2 R5!=2 F0=2 T=0", .taken = 1},
    {.capacity = 7, .largest_block = 3, .steps = "R2=2 R9!=2 T=2 A2=2", .taken = 2},
    /* Several segments, where one is too large for the device or the options. */
    {.largest_block = 3, .steps = "R8=8 T=8 A3=8 A3=8 A2=8", .taken = 3},
    {.largest_segment = 3, .steps = "R8=8 T=8 A2=8 A2=8 A5=11", .taken = 4},
    /* A request that is refused raises no peak: else nothing would go back below that any more. */
    {.capacity = 16, .steps = "A1048576!=0 A1=1 A1048576!=1 F1=1 A3=3", .taken = 2},
    /* Where there is no memory for a whole segment, a smaller one is taken. */
    {.capacity = 3, .least = 2, .steps = "A2=2 A1=3", .taken = 2},
    /* A segment that cannot go fails no request that needs another. */
    {.steps = "A1=1 F0=1 X=1 A2=3 T=2", .taken = 2},
    {.steps = "A1=1 B=1 A2!=1 F0=1", .taken = 1},
};

static void start(const program *it)
{
  clp_arena_options options = clpt_arena_small();
  clpt_arena_device.capacity = it->capacity * UNIT;
  clpt_arena_device.ops.device_bytes = it->is_size_known ? it->capacity * UNIT : 0;
  clpt_arena_device.ops.max_block_bytes = it->largest_block * UNIT;
  options.max_segment_bytes = it->largest_segment * UNIT;
  options.min_segment_bytes = it->least ? it->least * UNIT : UNIT;
  clpt_arena_start(&options);
}

static clp_status make_step(char call, size_t number, clp_memory blocks[], size_t sizes[],
                            size_t *count)
{
  clpt_fault fault = {.count = 1, .status = CLP_BACKEND_ERROR, .message = "not now"};
  switch (call) {
  case 'R':
    return clp_arena_reserve(clpt_arena, number * UNIT);
  case 'T':
    return clpt_arena->ops.return_cached(clpt_arena->self);
  case 'F':
    return clp_allocator_free(clpt_arena, blocks[number], sizes[number]);
  case 'A':
    sizes[*count] = number * UNIT;
    return clp_allocator_allocate(clpt_arena, number * UNIT, &blocks[(*count)++]);
  default:
    *(call == 'X' ? &clpt_arena_device.free_fault : &clpt_arena_device.allocate_fault) = fault;
    return CLP_SUCCESS;
  }
}

START_TEST(each_program)
{
  const program *it = &programs[_i];
  clp_memory blocks[MOST_BLOCKS];
  size_t sizes[MOST_BLOCKS], count = 0, kept = 0;
  start(it);
  for (const char *at = it->steps; *at; at += strspn(at, " ")) {
    char call = *at, *end;
    size_t number = strtoul(at + 1, &end, 10);
    bool is_refused = *end == '!';
    size_t expected = strtoul(end + is_refused + 1, &end, 10) * UNIT;
    (void)clp_set_last_error(CLP_IO_ERROR, 5, "from before");
    clp_status status = make_step(call, number, blocks, sizes, &count);
    ck_assert_msg(!!status == is_refused, "%s: %s", at, clp_status_name(status));
    ck_assert_int_eq(clp_last_error()->status, status ? status : CLP_IO_ERROR);
    ck_assert(!status || status == CLP_OUT_OF_DEVICE_MEMORY || strchr(it->steps, 'B'));
    kept = call == 'R' && !is_refused ? number * UNIT : kept;
    clp_arena_stats stats = clpt_arena_figures();
    ck_assert_msg(stats.reserved_bytes == expected, "%s: %zu", at, stats.reserved_bytes / UNIT);
    ck_assert_uint_eq(clpt_arena_device.live_bytes, expected);
    ck_assert(stats.reserve_bytes == kept && kept <= expected);
    ck_assert_uint_le(stats.peak_used_bytes, stats.peak_reserved_bytes);
    at = end;
  }
  ck_assert_uint_eq(clpt_arena_figures().segments_taken, it->taken);
  clpt_arena_end();
}
END_TEST

/* For a lack of host memory, or as the device refuses what it is to keep. */
START_TEST(create_fails_without_a_trace)
{
  clp_arena_options options = clpt_arena_small();
  clp_allocator *upstream = clpt_device_allocator(&clpt_arena_device), *arena = NULL;
  clpt_host_failures each = {0};
  options.reserve_bytes = 20 * UNIT;
  options.max_segment_bytes = UNIT;
  clpt_arena_device.allocate_fault = (clpt_fault){
      .after = 7, .count = 1, .status = CLP_BACKEND_ERROR, .message = "as bad as it gets"};
  clpt_fails(CLP_BACKEND_ERROR, clp_arena_allocator_create(upstream, &options, &arena));
  clpt_message_has("as bad as it gets");
  ck_assert_ptr_null(arena);
  while (!each.is_over) {
    ck_assert_uint_eq(clpt_arena_device.live_blocks, 0);
    clpt_host_fail_next(&each);
    clp_status status = clp_arena_allocator_create(upstream, &options, &arena);
    clpt_host_check(&each, status);
    ck_assert(!status == !!arena);
  }
  ck_assert_uint_eq(clpt_arena_device.live_blocks, 20);
  ck_assert_uint_gt(each.count, 2);
  clp_allocator_release(arena);
  clp_allocator_release(upstream);
  clpt_device_assert_ended(&clpt_arena_device);
}
END_TEST

/* --- what it tells --- */

START_TEST(the_dump)
{
  char *text = NULL;
  size_t bytes;
  FILE *file = open_memstream(&text, &bytes), *full = fopen("/dev/full", "w");
  clpt_arena_start(NULL);
  clp_memory first = clpt_memory(clpt_arena, 1000), large = clpt_memory(clpt_arena, 10 * UNIT + 1);
  clp_memory second = clpt_memory(clpt_arena, 1);
  clpt_arena_give(first, 1000);
  clpt_arena_give(large, 10 * UNIT + 1);
  ck_assert_uint_eq(clpt_memory(clpt_arena, 900), first); /* the first that fits */
  clpt_arena_give(first, 900);
  clpt_ok(clp_arena_dump(clpt_arena, file));
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_str_eq(text, "{\"segments\": 2, \"free_segments\": 1, \"reserved_bytes\": 721152, "
                         "\"used_bytes\": 256, \"used_blocks\": 1, \"free_ranges\": 3, "
                         "\"largest_free_bytes\": 655616, \"fragmentation\": 0.090554, "
                         "\"peak_reserved_bytes\": 721152, \"peak_used_bytes\": 656896, "
                         "\"segments_taken\": 2, \"segments_given_back\": 0, "
                         "\"reserve_bytes\": 0, \"repeated_blocks\": 0,\n\"map\": [\n"
                         "{\"bytes\": 65536, \"used_bytes\": 256, \"ranges\": [\n"
                         "  {\"offset\": 0, \"bytes\": 1024, \"used\": false},\n"
                         "  {\"offset\": 1024, \"bytes\": 256, \"used\": true},\n"
                         "  {\"offset\": 1280, \"bytes\": 64256, \"used\": false}]},\n"
                         "{\"bytes\": 655616, \"used_bytes\": 0, \"ranges\": [\n"
                         "  {\"offset\": 0, \"bytes\": 655616, \"used\": false}]}]}\n");
  free(text);
  clpt_arena_give(second, 1); /* what nobody frees goes with the arena */
  ck_assert_ptr_nonnull(full);
  clpt_fails(CLP_IO_ERROR, clp_arena_dump(clpt_arena, full));
  ck_assert_int_eq(clp_last_error()->native_code, ENOSPC);
  fclose(full);
  clpt_arena_end();
}
END_TEST

/* --- pools --- */

/* What a segment has room for, of any size, needs no wait. */
START_TEST(what_a_segment_has_is_served_without_a_wait)
{
  clp_buffer *buffers[20], *none;
  clpt_arena_start(NULL);
  clp_pool *pool = clpt_pool(clpt_arena);
  ck_assert(!clp_pool_try_allocate(pool, 1000, &none)); /* there is none yet */
  for (size_t i = 0; i < 20; i++)
    clpt_hold(pool, 1 + 150 * i, 1);
  for (size_t i = 0; i < 20; i++)
    ck_assert(clp_pool_try_allocate(pool, 1 + 150 * i, &buffers[i]));
  ck_assert(!clp_pool_try_allocate(pool, UNIT, &none));
  ck_assert_uint_eq(clpt_arena_figures().peak_used_bytes, clpt_arena_figures().used_bytes);
  for (size_t i = 0; i < 20; i++)
    ck_assert(clp_buffer_try_release(buffers[i]));
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clpt_device_trace_is(&clpt_arena_device, "A65536");
  clp_pool_release(pool);
  clpt_arena_end();
}
END_TEST

/* The device's largest block is less than an arena's smallest. */
START_TEST(no_block_is_small_enough)
{
  clp_memory memory;
  clp_buffer *buffer;
  clpt_arena_device.ops.max_block_bytes = 100;
  clpt_arena_start(NULL);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_allocate(clpt_arena, 100, &memory));
  clp_pool *pool = clpt_pool(clpt_arena);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(pool, SIZE_MAX, &buffer));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(pool, 100, &buffer));
  clp_pool_release(pool);
  clpt_arena_end();
}
END_TEST

/* Two segments of more than half of what a size_t counts. */
START_TEST(an_arena_has_no_more_than_it_can_count)
{
  clp_allocator *arena, *upstream;
  clp_memory memory;
  clpt_ok(clp_simulated_allocator_create(0, &upstream));
  clpt_ok(clp_arena_allocator_create(upstream, NULL, &arena));
  (void)clpt_memory(arena, SIZE_MAX / 2 + 1);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(arena, SIZE_MAX / 2 + 1, &memory));
  clp_allocator_release(arena);
  clp_allocator_release(upstream);
}
END_TEST

/* --- threads --- */

static sem_t on_the_way;
static clpt_call slow_call;
static size_t most_live;

/* The first such call takes long enough for another thread to come to wait for it. It may come too
 * late, which then shows nothing. */
static void be_slow(clpt_device *called, clpt_call call, size_t bytes)
{
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

static void *take_or_return(void *is_full)
{
  clp_memory memory = 0;
  if (is_full)
    (void)clpt_arena->ops.return_cached(clpt_arena->self);
  else if (!clp_allocator_allocate(clpt_arena, 1024, &memory))
    (void)clp_allocator_free(clpt_arena, memory, 1024);
  return NULL;
}

/* A segment that comes is shared; one that goes makes room in a limit, and on the device. */
START_TEST(a_thread_waits_for_the_segments_of_others)
{
  clp_memory_request request = {.bytes = _i ? UNIT : 1024, .most_bytes = _i < 2 ? UNIT : SIZE_MAX};
  clp_memory memory = 0;
  pthread_t thread;
  clpt_arena_start(NULL);
  if (_i)
    clpt_arena_give(clpt_memory(clpt_arena, UNIT), UNIT);
  clpt_arena_device.capacity = _i < 2 ? 0 : UNIT;
  sem_init(&on_the_way, 0, 0);
  slow_call = _i ? CLPT_FREE : CLPT_ALLOCATE;
  clpt_arena_device.on_call = be_slow;
  ck_assert_int_eq(pthread_create(&thread, NULL, take_or_return, _i ? &thread : NULL), 0);
  sem_wait(&on_the_way);
  clpt_ok(clpi_allocator_allocate_within(clpt_arena, &request, &memory));
  pthread_join(thread, NULL);
  ck_assert_uint_le(most_live, request.most_bytes);
  clpt_arena_device.on_call = NULL;
  clpt_arena_give(memory, request.bytes);
  clpt_arena_end();
}
END_TEST

START_TEST(an_arena_is_as_large_as_its_device)
{
  clpt_arena_device.ops.device_bytes = 10 * UNIT;
  clpt_arena_start(NULL);
  clp_pool *pool = clpt_pool(clpt_arena);
  clpt_ok(clp_pool_set_limit_fraction(pool, 0.5));
  ck_assert_uint_eq(clp_pool_get_limit(pool), 5 * UNIT);
  clp_pool_release(pool);
  clpt_arena_end();
}
END_TEST

CLPT_MAIN("arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "arena");
  tcase_add_checked_fixture(tests, clpt_arena_setup, NULL);
  tcase_add_loop_test(tests, each_program, 0, sizeof(programs) / sizeof(programs[0]));
  tcase_add_test(tests, create_fails_without_a_trace);
  tcase_add_test(tests, the_dump);
  tcase_add_test(tests, an_arena_is_as_large_as_its_device);
  tcase_add_test(tests, what_a_segment_has_is_served_without_a_wait);
  tcase_add_test(tests, no_block_is_small_enough);
  tcase_add_test(tests, an_arena_has_no_more_than_it_can_count);
  tcase_add_loop_test(tests, a_thread_waits_for_the_segments_of_others, 0, 3);
}
