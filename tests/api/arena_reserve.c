/* SPDX-License-Identifier: MIT */
/* clp_arena_reserve: what an arena keeps, what it exchanges, and what a failure leaves. */
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

enum { UNIT = CLPT_SEGMENT, MOST_BLOCKS = 8 };

/* Steps: R4 reserves 4 units, A3 allocates 3 units, F0 frees the block of the first A, T trims. `!`
 * means that the step is refused, =4 that the arena has 4 units afterwards. */
typedef struct program {
  const char *steps;
  unsigned taken;                                  /* segments, in all */
  size_t capacity, largest_block, largest_segment; /* units; 0: no bound */
  bool is_size_known;                              /* the device tells its capacity */
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
};

static void start(const program *it, size_t reserve)
{
  clp_arena_options options = clpt_arena_small();
  clpt_arena_device.capacity = it->capacity * UNIT;
  clpt_arena_device.ops.device_bytes = it->is_size_known ? it->capacity * UNIT : 0;
  clpt_arena_device.ops.max_block_bytes = it->largest_block * UNIT;
  options.max_segment_bytes = it->largest_segment * UNIT;
  options.reserve_bytes = reserve;
  clpt_arena_start_with(&options);
}

static clp_status step(char call, size_t number, clp_memory blocks[], size_t sizes[], size_t *count)
{
  if (call == 'R')
    return clp_arena_reserve(clpt_arena, number * UNIT);
  if (call == 'T')
    return clpt_arena->ops.return_cached(clpt_arena->self);
  if (call == 'F')
    return clp_allocator_free(clpt_arena, blocks[number], sizes[number]);
  sizes[*count] = number * UNIT;
  return clp_allocator_allocate(clpt_arena, number * UNIT, &blocks[(*count)++]);
}

START_TEST(each_program)
{
  const program *it = &programs[_i];
  clp_memory blocks[MOST_BLOCKS];
  size_t sizes[MOST_BLOCKS], count = 0, kept = 0;
  start(it, 0);
  for (const char *at = it->steps; *at; at += strspn(at, " ")) {
    char call = *at, *end;
    size_t number = strtoul(at + 1, &end, 10);
    bool is_refused = *end == '!';
    size_t expected = strtoul(end + is_refused + 1, &end, 10) * UNIT;
    clp_status status = step(call, number, blocks, sizes, &count);
    ck_assert_msg(status == (is_refused ? CLP_OUT_OF_DEVICE_MEMORY : CLP_SUCCESS), "%s: %s", at,
                  clp_status_name(status));
    kept = call == 'R' && !is_refused ? number * UNIT : kept;
    clp_arena_stats stats = clpt_arena_figures();
    ck_assert_msg(stats.reserved_bytes == expected, "%s: %zu", at, stats.reserved_bytes / UNIT);
    ck_assert_uint_eq(clpt_arena_device.live_bytes, expected);
    ck_assert(stats.reserve_bytes == kept && kept <= expected);
    at = end;
  }
  ck_assert_uint_eq(clpt_arena_figures().segments_taken, it->taken);
  clpt_arena_end();
}
END_TEST

/* A multiple of the alignment, and no more than can be counted. */
START_TEST(sizes_at_the_ends)
{
  start(&(program){0}, 1);
  clpt_device_trace_is(&clpt_arena_device, "A256");
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_arena_reserve(clpt_arena, SIZE_MAX));
  ck_assert_uint_eq(clpt_arena_figures().reserve_bytes, 1);
  clpt_ok(clp_arena_reserve(clpt_arena, UNIT + 1));
  clpt_device_trace_is(&clpt_arena_device, "A256 A65536");
  clpt_arena_end();
}
END_TEST

START_TEST(what_the_device_refuses_fails_create)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *upstream = clpt_device_allocator(&clpt_arena_device), *arena = upstream;
  options.reserve_bytes = 8 * UNIT;
  options.max_segment_bytes = 4 * UNIT;
  clpt_arena_device.allocate_fault = (clpt_fault){
      .after = 1, .count = 1, .status = CLP_BACKEND_ERROR, .message = "as bad as it gets"};
  clpt_fails(CLP_BACKEND_ERROR, clp_arena_allocator_create(upstream, &options, &arena));
  clpt_message_has("as bad as it gets");
  ck_assert_ptr_null(arena);
  clpt_device_trace_is(&clpt_arena_device, "A262144 A262144! F262144");
  clp_allocator_release(upstream);
  clpt_device_assert_ended(&clpt_arena_device);
}
END_TEST

