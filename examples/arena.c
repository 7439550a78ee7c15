/* SPDX-License-Identifier: MIT */
/* What an arena does for a pool: one program, with its pool on the device and on an arena.
 *
 * The program has pictures of all sizes go through a queue. Memory comes from the simulated
 * allocator, which needs no device; on a real one, figures are the same. */
#include "check.h"

#include <clpool/clpool.h>
#include <stdint.h>

enum { PICTURES = 5000, AT_ONCE = 24, LEAST_SIDE = 100, SIDES = 1900, PIXEL_BYTES = 4 };
enum { MIB = 1 << 20 };

/* --- The program --- */

/* Numbers that look random but are the same in every run (Knuth's MMIX generator). */
static uint32_t next_number(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* Bytes of a picture of any width and height. */
static size_t next_picture(uint64_t *state)
{
  size_t width = LEAST_SIDE + next_number(state) % SIDES;
  size_t height = LEAST_SIDE + next_number(state) % SIDES;
  return width * height * PIXEL_BYTES;
}

/* Each picture is there until AT_ONCE others have come after it. */
static void run_program(clp_pool *pool)
{
  clp_buffer *queue[AT_ONCE] = {NULL};
  uint64_t state = 1;
  for (int i = 0; i < PICTURES; i++) {
    clp_buffer **place = &queue[i % AT_ONCE];
    CHECK(clp_buffer_release(*place));
    CHECK(clp_pool_allocate(pool, next_picture(&state), place));
  }
  for (int i = 0; i < AT_ONCE; i++)
    CHECK(clp_buffer_release(queue[i]));
}

/* --- With and without an arena --- */

/* Bytes are the most at once; calls of the device take memory, or give it back. */
static void print_row(const char *name, size_t in_use, size_t taken, uint64_t takes, uint64_t gives)
{
  printf("%-16s %8.1f MiB %8.1f MiB %8.2f %8llu %12llu\n", name, (double)in_use / MIB,
         (double)taken / MIB, (double)taken / (double)in_use, (unsigned long long)takes,
         (unsigned long long)gives);
}

static void run_on_device(clp_allocator *device)
{
  clp_pool *pool;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  CHECK(clp_pool_create(device, NULL, &pool));
  run_program(pool);
  CHECK(clp_pool_get_stats(pool, &stats));
  print_row("on the device", stats.peak_active_bytes, stats.peak_managed_bytes,
            stats.device_allocations, stats.device_frees);
  clp_pool_release(pool);
}

static void run_on_arena(clp_allocator *device)
{
  clp_allocator *arena;
  clp_pool *pool;
  CHECK(clp_arena_allocator_create(device, NULL, &arena));
  CHECK(clp_pool_create(arena, NULL, &pool));
  run_program(pool);

  clp_pool_stats of_pool = CLP_POOL_STATS_INIT;
  clp_arena_stats of_arena = CLP_ARENA_STATS_INIT;
  CHECK(clp_pool_get_stats(pool, &of_pool));
  CHECK(clp_arena_get_stats(arena, &of_arena));
  print_row("on an arena", of_pool.peak_active_bytes, of_arena.peak_reserved_bytes,
            of_arena.segments_taken, of_arena.segments_given_back);
  clp_pool_release(pool);
  clp_allocator_release(arena);
}

/* --- What an arena looks like --- */

/* Three blocks in one segment, which the arena keeps as its reserve. The middle one goes back. */
static void show_inside(clp_allocator *device)
{
  clp_allocator *arena;
  clp_pool *pool;
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.reserve_bytes = 262144;
  CHECK(clp_arena_allocator_create(device, &options, &arena));
  CHECK(clp_pool_create(arena, NULL, &pool));
  clp_buffer *first, *second, *third;
  CHECK(clp_pool_allocate(pool, 30000, &first));
  CHECK(clp_pool_allocate(pool, 50000, &second));
  CHECK(clp_pool_allocate(pool, 70000, &third));
  CHECK(clp_buffer_release(second));
  CHECK(clp_arena_dump(arena, stdout));
  CHECK(clp_buffer_release(first));
  CHECK(clp_buffer_release(third));
  clp_pool_release(pool);
  clp_allocator_release(arena);
}

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 0, "arena");
  clp_allocator *device;
  CHECK(clp_simulated_allocator_create(0, &device));
  printf("%-16s %12s %12s %8s %8s %12s\n", "the pool is", "in use", "taken", "ratio", "taking",
         "giving back");
  run_on_device(device);
  run_on_arena(device);
  printf("\n");
  show_inside(device);
  clp_allocator_release(device);
  return EXIT_SUCCESS;
}