START_TEST(limits_count_it)
{
  clp_buffer *first, *second;
  start(&(program){0}, 4 * UNIT);
  clp_pool *pool = clpt_pool(clpt_arena);
  clpt_ok(clp_pool_set_limit(pool, 4 * UNIT));
  clpt_ok(clp_pool_allocate(pool, 3 * UNIT, &first));
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, 2 * UNIT, &second));
  clpt_ok(clp_pool_allocate(pool, UNIT / 2, &second));
  clpt_ok(clp_buffer_release(first));
  clpt_ok(clp_buffer_release(second));
  clpt_ok(clp_pool_trim_to(pool, 0));
  clpt_device_trace_is(&clpt_arena_device, "A262144 R");
  clp_pool_release(pool);
  clpt_arena_end();
}
END_TEST

static void work(clpt_worker *self)
{
  clp_memory memory;
  for (unsigned i = 0; i < self->rounds; i++) {
    size_t bytes = (1 + clpt_chance_below(&self->chance, 8)) * UNIT / 2;
    clpt_note_failure(self, "reserve", clp_arena_reserve(clpt_arena, 4 * UNIT));
    clpt_note_failure(self, "allocate", clp_allocator_allocate(clpt_arena, bytes, &memory));
    clpt_note_failure(self, "trim", clpt_arena->ops.return_cached(clpt_arena->self));
    clpt_note_failure(self, "free", clp_allocator_free(clpt_arena, memory, bytes));
  }
}

START_TEST(threads_take_it_once)
{
  clpt_workers all;
  start(&(program){0}, 0);
  clpt_workers_start(&all, 4, (clpt_work[]){work}, 1, clpt_iterations(300), NULL);
  clpt_workers_join(&all);
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  clp_arena_stats stats = clpt_arena_figures();
  ck_assert_uint_ge(stats.reserved_bytes, 4 * UNIT);
  ck_assert_uint_lt(stats.reserved_bytes, 8 * UNIT); /* or a segment could have gone */
  ck_assert_uint_eq(clpt_arena_device.live_bytes, stats.reserved_bytes);
  clpt_arena_end();
}
END_TEST

static void *allocate(void *memory)
{
  (void)clp_allocator_allocate(clpt_arena, UNIT, memory);
  return NULL;
}

/* The device takes the reserve, and meanwhile another thread makes the arena grow. */
static void allocate_aside(clpt_device *device, clpt_call call, size_t bytes)
{
  pthread_t other;
  if (call != CLPT_ALLOCATE || bytes != 4 * UNIT)
    return;
  ck_assert_int_eq(pthread_create(&other, NULL, allocate, device->on_call_data), 0);
  ck_assert_int_eq(pthread_join(other, NULL), 0);
}

START_TEST(growth_does_not_wait_for_it)
{
  clp_memory memory = 0;
  start(&(program){0}, 0);
  clpt_arena_device.on_call = allocate_aside;
  clpt_arena_device.on_call_data = &memory;
  clpt_ok(clp_arena_reserve(clpt_arena, 4 * UNIT));
  clpt_arena_give(memory, UNIT);
  clpt_arena_end();
}
END_TEST

CLPT_SUITE("reserve")
{
  TCase *tests = clpt_case(suite, "reserve");
  tcase_add_checked_fixture(tests, clpt_arena_setup, NULL);
  tcase_add_loop_test(tests, each_program, 0, sizeof(programs) / sizeof(programs[0]));
  tcase_add_test(tests, sizes_at_the_ends);
  tcase_add_test(tests, what_the_device_refuses_fails_create);
  tcase_add_test(tests, limits_count_it);
  tcase_add_test(tests, threads_take_it_once);
  tcase_add_test(tests, growth_does_not_wait_for_it);
}
